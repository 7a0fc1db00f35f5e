// The matching of masks, and their IoUs.
#include "masks.hpp"

#include <algorithm>

#include "masks/mask_similarity.hpp"
#include "matching.hpp"
#include "support/pool.hpp"

namespace steelyard::masks_binding {
namespace {

std::vector<RunsView> all_packed(nb::list list, bool counted) {
  std::vector<RunsView> out;
  out.reserve(nb::len(list));
  for (nb::handle item : list) out.push_back(packed_of(item, counted));
  return out;
}

MatchColumns masks_match(nb::object objects, nb::object rules, double ratio) {
  const ObjectColumns in(objects);
  const GivenRules how(rules);
  const nb::list t_masks(in.given.object("shape")), d_masks(in.given.object("d_shape"));
  require(nb::len(t_masks) == in.image.size() && nb::len(d_masks) == in.d_image.size() &&
              in.d_area.size() == in.d_image.size(),
          "one mask for each object");
  require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
  // Drawing a boundary takes counts for places; comparing runs does not.
  const std::vector<RunsView> t = all_packed(t_masks, ratio > 0), d = all_packed(d_masks, ratio > 0);
  MaskIou similarity(d.size(), t.size(), ratio > 0);
  {
    nb::gil_scoped_release release;
    const std::size_t threads = thread_count(how.threads);
    prepare(similarity, true, t, ratio, threads);
    prepare(similarity, false, d, ratio, threads);
  }
  return match_columns(in, how, &similarity);
}

Out<double> mask_iou(nb::list d, nb::list g, In1<std::uint8_t> crowd, double ratio) {
  require(crowd.shape(0) == nb::len(g), "one crowd flag for each truth");
  require(ratio >= 0 && ratio <= 1, "the boundary's share of the diagonal is from 0 to 1");
  const std::vector<Rle> dets = masks_of(d), truths = masks_of(g);
  MaskIou similarity(dets.size(), truths.size(), ratio > 0);
  prepare(similarity, false, dets, ratio, 1);
  prepare(similarity, true, truths, ratio, 1);
  double* out;
  auto result = make_raw<double>({dets.size(), truths.size()}, out);
  for (std::size_t i = 0; i < dets.size(); ++i) {
    for (std::size_t j = 0; j < truths.size(); ++j) {
      const bool alike = dets[i].height == truths[j].height && dets[i].width == truths[j].width;
      out[i * truths.size() + j] = alike ? similarity.of(i, j, crowd.data()[j], 0.0) : -1.0;
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
    for (std::size_t c = 0; c < cells; ++c)
      require(begin[c] <= begin[c + 1], "the ranges of the cells are out of bounds");
  }
  for (std::size_t c = 0; c < cells; ++c) {
    at[c + 1] = at[c] + static_cast<std::size_t>((d_begin.data()[c + 1] - d_begin.data()[c]) *
                                                 (t_begin.data()[c + 1] - t_begin.data()[c]));
  }
  const std::vector<Rle> dets = masks_of(d), truths = masks_of(g);
  MaskIou similarity(dets.size(), truths.size(), ratio > 0);
  double* out;
  auto result = make_raw<double>({at[cells]}, out);
  nb::gil_scoped_release release;
  constexpr std::size_t kBlock = 64;
  const std::size_t workers = thread_count(threads);
  prepare(similarity, false, dets, ratio, workers);
  prepare(similarity, true, truths, ratio, workers);
  parallel_for((cells + kBlock - 1) / kBlock, workers, [&](std::size_t block) {
    for (std::size_t c = block * kBlock; c < std::min(cells, (block + 1) * kBlock); ++c) {
      double* to = out + at[c];
      for (std::int64_t i = d_begin.data()[c]; i < d_begin.data()[c + 1]; ++i) {
        for (std::int64_t j = t_begin.data()[c]; j < t_begin.data()[c + 1]; ++j) {
          const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
          // Masks of different size have none: -1, as the reference says it.
          const bool alike = dets[a].height == truths[b].height && dets[a].width == truths[b].width;
          *to++ = alike ? similarity.of(a, b, crowd.data()[b], 0.0) : -1.0;
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

}  // namespace

void bind(nb::module_& m) {
  m.def("masks_match", &masks_match, nb::arg("objects"), nb::arg("rules"), nb::arg("boundary") = 0.0,
        "As boxes_match, by the IoU of packed masks; with `boundary`, a share of the diagonal, also of their "
        "boundaries.");
  m.def("mask_iou", &mask_iou, nb::arg("detections"), nb::arg("truths"), nb::arg("crowd").noconvert(),
        nb::arg("boundary") = 0.0, "IoU of masks, detections by truths; -1 where their sizes differ.");
  m.def("cell_mask_ious", &cell_mask_ious, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("detections"), nb::arg("truths"), nb::arg("crowd").noconvert(), nb::arg("boundary") = 0.0,
        nb::arg("threads") = 0, "IoU of all pairs in each cell, flat.");
  m.def("boxes_iou", &boxes_iou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("crowd").noconvert(), "IoU of boxes, detections by truths.");
}

}  // namespace steelyard::masks_binding
