// The best projective tree of arc scores: see trees.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard::language {

// Arc scores of n words, row i the word, column 0 the root and column 1 + j the head j. Gives each word's column; one
// word has the root.
void best_tree(const std::int32_t* arcs, std::size_t n, std::vector<std::int32_t>& heads);

}  // namespace steelyard::language
