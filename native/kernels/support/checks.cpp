// Checks of all numbers of a column: see checks.hpp. Compiled with the kernels, since bindings are not optimised.
#include "support/checks.hpp"

namespace steelyard {

// Without a branch, so that compilers make vector code.
bool all_within(const double* x, std::size_t n, double low, double high) {
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < n; ++i) outside += !((x[i] >= low) & (x[i] <= high));
  return outside == 0;
}

}  // namespace steelyard
