// Matches blocks of a page with the pieces of a reply, where either side may be cut in other places: see runs.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace steelyard::documents {

// Texts as rows of symbols, one after the other: row i goes from end[i - 1] to end[i]. Where texts are joined,
// `glue[i]` goes before row i; 0 stands for none.
struct Texts {
  View<std::uint32_t> symbol;
  View<std::int64_t> end;
  View<std::uint32_t> glue;

  View<std::uint32_t> row(std::size_t i) const {
    const std::size_t from = i ? static_cast<std::size_t>(end[i - 1]) : 0;
    return symbol.subspan(from, static_cast<std::size_t>(end[i]) - from);
  }
};

// A run of blocks, a run of pieces, the edits between them and the length of the longer one.
struct Match {
  std::int64_t first_block, last_block, first_piece, last_piece, edits, longer;
};

// Which candidates there are: a run grows while it is at most `stretch` times the other side plus `slack`, and the
// edits are at most `share` of the longer length.
struct RunLimits {
  double stretch, slack, share;
};

// The matches of the blocks and pieces [from, to) of a page, in the order in which they are taken.
void match_runs(const Texts& blocks, std::size_t first_block, std::size_t last_block, const Texts& pieces,
                std::size_t first_piece, std::size_t last_piece, const RunLimits& limits, std::vector<Match>& out);

}  // namespace steelyard::documents
