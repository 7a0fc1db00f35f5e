// Average precision of ranked events, under rows of unit weights and of each unit alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/views.hpp"

namespace steelyard {

enum class ApRule : int { step = 0, envelope = 1, eleven_points = 2, hundred_one_points = 3 };

// Events by falling score; `closes` ends equal scores.
struct OwnedEvents {
  View<double> truths;  // of each unit
  View<std::int64_t> owner;
  View<std::uint8_t> hit, closes;
};
ApRule check_owned_events(const OwnedEvents& events, int rule);
// One value per row of weights.
void ranked_ap(const OwnedEvents& events, Matrix<double> weights, ApRule rule, long threads, double* out);
// One value per unit; events by unit, then by falling score.
void ranked_ap_by_unit(const OwnedEvents& events, ApRule rule, double* out);

}  // namespace steelyard
