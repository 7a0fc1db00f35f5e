// Edit distance of rows of symbols (code points, or numbers of words), and the edits of one alignment: see
// edit_distance.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/memory.hpp"
#include "support/views.hpp"

namespace steelyard::language {

// Rows of symbols, one after the other: row i goes from ends[i - 1] to ends[i].
struct Symbols {
  View<std::uint32_t> symbol;
  View<std::int64_t> end;

  std::size_t begin(std::size_t i) const { return i ? static_cast<std::size_t>(end[i - 1]) : 0; }
  View<std::uint32_t> row(std::size_t i) const {
    return symbol.subspan(begin(i), static_cast<std::size_t>(end[i]) - begin(i));
  }
};

// What becomes of symbols when a reference is made a hypothesis.
enum Edit : int { kKept, kSubstituted, kDeleted, kInserted, kEdits };

// The least number of edits for each pair of rows.
void edit_distances(const Symbols& reference, const Symbols& hypothesis, std::size_t threads, std::int64_t* out);

// The same for each row of the one with each of the other: out[hypotheses * i + j]; and the longest common
// subsequences.
void edit_table(const Symbols& reference, const Symbols& hypothesis, std::int32_t* out);
void common_table(const Symbols& reference, const Symbols& hypothesis, std::int32_t* out);

// How many symbols are kept, substituted, deleted and inserted, for each pair of rows: out[kEdits * i + edit].
//
// Of the alignments with the least edits it is this one: what both begin with and then what both end with is kept. From
// the end of the rest, a symbol of the reference is deleted where that has the least edits; else one of the hypothesis
// is inserted, where the column before it has one edit more a symbol further up; else both are taken together.
void edit_counts(const Symbols& reference, const Symbols& hypothesis, std::size_t threads, std::int64_t* out);

// The edits of that alignment, back to front in each pair of rows: row, edit, and the two places, -1 on the side that
// has none. What is kept is not listed.
void edit_steps(const Symbols& reference, const Symbols& hypothesis, Buffer<std::int64_t>& out);

}  // namespace steelyard::language
