// Overlap of n-grams between captions and their references: see ngrams.cpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace steelyard::language {

// Texts are tokens between blanks; image i has the references [starts[i], starts[i + 1]).
struct Corpus {
  const std::vector<std::string_view>& candidates;
  const std::vector<std::string_view>& references;
  const std::vector<std::size_t>& starts;
};

// Columns of ngram_overlap for each image.
enum Overlap : int {
  kMatched1,
  kMatched2,
  kMatched3,
  kMatched4,  // clipped n-gram matches
  kGuessed1,
  kGuessed2,
  kGuessed3,
  kGuessed4,  // n-grams of the candidate
  kLength,
  kClosest,  // words of the candidate, and of the reference closest in length
  kRougeL,   // COCO's ROUGE-L
  kCiderD,
  kCider,  // with clipping and length penalty, and the first form
  kRouge1,
  kRouge2,
  kRougeLcs,  // F of ROUGE-1, -2, -L against the best reference
  kOverlaps
};

void ngram_overlap(const Corpus& corpus, std::size_t threads, double* out);

}  // namespace steelyard::language
