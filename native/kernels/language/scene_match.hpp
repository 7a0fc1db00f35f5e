// Matching of scene graphs: see scene_match.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "language/language.hpp"

namespace steelyard::language {

enum Category : int { kAll, kObject, kAttribute, kRelation, kColor, kCount, kSize, kCategories };

// For each image and category, four numbers: tuples of the candidate, of the reference, candidate tuples that are
// similar to some reference tuple, and the size of a largest one-to-one matching. A caption's tuples are lines of
// one to three fields between tabs; without a WordNet words are compared as they stand and nothing is merged.
void scene_scores(const WordNet* wordnet, const std::vector<std::string_view>& candidates,
                  const std::vector<std::string_view>& references, std::size_t threads, std::int32_t* out);

}  // namespace steelyard::language
