// The matching of masks, and their IoUs.
#include "masks.hpp"

#include <algorithm>
#include <string>

#include "masks/mask_column.hpp"
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

using ColumnTuple = Tuple<Out<std::uint32_t>, Out<std::int64_t>, Out<std::uint8_t>>;

struct HeldColumn {
  In2<std::uint32_t> heads;
  In1<std::int64_t> begin;
  In1<std::uint8_t> texts;
  explicit HeldColumn(nb::tuple parts) {
    require(nb::len(parts) == 3 && nb::try_cast(parts[0], heads, false) && nb::try_cast(parts[1], begin, false) &&
                nb::try_cast(parts[2], texts, false),
            "a column of masks is heads, places and texts");
  }
  MaskColumn column() const {
    return {view(heads), view(begin), {reinterpret_cast<const char*>(texts.data()), texts.shape(0)}};
  }
};

Out<double> cell_mask_iou_array(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<std::int32_t> d_rows,
                                In1<std::int32_t> t_rows, ColumnTuple d_masks, ColumnTuple t_masks,
                                In1<std::uint8_t> crowd, double boundary, double least, long threads) {
  const HeldColumn detected(d_masks), truth(t_masks);
  const CellMasks in{view(d_begin),  view(t_begin), view(d_rows), view(t_rows), detected.column(),
                     truth.column(), view(crowd),   boundary,     least};
  const std::size_t pairs = check_cell_masks(in);
  double* out;
  auto result = make_raw<double>({pairs}, out);
  nb::gil_scoped_release release;
  cell_mask_ious(in, threads, out);
  return result;
}

// Masks of Python objects as a column.
ColumnTuple mask_column(nb::list masks) {
  std::uint32_t* head;
  std::int64_t* begin;
  auto heads = make_raw<std::uint32_t>({nb::len(masks), kPackedHead}, head);
  auto places = make_raw<std::int64_t>({nb::len(masks) + 1}, begin);
  std::string texts;
  for (nb::handle item : masks) {
    const Rle rle = mask_of(item);
    pack_head(head, rle, extent_of(rle));
    head += kPackedHead;
    *begin++ = static_cast<std::int64_t>(texts.size());
    const std::string_view text = mask_text(item);
    if (text.empty()) add_text(rle, texts);
    else texts += text;
  }
  *begin = static_cast<std::int64_t>(texts.size());
  std::uint8_t* out;
  auto all = make_raw<std::uint8_t>({texts.size()}, out);
  std::copy(texts.begin(), texts.end(), out);
  return nb::make_tuple(heads, places, all);
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
  m.def("cell_mask_ious", &cell_mask_iou_array, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("d_rows").noconvert(), nb::arg("t_rows").noconvert(), nb::arg("d_masks"), nb::arg("t_masks"),
        nb::arg("crowd").noconvert(), nb::arg("boundary") = 0.0, nb::arg("least") = 0.0, nb::arg("threads") = 0,
        "IoU of all pairs in each cell, flat; -1 where sizes differ. A pair below `least` may be 0.");
  m.def("mask_column", &mask_column, nb::arg("masks"),
        "Masks as a column: size and extent of each, where its compressed text begins, and all texts.");
  m.def("boxes_iou", &boxes_iou, nb::arg("detections").noconvert(), nb::arg("truths").noconvert(),
        nb::arg("crowd").noconvert(), "IoU of boxes, detections by truths.");
}

}  // namespace steelyard::masks_binding
