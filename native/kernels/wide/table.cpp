// The table of one target; see wide.hpp.
#include "wide/target.hpp"

#define STEELYARD_TEXT_OF(name) #name
#define STEELYARD_TEXT(name) STEELYARD_TEXT_OF(name)

namespace steelyard::STEELYARD_TARGET {

const WideKernels& table() {
  static constexpr WideKernels kernels{STEELYARD_TEXT(STEELYARD_TARGET),
                                       walk_class,
                                       count_class,
                                       walk_rows,
                                       walk_drawn,
                                       poisson_weights,
                                       poisson_counts,
                                       byte_products,
                                       focal_stretch,
                                       filter_row,
                                       information_row};
  return kernels;
}

}  // namespace steelyard::STEELYARD_TARGET
