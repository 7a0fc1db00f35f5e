// The operations on masks that Python calls: run lengths in, run lengths out.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "masks.hpp"
#include "masks/mask_similarity.hpp"
#include "support/fingerprint.hpp"

namespace steelyard::mask_operations_binding {
namespace {

using Pixels = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::f_contig, nb::device::cpu>;

nb::list mask_encode(Pixels pixels) {
  const std::size_t h = pixels.shape(0), w = pixels.shape(1), n = pixels.shape(2);
  check_size(static_cast<long long>(h), static_cast<long long>(w));
  nb::list out;
  for (std::size_t i = 0; i < n; ++i) {
    out.append(as_coco(
        rle_from_pixels(pixels.data() + i * h * w, static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(w))));
  }
  return out;
}

// Pixels (masks, width, height), which is (height, width, masks) in the order of columns.
Out<std::uint8_t> mask_decode(nb::list list) {
  const std::vector<Rle> masks = masks_of(list);
  const std::size_t h = masks.empty() ? 0 : masks[0].height, w = masks.empty() ? 0 : masks[0].width;
  for (const Rle& mask : masks)
    require(mask.height == h && mask.width == w, "masks of different size cannot be stacked");
  require(masks.empty() || h * w <= (std::size_t{1} << 32) / masks.size(),
          "the pixels of these masks do not fit: 2^32 are the most");
  auto* memory = static_cast<std::uint8_t*>(std::calloc(std::max<std::size_t>(1, h * w * masks.size()), 1));
  if (!memory) throw std::bad_alloc();
  nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < masks.size(); ++i) rle_to_pixels(masks[i], memory + i * h * w);
  }
  return Out<std::uint8_t>(memory, {masks.size(), w, h}, owner);
}

// A list of polygons, each a list of numbers: every one is a mask of its own, or all united.
std::vector<Rle> polygons_of(nb::list polygons, long long height, long long width, bool united) {
  check_size(height, width);
  const auto h = static_cast<std::uint32_t>(height), w = static_cast<std::uint32_t>(width);
  std::vector<Rle> out;
  Polygons drawn;
  std::vector<double> xy;
  for (nb::handle polygon : polygons) {
    xy.clear();
    numbers_of(polygon, "a polygon's coordinate", xy);
    drawn.add(xy.data(), xy.size());
    if (!united) out.push_back(drawn.take(h, w));
  }
  if (united) out.push_back(drawn.take(h, w));
  return out;
}

nb::list each_as_coco(const std::vector<Rle>& masks) {
  nb::list out;
  for (const Rle& mask : masks) out.append(as_coco(mask));
  return out;
}

// What stands under "segmentation": polygons of an image of the given size, or a mask.
nb::bytes mask_pack(nb::handle segmentation, long long height, long long width) {
  if (PyList_Check(segmentation.ptr()))
    return packed(polygons_of(nb::borrow<nb::list>(segmentation), height, width, true)[0]);
  const Rle rle = mask_of(segmentation);
  require((height < 0 && width < 0) || (rle.height == height && rle.width == width),
          "the mask's size is not that of its image");
  return packed(rle);
}

// The words of one mask, with their number.
void add_words(Fingerprint& print, const std::uint32_t* words, std::size_t n) {
  print.add(0, n);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 4; ++l) print.add(l, words[i + 2 * l] | std::uint64_t{words[i + 2 * l + 1]} << 32);
  }
  for (; i < n; ++i) print.add(i % 4, words[i]);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("mask_encode", &mask_encode, nb::arg("pixels").noconvert(), "Masks of pixels (height, width, masks).");
  m.def("mask_decode", &mask_decode, nb::arg("masks"), "Pixels (masks, width, height) of masks of one size.");
  m.def(
      "mask_merge", [](nb::list masks, bool intersect) { return as_coco(rle_merge(masks_of(masks), intersect)); },
      nb::arg("masks"), nb::arg("intersect") = false, "The union, or what all have in common.");
  m.def(
      "mask_area",
      [](nb::list list) {
        const std::vector<Rle> masks = masks_of(list);
        std::uint32_t* out;
        auto result = make_raw<std::uint32_t>({masks.size()}, out);
        for (std::size_t i = 0; i < masks.size(); ++i) out[i] = extent_of(masks[i]).area;
        return result;
      },
      nb::arg("masks"), "Pixels that are set.");
  m.def(
      "mask_box",
      [](nb::list list) {
        const std::vector<Rle> masks = masks_of(list);
        double* out;
        auto result = make_raw<double>({masks.size(), 4}, out);
        for (std::size_t i = 0; i < masks.size(); ++i) {
          const std::array<double, 4> box = box_of(extent_of(masks[i]));
          std::copy(box.begin(), box.end(), out + 4 * i);
        }
        return result;
      },
      nb::arg("masks"), "The smallest box around what is set: x, y, width, height.");
  m.def(
      "mask_fingerprint",
      [](nb::list list) {
        Fingerprint print;
        for (nb::handle item : list) {
          const RunsView mask = packed_of(item, false);
          add_words(print, mask.counts - kPackedHead, mask.size + kPackedHead);
        }
        const auto out = print.end(nb::len(list));
        return nb::bytes(out.data(), out.size());
      },
      nb::arg("masks"), "A 256-bit fingerprint of packed masks.");
  m.def(
      "mask_sizes",
      [](nb::list list) {
        std::int64_t* out;
        auto result = make_raw<std::int64_t>({nb::len(list), 2}, out);
        for (nb::handle item : list) {
          require(PyBytes_Check(item.ptr()) && PyBytes_Size(item.ptr()) >= 8, "a mask is not packed");
          std::uint32_t size[2];
          std::memcpy(size, PyBytes_AsString(item.ptr()), 8);
          *out++ = size[0];
          *out++ = size[1];
        }
        return result;
      },
      nb::arg("masks"), "Height and width of packed masks.");
  m.def(
      "mask_polygons",
      [](nb::list polygons, long long height, long long width) {
        return each_as_coco(polygons_of(polygons, height, width, false));
      },
      nb::arg("polygons"), nb::arg("height"), nb::arg("width"), "The mask of each polygon.");
  m.def(
      "mask_united",
      [](nb::list polygons, long long height, long long width) {
        return as_coco(polygons_of(polygons, height, width, true)[0]);
      },
      nb::arg("polygons"), nb::arg("height"), nb::arg("width"), "The mask of all polygons together.");
  m.def(
      "mask_boxes",
      [](In2<double> boxes, long long height, long long width) {
        require(boxes.shape(1) == 4, "boxes are x, y, width, height");
        check_size(height, width);
        std::vector<Rle> masks;
        for (std::size_t i = 0; i < boxes.shape(0); ++i) {
          masks.push_back(rle_from_box(boxes.data() + 4 * i, static_cast<std::uint32_t>(height),
                                       static_cast<std::uint32_t>(width)));
        }
        return each_as_coco(masks);
      },
      nb::arg("boxes").noconvert(), nb::arg("height"), nb::arg("width"), "The mask of each box.");
  m.def(
      "mask_copy", [](nb::handle mask) { return as_coco(mask_of(mask)); }, nb::arg("mask"),
      "The mask as COCO compresses it, from any form.");
  m.def(
      "mask_boundary",
      [](nb::handle mask, double ratio) {
        require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
        const Rle rle = mask_of(mask);
        return as_coco(rle_boundary(rle, reach_of(rle.height, rle.width, ratio)));
      },
      nb::arg("mask"), nb::arg("ratio"), "What of a mask lies near where it ends.");
  m.def("mask_pack", &mask_pack, nb::arg("segmentation"), nb::arg("height") = -1, nb::arg("width") = -1,
        "The packed mask of polygons in an image of that size, or of a mask.");
}

}  // namespace steelyard::mask_operations_binding
