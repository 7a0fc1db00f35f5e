// Rows of a class of labels under rows of weights side by side: see ap/reference.hpp.
#include "ap/reference.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {

void walk_rows(const RowJob& job) { read_rows<kRowLanes>(job); }

}  // namespace steelyard::STEELYARD_TARGET
