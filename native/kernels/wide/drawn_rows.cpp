// Rows of a class of labels under rows of counts side by side: see ap/drawn_rows.hpp.
#include "ap/drawn_rows.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {

void walk_drawn(const DrawnJob& job) { read_drawn(job); }

}  // namespace steelyard::STEELYARD_TARGET
