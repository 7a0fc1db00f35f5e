// Rows of a class of labels under rows of weights side by side: see ap/row_walk.hpp.
#include "ap/row_walk.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {

void walk_rows(const RowJob& job) { read_rows<kRowLanes>(job); }

}  // namespace steelyard::STEELYARD_TARGET
