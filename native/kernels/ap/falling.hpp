// Scores that come in parts: each part must fall, and begin below the last score of the one before.
#pragma once

#include <cmath>
#include <cstddef>

#include "support/checks.hpp"
#include "support/views.hpp"

namespace steelyard {

struct FallingScores {
  double last = 0.0;
  bool begun = false;

  void check(View<double> score) {
    for (std::size_t i = 0; i < score.size(); ++i) {
      require(!std::isnan(score[i]), "a score is not a number");
      require(i == 0 || score[i] <= score[i - 1], "scores must fall");
    }
    if (score.empty()) return;
    require(!begun || score[0] < last, "a part must begin below the last score of the one before");
    last = score.back();
    begun = true;
  }
};

inline bool is_count(double value) { return value >= 0 && value < 1e15 && std::floor(value) == value; }

}  // namespace steelyard
