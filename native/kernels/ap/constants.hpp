// Constants of average precision.
#pragma once

namespace steelyard {

constexpr double kTiny = 2.220446049250313e-16;  // numpy.spacing(1), as the reference adds it

}  // namespace steelyard
