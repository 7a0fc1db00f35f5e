// METEOR's counts of captions against their references: see meteor.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "language/language.hpp"
#include "language/ngrams.hpp"

namespace steelyard::language {

std::string snowball_stem(std::string_view word);

// For each image, of the reference that scores best: weighted matches and weighted words on either side, matched
// words on either side, chunks, and the score itself.
constexpr int kMeteorColumns = 8;
void meteor_counts(const Corpus& corpus, const WordNet& wordnet, std::size_t threads, double* out);

}  // namespace steelyard::language
