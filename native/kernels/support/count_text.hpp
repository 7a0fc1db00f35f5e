// Counts in messages.
#pragma once

#include <cstdint>
#include <string>

namespace steelyard {

// A count with its word in the right number: 1 point, 2 points. For words whose plural is an added s.
inline std::string count_text(std::uint64_t count, const char* word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

}  // namespace steelyard
