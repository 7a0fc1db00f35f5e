// Reads TREC files: runs (query Q0 document rank score tag) and judgements (query iteration document relevance).
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/memory.hpp"
#include "support/views.hpp"

namespace steelyard {

enum class Wrong : int { nothing = 0, fields = 1, number = 2, not_finite = 3, too_long = 4 };

// Documents (place, key) and values by line, runs of equal queries (row, place), and the first line that is wrong.
struct TrecLines {
  Buffer<std::uint64_t> place, key;
  Buffer<double> value;
  Buffer<std::int64_t> segment_row;
  Buffer<std::uint64_t> segment_place;
  Wrong wrong = Wrong::nothing;
  std::size_t wrong_at = 0, wrong_fields = 0;
};
// Lines have `fields` fields, and their number stands at `value_field`.
void read_trec(View<std::uint8_t> file, std::size_t fields, std::size_t value_field, long threads, TrecLines& out);

}  // namespace steelyard
