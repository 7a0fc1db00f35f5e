// Masks of Python objects: how they come in, and in which form they are kept.
//
// Inside Steelyard a mask is `bytes`: 32-bit numbers of the machine, as rle.hpp packs them. From outside it is
// what COCO writes: {"size": [height, width], "counts": text, bytes or a list}.
#pragma once

#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "masks/rle.hpp"

namespace steelyard {

// A number of Python, of any kind that has a float value; throws std::invalid_argument with `what` where it has none.
double number_of(nb::handle value, const char* what);
// A list or tuple of numbers, appended.
void numbers_of(nb::handle values, const char* what, std::vector<double>& out);

Rle mask_of(nb::handle value);
// The counts of a mask where they are compressed text; empty where they are not.
std::string_view mask_text(nb::handle value);
std::vector<Rle> masks_of(nb::list list);
nb::bytes packed(const Rle& rle);
nb::dict as_coco(const Rle& rle);

// A view of packed bytes. Only with `counted` is it sure that the counts add up to the size; without, they must not be
// taken for places in memory.
RunsView packed_of(nb::handle value, bool counted = true);

}  // namespace steelyard
