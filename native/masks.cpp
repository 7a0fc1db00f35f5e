// The operations on masks that Python calls, and the matching of masks: run lengths in, run lengths out.
//
// Matching prepares every mask once (its runs of ones, area and box), then compares a pair only where the overlap of the
// boxes, or the ratio of the areas, leaves a chance to reach the lowest threshold: few pairs do.
#include "masks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <nanobind/stl/string.h>

#include "boxes.hpp"
#include "pool.hpp"
#include "random.hpp"

namespace steelyard {

double number_of(nb::handle value, const char* what) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    throw std::invalid_argument(std::string(what) + " is not a number");
  }
  return number;
}

void numbers_of(nb::handle values, const char* what, std::vector<double>& out) {
  PyObject* list = values.ptr();
  if (PyList_Check(list)) {
    // The list may change under a number's own __float__: its length is asked for again at each step.
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      const nb::object item = nb::borrow(PyList_GetItem(list, i));
      out.push_back(number_of(item, what));
    }
    return;
  }
  if (!PyTuple_Check(list)) throw std::invalid_argument(std::string(what) + " is no list of numbers");
  for (Py_ssize_t i = 0, n = PyTuple_Size(list); i < n; ++i) out.push_back(number_of(PyTuple_GetItem(list, i), what));
}

namespace {

nb::object entry(nb::handle dict, const char* key) {
  PyObject* found = PyDict_GetItemString(dict.ptr(), key);
  if (!found) throw std::invalid_argument(std::string("a mask lacks '") + key + "'");
  return nb::borrow(found);
}

std::string_view text_of(nb::handle value) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(value.ptr())) {
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!data) {
      PyErr_Clear();
      throw std::invalid_argument("the counts hold a character that is none of theirs");
    }
    return {data, static_cast<std::size_t>(size)};
  }
  char* data = nullptr;
  if (PyBytes_AsStringAndSize(value.ptr(), &data, &size) != 0) {
    PyErr_Clear();
    throw std::invalid_argument("the counts are neither a text nor a list");
  }
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

Runs packed_of(nb::handle value, bool counted) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  require(PyBytes_Check(value.ptr()) && PyBytes_AsStringAndSize(value.ptr(), &data, &size) == 0, "a mask is not packed");
  require(size >= static_cast<Py_ssize_t>(4 * kPackedHead) && size % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 4 == 0, "a packed mask is broken");
  const auto* words = reinterpret_cast<const std::uint32_t*>(data);
  const std::size_t n = static_cast<std::size_t>(size) / 4 - kPackedHead;
  check_size(words[0], words[1]);
  const Extent extent = packed_extent(words);
  require(extent.left <= extent.right && extent.right <= words[1] && extent.top <= extent.low && extent.low <= words[0] &&
              extent.area <= words[0] * words[1], "the extent of a packed mask is not inside it");
  if (counted) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += words[kPackedHead + i];
    require(sum == std::uint64_t{words[0]} * words[1], "the counts of a packed mask do not add up to its size");
  }
  return Runs(words[0], words[1], words + kPackedHead, n);
}

Rle mask_of(nb::handle value) {
  if (PyBytes_Check(value.ptr())) {
    const Runs mask = packed_of(value);
    return {mask.height, mask.width, std::vector<std::uint32_t>(mask.counts, mask.counts + mask.size)};
  }
  if (!PyDict_Check(value.ptr())) throw std::invalid_argument("a mask must be a dict with 'size' and 'counts'");
  const nb::object size = entry(value, "size"), counts = entry(value, "counts");
  std::vector<double> sides;
  numbers_of(size, "a mask's size", sides);
  if (sides.size() != 2) throw std::invalid_argument("a mask's size has " + std::to_string(sides.size()) + " numbers, not 2");
  for (double side : sides) {
    if (!(side == std::floor(side)) || std::fabs(side) > 9e15) throw std::invalid_argument("a mask's size is not whole");
  }
  const long long height = static_cast<long long>(sides[0]), width = static_cast<long long>(sides[1]);
  if (!PyList_Check(counts.ptr()) && !PyTuple_Check(counts.ptr())) return rle_from_text(text_of(counts), height, width);
  check_size(height, width);
  std::vector<double> numbers;
  numbers_of(counts, "a count", numbers);
  Rle rle{static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width), {}};
  rle.counts.reserve(numbers.size());
  for (double number : numbers) {
    if (!(number >= 0 && number <= 4294967295.0) || number != std::floor(number)) {
      throw std::invalid_argument("a count is not a whole number from 0 to 2^32");
    }
    rle.counts.push_back(static_cast<std::uint32_t>(number));
  }
  check_counts(rle);
  return rle;
}

nb::bytes packed(const Rle& rle) {
  std::vector<std::uint32_t> words(kPackedHead);
  pack_head(words.data(), rle, extent_of(rle));
  words.insert(words.end(), rle.counts.begin(), rle.counts.end());
  return nb::bytes(reinterpret_cast<const char*>(words.data()), words.size() * 4);
}

nb::dict as_coco(const Rle& rle) {
  const std::string text = rle_to_text(rle);
  nb::list size;
  size.append(rle.height);
  size.append(rle.width);
  nb::dict out;
  out["size"] = size;
  out["counts"] = nb::bytes(text.data(), text.size());
  return out;
}

namespace {

std::vector<Rle> masks_of(nb::list list) {
  std::vector<Rle> masks;
  masks.reserve(nb::len(list));
  for (nb::handle item : list) masks.push_back(mask_of(item));
  return masks;
}

// One side as matching needs it: where the counts are, and what tells most pairs apart without them.
struct Prepared {
  std::vector<Runs> runs;
  std::vector<Extent> extent;

  void resize(std::size_t n) {
    runs.resize(n);
    extent.resize(n);
  }
  void set(std::size_t i, const Runs& mask, const Extent& known) {
    runs[i] = mask;
    extent[i] = known;
  }
};

double iou_of(const Prepared& d, std::size_t i, const Prepared& g, std::size_t j, bool crowd, double least) {
  const Extent &a = d.extent[i], &b = g.extent[j];
  if (d.runs[i].height != g.runs[j].height || d.runs[i].width != g.runs[j].width) return 0;
  const std::uint32_t left = std::max(a.left, b.left), right = std::min(a.right, b.right);
  const std::uint32_t top = std::max(a.top, b.top), low = std::min(a.low, b.low);
  if (left >= right || top >= low) return 0;
  const std::uint64_t box = std::uint64_t{right - left} * (low - top);
  const std::uint32_t most = static_cast<std::uint32_t>(std::min<std::uint64_t>({box, a.area, b.area}));
  if (pixel_iou(most, a.area, b.area, crowd) < least) return 0;
  return pixel_iou(common_pixels(d.runs[i], g.runs[j]), a.area, b.area, crowd);
}

// How far from its end a mask's boundary reaches: a share of the image's diagonal, at least a pixel.
std::uint32_t reach_of(std::uint32_t height, std::uint32_t width, double ratio) {
  const double h = height, w = width;
  const double reach = std::nearbyint(ratio * std::sqrt(h * h + w * w));
  return reach < 1 ? 1 : static_cast<std::uint32_t>(std::min(reach, 1e9));
}

class MaskLikeness : public Likeness {
 public:
  // Without `boundary` by the whole masks; with it, by the lesser of that and the IoU of the boundaries.
  MaskLikeness(std::size_t detections, std::size_t truths, bool boundary) : boundary_(boundary) {
    d_.resize(detections);
    t_.resize(truths);
    if (boundary) {
      d_edge_.resize(detections);
      t_edge_.resize(truths);
      d_rings_.resize(detections);
      t_rings_.resize(truths);
    }
  }

  double of(std::size_t detection, std::size_t truth, bool crowd, double least) const override {
    const double iou = iou_of(d_, detection, t_, truth, crowd, least);
    if (!boundary_ || iou < least) return iou;
    return std::min(iou, iou_of(d_edge_, detection, t_edge_, truth, crowd, least));
  }

  // `ratio` above 0 keeps the boundary as well. Every row by itself, from any thread.
  void set(bool truth, std::size_t i, const Runs& mask, const Extent& extent, double ratio) {
    (truth ? t_ : d_).set(i, mask, extent);
    if (!boundary_) return;
    Rle& edge = (truth ? t_rings_ : d_rings_)[i];
    const Rle whole{mask.height, mask.width, std::vector<std::uint32_t>(mask.counts, mask.counts + mask.size)};
    edge = rle_boundary(whole, reach_of(mask.height, mask.width, ratio));
    (truth ? t_edge_ : d_edge_).set(i, edge, extent_of(edge));
  }

 private:
  Prepared d_, t_, d_edge_, t_edge_;
  std::vector<Rle> d_rings_, t_rings_;
  bool boundary_;
};

std::vector<Runs> all_packed(nb::list list, bool counted) {
  std::vector<Runs> out;
  out.reserve(nb::len(list));
  for (nb::handle item : list) out.push_back(packed_of(item, counted));
  return out;
}

inline Extent known_extent(const Runs& packed) { return packed_extent(packed.counts - kPackedHead); }
inline Extent known_extent(const Rle& rle) { return extent_of(rle); }

template <typename Masks>
void prepare(MaskLikeness& likeness, bool truth, const Masks& masks, double ratio, std::size_t threads) {
  constexpr std::size_t kBlock = 256;
  parallel_for((masks.size() + kBlock - 1) / kBlock, threads, [&](std::size_t block) {
    for (std::size_t i = block * kBlock; i < std::min(masks.size(), (block + 1) * kBlock); ++i) {
      likeness.set(truth, i, masks[i], known_extent(masks[i]), ratio);
    }
  });
}

nb::tuple masks_match(const Objects& objects, nb::list t_masks, nb::list d_masks, In1<double> d_area, double ratio) {
  require(nb::len(t_masks) == objects.t_image.shape(0) && nb::len(d_masks) == objects.d_image.shape(0) &&
              d_area.shape(0) == objects.d_image.shape(0), "one mask for each object");
  require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
  // Drawing a boundary takes counts for places; comparing runs does not.
  const std::vector<Runs> t = all_packed(t_masks, ratio > 0), d = all_packed(d_masks, ratio > 0);
  MaskLikeness likeness(d.size(), t.size(), ratio > 0);
  {
    nb::gil_scoped_release release;
    const std::size_t threads = thread_count(objects.threads);
    prepare(likeness, true, t, ratio, threads);
    prepare(likeness, false, d, ratio, threads);
  }
  return match_objects(objects, &likeness, d_area.data());
}

Out<double> mask_iou(nb::list d, nb::list g, In1<std::uint8_t> crowd, double ratio) {
  require(crowd.shape(0) == nb::len(g), "one crowd flag for each truth");
  require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
  const std::vector<Rle> dets = masks_of(d), truths = masks_of(g);
  MaskLikeness likeness(dets.size(), truths.size(), ratio > 0);
  prepare(likeness, false, dets, ratio, 1);
  prepare(likeness, true, truths, ratio, 1);
  double* out;
  auto result = make_raw<double>({dets.size(), truths.size()}, out);
  for (std::size_t i = 0; i < dets.size(); ++i) {
    for (std::size_t j = 0; j < truths.size(); ++j) {
      const bool alike = dets[i].height == truths[j].height && dets[i].width == truths[j].width;
      out[i * truths.size() + j] = alike ? likeness.of(i, j, crowd.data()[j], 0.0) : -1.0;
    }
  }
  return result;
}

// IoU of all pairs in each cell, flat: detections [d_begin[c], d_begin[c + 1]) with truths likewise.
Out<double> cell_mask_ious(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, nb::list d, nb::list g,
                           In1<std::uint8_t> crowd, double ratio, long threads) {
  require(d_begin.shape(0) >= 1 && d_begin.shape(0) == t_begin.shape(0), "one range for each cell");
  require(crowd.shape(0) == nb::len(g), "one crowd flag for each truth");
  require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
  const std::size_t cells = d_begin.shape(0) - 1;
  std::vector<std::size_t> at(cells + 1, 0);
  for (int side = 0; side < 2; ++side) {
    const std::int64_t* begin = side ? t_begin.data() : d_begin.data();
    const std::int64_t rows = static_cast<std::int64_t>(nb::len(side ? g : d));
    require(begin[0] == 0 && begin[cells] == rows, "the ranges of the cells are out of bounds");
    for (std::size_t c = 0; c < cells; ++c) require(begin[c] <= begin[c + 1], "the ranges of the cells are out of bounds");
  }
  for (std::size_t c = 0; c < cells; ++c) {
    at[c + 1] = at[c] + static_cast<std::size_t>((d_begin.data()[c + 1] - d_begin.data()[c]) *
                                                 (t_begin.data()[c + 1] - t_begin.data()[c]));
  }
  const std::vector<Rle> dets = masks_of(d), truths = masks_of(g);
  MaskLikeness likeness(dets.size(), truths.size(), ratio > 0);
  double* out;
  auto result = make_raw<double>({at[cells]}, out);
  nb::gil_scoped_release release;
  constexpr std::size_t kBlock = 64;
  const std::size_t workers = thread_count(threads);
  prepare(likeness, false, dets, ratio, workers);
  prepare(likeness, true, truths, ratio, workers);
  parallel_for((cells + kBlock - 1) / kBlock, workers, [&](std::size_t block) {
    for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
      double* to = out + at[c];
      for (std::int64_t i = d_begin.data()[c]; i < d_begin.data()[c + 1]; ++i) {
        for (std::int64_t j = t_begin.data()[c]; j < t_begin.data()[c + 1]; ++j) {
          const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
          // Masks of different size have none: -1, as the reference says it.
          const bool alike = dets[a].height == truths[b].height && dets[a].width == truths[b].width;
          *to++ = alike ? likeness.of(a, b, crowd.data()[b], 0.0) : -1.0;
        }
      }
    }
  });
  return result;
}

Out<double> boxes_iou(In2<double> d, In2<double> g, In1<std::uint8_t> crowd) {
  require(d.shape(1) == 4 && g.shape(1) == 4, "boxes are x, y, width, height");
  require(crowd.shape(0) == g.shape(0), "one crowd flag for each truth");
  double* out;
  const std::size_t n = d.shape(0), m = g.shape(0);
  auto result = make_raw<double>({n, m}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      out[i * m + j] = box_iou(d.data() + 4 * i, g.data() + 4 * j, crowd.data()[j]);
    }
  }
  return result;
}

using Pixels = nb::ndarray<const std::uint8_t, nb::ndim<3>, nb::f_contig, nb::device::cpu>;

nb::list mask_encode(Pixels pixels) {
  const std::size_t h = pixels.shape(0), w = pixels.shape(1), n = pixels.shape(2);
  check_size(static_cast<long long>(h), static_cast<long long>(w));
  nb::list out;
  for (std::size_t i = 0; i < n; ++i) {
    out.append(as_coco(rle_from_pixels(pixels.data() + i * h * w, static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(w))));
  }
  return out;
}

// Pixels (masks, width, height), which is (height, width, masks) in the order of columns.
Out<std::uint8_t> mask_decode(nb::list list) {
  const std::vector<Rle> masks = masks_of(list);
  const std::size_t h = masks.empty() ? 0 : masks[0].height, w = masks.empty() ? 0 : masks[0].width;
  for (const Rle& mask : masks) require(mask.height == h && mask.width == w, "masks of different size cannot be stacked");
  require(masks.empty() || h * w <= (std::size_t{1} << 32) / masks.size(), "the pixels of these masks do not fit: 2^32 are the most");
  auto* memory = static_cast<std::uint8_t*>(std::calloc(std::max<std::size_t>(1, h * w * masks.size()), 1));
  if (!memory) throw std::bad_alloc();
  nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < masks.size(); ++i) rle_to_pixels(masks[i], memory + i * h * w);
  }
  return Out<std::uint8_t>(memory, {masks.size(), w, h}, owner);
}

// A list of polygons, each a list of numbers: every one a mask of its own, or all united.
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
  if (PyList_Check(segmentation.ptr())) return packed(polygons_of(nb::borrow<nb::list>(segmentation), height, width, true)[0]);
  const Rle rle = mask_of(segmentation);
  require((height < 0 && width < 0) || (rle.height == height && rle.width == width), "the mask's size is not that of its image");
  return packed(rle);
}

}  // namespace

void bind_masks(nb::module_& m) {
  nb::class_<Objects>(m, "Objects", "What matching looks at, whatever the objects are.")
      .def("__init__",
           [](Objects* self, In1<std::int32_t> t_image, In1<std::int32_t> t_label, In2<double> t_box, In1<double> t_area,
              In1<std::uint8_t> t_flags, In1<std::int32_t> d_image, In1<std::int32_t> d_label, In2<double> d_box,
              In1<double> d_score, std::size_t images, std::size_t labels, In1<double> ious, In2<double> areas,
              std::size_t most, bool voc, bool partners, long threads) {
             new (self) Objects{t_image, t_label, t_box, t_area, t_flags, d_image, d_label, d_box, d_score, images, labels,
                                ious, areas, most, voc, partners, threads};
           },
           nb::arg("t_image").noconvert(), nb::arg("t_label").noconvert(), nb::arg("t_box").noconvert(),
           nb::arg("t_area").noconvert(), nb::arg("t_flags").noconvert(), nb::arg("d_image").noconvert(),
           nb::arg("d_label").noconvert(), nb::arg("d_box").noconvert(), nb::arg("d_score").noconvert(),
           nb::arg("images"), nb::arg("labels"), nb::arg("ious").noconvert(), nb::arg("areas").noconvert(),
           nb::arg("most"), nb::arg("voc"), nb::arg("partners"), nb::arg("threads") = 0);
  m.def("masks_match", &masks_match, nb::arg("objects"), nb::arg("t_masks"), nb::arg("d_masks"),
        nb::arg("d_area").noconvert(), nb::arg("boundary") = 0.0,
        "As boxes_match, by the IoU of packed masks; with `boundary`, a share of the diagonal, also of their boundaries.");
  m.def("mask_iou", &mask_iou, nb::arg("detections"), nb::arg("truths"), nb::arg("crowd").noconvert(),
        nb::arg("boundary") = 0.0, "IoU of masks, detections by truths; -1 where their sizes differ.");
  m.def("cell_mask_ious", &cell_mask_ious, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("detections"), nb::arg("truths"), nb::arg("crowd").noconvert(), nb::arg("boundary") = 0.0,
        nb::arg("threads") = 0, "IoU of all pairs in each cell, flat.");
  m.def("boxes_iou", &boxes_iou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("crowd").noconvert(), "IoU of boxes, detections by truths.");
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
        // Four lanes over the words of all masks, each with its length: as `fingerprint` does for plain bytes.
        std::uint64_t lane[4] = {kGolden, 2 * kGolden, 3 * kGolden, 4 * kGolden};
        auto eat = [&](std::size_t l, std::uint64_t word) {
          lane[l] = std::rotl((lane[l] ^ word) * 0x9FB21C651E98DF25ull, 29);
        };
        for (nb::handle item : list) {
          const Runs mask = packed_of(item, false);
          const std::uint32_t* words = mask.counts - kPackedHead;
          const std::size_t n = mask.size + kPackedHead;
          eat(0, n);
          std::size_t i = 0;
          for (; i + 8 <= n; i += 8) {
            for (std::size_t l = 0; l < 4; ++l) eat(l, words[i + 2 * l] | std::uint64_t{words[i + 2 * l + 1]} << 32);
          }
          for (; i < n; ++i) eat(i % 4, words[i]);
        }
        std::uint8_t out[32];
        for (std::size_t round = 0; round < 2; ++round) {
          for (std::size_t l = 0; l < 4; ++l) lane[l] = mix64(lane[l] + lane[(l + 1) % 4] * kGolden + nb::len(list));
        }
        for (std::size_t i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(lane[i / 8] >> (8 * (i % 8)));
        return nb::bytes(out, sizeof out);
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
          masks.push_back(rle_from_box(boxes.data() + 4 * i, static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)));
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

}  // namespace steelyard
