// Columns of ids: found in a text, and distinguished.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rankings/texts.hpp"
#include "support/memory.hpp"
#include "support/views.hpp"

namespace steelyard {

// Places and keys of ids that lie one after the other in a text, as Arrow's columns do; gives the first row without
// one, or their number. Throws where the offsets leave the text.
std::size_t find_ids(View<std::uint8_t> text, View<std::int64_t> offsets, std::uint64_t* place, std::uint64_t* key);

// A checked column.
Texts make_texts(View<std::uint8_t> text, View<std::uint64_t> place, View<std::uint64_t> key);

// Rows where the id differs from the one before it.
void text_runs(const Texts& texts, std::size_t n, Buffer<std::int64_t>& rows);

}  // namespace steelyard
