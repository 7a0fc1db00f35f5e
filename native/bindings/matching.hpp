// The arguments and results of matching, shared by boxes, masks, keypoints and quadrilaterals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "boxes/boxes.hpp"

namespace steelyard {

// Attributes of a Python object, and the arrays among them kept alive.
class Attributes {
 public:
  explicit Attributes(nb::handle source) : source_(source) {}

  nb::object object(const char* name) const { return source_.attr(name); }
  template <typename T>
  T value(const char* name) const {
    T out;
    if (nb::try_cast(object(name), out, false)) return out;
    throw nb::type_error((std::string("'") + name + "' is of another type than a kernel takes").c_str());
  }
  template <typename Array>
  auto column(const char* name) {
    held_.push_back(object(name));
    return view(value<Array>(name));
  }

 private:
  nb::handle source_;
  std::vector<nb::object> held_;
};

// Objects and MatchRules of steelyard/tasks/boxes/matches.py, which have the fields of the kernel's.
struct ObjectColumns : Objects {
  Attributes given;
  explicit ObjectColumns(nb::handle source);
};
struct GivenRules : MatchRules {
  Attributes given;
  explicit GivenRules(nb::handle source);
};

// The columns of Matches by their names.
using MatchColumns = nb::typed<nb::dict, nb::str, nb::ndarray<nb::numpy>>;

// Checks, matches, and gives the columns.
MatchColumns match_columns(const Objects& objects, const MatchRules& rules, const Similarity* similarity);

}  // namespace steelyard
