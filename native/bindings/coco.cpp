// COCO JSON into columns of numpy.
#include "coco/coco_file.hpp"

#include <algorithm>
#include <memory>

#include <nanobind/stl/string.h>

#include <nanobind/stl/variant.h>

#include "arrays.hpp"

namespace steelyard::coco_binding {
namespace {

using namespace coco;

// Joins one column of all parts into an array; each part's memory is given back as it is copied.
template <typename T, typename Get>
Out<T> joined(std::vector<Part>& parts, Get get, std::size_t width = 0) {
  std::size_t total = 0;
  for (Part& part : parts) total += get(part).size();
  T* out;
  auto result = width ? make_raw<T>({total / width, width}, out) : make_raw<T>({total}, out);
  Freed freed;
  for (Part& part : parts) {
    auto& column = get(part);
    out = std::copy(column.begin(), column.end(), out);
    freed.add(column.size() * sizeof(column[0]));
    std::decay_t<decltype(column)>().swap(column);
  }
  return result;
}

// Numbers as an array; texts as their bytes and where each ends.
template <typename Get>
nb::object joined_ids(std::vector<Part>& parts, Get get) {
  bool text = false;
  for (Part& part : parts) text |= !get(part).ends.empty();
  if (!text) return nb::cast(joined<std::int64_t>(parts, [&](Part& p) -> auto& { return get(p).numbers; }));
  std::string all;
  for (Part& part : parts) {
    for (std::int64_t& end : get(part).ends) end += static_cast<std::int64_t>(all.size());
    all += get(part).texts;
  }
  auto ends = joined<std::int64_t>(parts, [&](Part& p) -> auto& { return get(p).ends; });
  return nb::make_tuple(nb::bytes(all.data(), all.size()), ends);
}

// Texts that stand behind one another, as a list.
template <typename Text, typename Ends>
nb::list words(std::vector<Part>& parts, Text text, Ends ends) {
  nb::list out;
  for (Part& part : parts) {
    std::int64_t from = 0;
    for (std::int64_t end : ends(part)) {
      out.append(nb::str(text(part).data() + from, static_cast<std::size_t>(end - from)));
      from = end;
    }
  }
  return out;
}

// Masks as packed bytes, one object each; their boxes, and the areas where the file gives none.
void put_masks(nb::dict& out, std::vector<Part>& parts, bool truth) {
  nb::list masks;
  for (Part& part : parts) {
    for (std::size_t row = 0; row < part.shapes.masks.size(); ++row) {
      const Shapes::One& one = part.shapes.masks[row];
      masks.append(
          nb::bytes(reinterpret_cast<const char*>(part.shapes.packed.data() + one.begin), 4 * (one.end - one.begin)));
      if (truth && part.area[row] < 0) part.area[row] = part.shapes.areas[row];
    }
    std::vector<std::uint32_t>().swap(part.shapes.packed);
  }
  out["mask"] = masks;
  out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.boxes; }, 4);
  if (!truth) out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.areas; });
}

// Masks as a column: heads, where each text begins, and the texts. Each part's memory is given back as it is copied.
void put_mask_column(nb::dict& out, std::vector<Part>& parts) {
  std::size_t rows = 0, bytes = 0;
  for (const Part& part : parts) {
    rows += part.shapes.ends.size();
    bytes += part.shapes.texts.size();
  }
  std::int64_t* begin;
  std::uint8_t* text;
  auto heads = joined<std::uint32_t>(parts, [](Part& p) -> auto& { return p.shapes.heads; }, kPackedHead);
  auto places = make_raw<std::int64_t>({rows + 1}, begin);
  auto texts = make_raw<std::uint8_t>({bytes}, text);
  Freed freed;
  std::int64_t before = 0;
  *begin++ = 0;
  for (Part& part : parts) {
    Shapes& shapes = part.shapes;
    for (const Shapes::Ends& end : shapes.ends) *begin++ = before + static_cast<std::int64_t>(end.text);
    before += static_cast<std::int64_t>(shapes.texts.size());
    text = std::copy(shapes.texts.begin(), shapes.texts.end(), text);
    freed.add(shapes.texts.size());
    std::string().swap(shapes.texts);
    std::vector<Shapes::Ends>().swap(shapes.ends);
  }
  out["mask"] = nb::make_tuple(heads, places, texts);
}

void put_keypoints(nb::dict& out, std::vector<Part>& parts, bool truth, bool compact) {
  const std::size_t each = compact && !truth ? 2 : 3;
  std::size_t width = each;
  for (Part& part : parts) {
    width = std::max(width, part.shapes.keypoint_numbers / 3 * each);
    for (std::size_t row = 0; row < part.area.size(); ++row) {
      if (part.area[row] < 0) part.area[row] = part.box[4 * row + 2] * part.box[4 * row + 3];
    }
  }
  out["keypoints"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.keypoints; }, width);
  if (truth) out["visible"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.visible; });
}

// Keypoints beside boxes, where every annotation has some.
void put_points_beside(nb::dict& out, std::vector<Part>& parts) {
  std::size_t width = 0, rows = 0, with_points = 0;
  for (const Part& part : parts) {
    rows += part.crowd.size();
    with_points += part.shapes.visible.size();
    const std::size_t numbers = part.shapes.keypoint_numbers;
    if (width && numbers && numbers != width) return;
    width = std::max(width, numbers);
  }
  if (width == 0 || with_points != rows) return;
  bool small = true;  // whole numbers, as annotators click them
  for (const Part& part : parts)
    for (double value : part.shapes.keypoints)
      small = small && value >= -32768 && value <= 32767 && value == static_cast<std::int16_t>(value);
  const auto points = [](Part& p) -> auto& { return p.shapes.keypoints; };
  if (small) out["keypoints"] = joined<std::int16_t>(parts, points, width);
  else out["keypoints"] = joined<double>(parts, points, width);
  out["visible"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.visible; });
}

void put_rotated(nb::dict& out, std::vector<Part>& parts) {
  for (Part& part : parts) {
    for (std::size_t row = 0; row < part.area.size(); ++row) {
      const double* shape = part.shapes.keypoints.data() + 5 * row;
      if (part.area[row] < 0) part.area[row] = shape[2] * shape[3];
    }
  }
  out["rotated"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.keypoints; }, 5);
}

Result<std::variant<nb::typed<nb::dict, nb::str, nb::object>,
                    Tuple<std::size_t, nb::str, bool, nb::str, long long, nb::str>>>
read(const Source& source, bool truth, long threads, What what, const ImageSizes& sizes, bool compact) {
  std::vector<Part> parts;
  Fault fault;
  bool failed = false;
  {
    nb::gil_scoped_release release;
    try {
      parts = read_parts(source, truth, threads, what, sizes, compact);
    } catch (Fault& met) {
      fault = std::move(met);
      failed = true;
    }
  }
  if (failed) {
    return nb::make_tuple(fault.at, fault.what, fault.syntax, fault.section < 0 ? "" : kNames[fault.section],
                          fault.record, nb::str(fault.key.data(), fault.key.size()));
  }
  nb::dict out;
  out["image"] = joined_ids(parts, [](Part& p) -> Ids& { return p.image; });
  out["label"] = joined_ids(parts, [](Part& p) -> Ids& { return p.label; });
  const bool sized = what == What::masks && truth;
  if (sized) out["canvas"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.sizes; }, 2);
  if (what == What::masks && compact) put_mask_column(out, parts);
  if (what == What::masks && !compact) put_masks(out, parts, truth);
  if (what == What::keypoints) put_keypoints(out, parts, truth, compact);
  if (what == What::rotated) put_rotated(out, parts);
  if (what == What::boxes && truth && compact) put_points_beside(out, parts);
  if (what == What::boxes || what == What::keypoints)
    out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.box; }, 4);
  if (!truth) {
    out["score"] = joined<double>(parts, [](Part& p) -> auto& { return p.score; });
    return out;
  }
  out["images"] = joined_ids(parts, [](Part& p) -> Ids& { return p.images; });
  out["sizes"] = joined<double>(parts, [](Part& p) -> auto& { return p.size; }, 2);
  out["id"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.id; });
  out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.area; });
  out["crowd"] = joined<std::uint8_t>(parts, [](Part& p) -> auto& { return p.crowd; });
  out["categories"] = joined_ids(parts, [](Part& p) -> Ids& { return p.categories; });
  out["names"] = words(parts, [](Part& p) -> auto& { return p.names; }, [](Part& p) -> auto& { return p.name_ends; });
  bool federated = false, lacks_area = false;
  for (const Part& part : parts) {
    federated |= part.federated;
    lacks_area |= part.lacks_area;
  }
  out["lacks_area"] = lacks_area;
  out["federated"] = federated;
  if (federated) {
    out["vain"] = nb::make_tuple(joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.vain; }),
                                 joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.vain_counts; }));
    out["unsure"] = nb::make_tuple(joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.unsure; }),
                                   joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.unsure_counts; }));
    out["frequency"] =
        words(parts, [](Part& p) -> auto& { return p.often; }, [](Part& p) -> auto& { return p.often_ends; });
  }
  return out;
}

What what_of(int what) {
  require(what >= 0 && what <= 3, "boxes, masks, keypoints or rotated boxes");
  return static_cast<What>(what);
}

ImageSizes sizes_of(nb::object ids, nb::object sizes) {
  ImageSizes out;
  if (sizes.is_none()) return out;
  In2<std::int64_t> given;
  require(nb::try_cast(sizes, given, false) && given.shape(1) == 2, "a size is height and width");
  out.sizes.assign(given.data(), given.data() + given.size());
  if (nb::isinstance<nb::list>(ids)) {
    for (nb::handle id : nb::borrow<nb::list>(ids)) {
      require(nb::try_cast(id, out.texts.emplace_back(), false), "the ids of images must be texts");
    }
  } else {
    In1<std::int64_t> numbers;
    require(nb::try_cast(ids, numbers, false), "the ids of images must be numbers, or a list of texts");
    out.numbers.assign(numbers.data(), numbers.data() + numbers.shape(0));
  }
  require(2 * (out.numbers.size() + out.texts.size()) == out.sizes.size(), "one size for each image");
  return out;
}

}  // namespace

void bind(nb::module_& m) {
  m.def(
      "coco_read",
      [](const std::string& path, bool truth, long threads, int what, nb::object ids, nb::object sizes, bool compact) {
        std::unique_ptr<Source> source;
        {
          nb::gil_scoped_release release;  // whoever writes a pipe may be a thread of this process
          source = std::make_unique<Source>(path);
        }
        return read(*source, truth, threads, what_of(what), sizes_of(ids, sizes), compact);
      },
      nb::arg("path"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(), nb::arg("compact") = false,
      "Columns of a COCO file as a dict, or a tuple (byte, what, syntax, section, record, key) that says what is "
      "wrong. "
      "`what`: 0 boxes, 1 masks, 2 keypoints, 3 rotated boxes; `ids` and `sizes` of images serve results with "
      "polygons; `compact`: masks as `mask_column` gives them, and keypoints of results without their flags.");
  m.def(
      "coco_parse",
      [](nb::bytes text, bool truth, long threads, int what, nb::object ids, nb::object sizes) {
        return read(Source(static_cast<const char*>(text.data()), text.size()), truth, threads, what_of(what),
                    sizes_of(ids, sizes), false);
      },
      nb::arg("text"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(), "The same from bytes in memory.");
}

}  // namespace steelyard::coco_binding
