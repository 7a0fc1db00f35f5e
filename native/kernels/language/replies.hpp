// Replies of models that are one box in a usual form.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace steelyard::language {

// The four numbers of a reply that is a list of them, alone or under a key for boxes, in a list or not, in a fence of
// code or not; none where it is anything else, which `language/coordinates.py` reads.
std::optional<std::array<double, 4>> usual_box(std::string_view text);

}  // namespace steelyard::language
