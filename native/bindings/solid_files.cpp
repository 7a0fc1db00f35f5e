// Files of boxes in space for Python: KITTI's labels and nuScenes' JSON, as columns.
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "coco/source.hpp"
#include "solid/kitti_files.hpp"
#include "solid/nuscenes_file.hpp"

namespace steelyard::solid_files_binding {
namespace {

using namespace solid;
using Columns = nb::typed<nb::dict, nb::str, nb::object>;

template <typename T>
Out<T> column(const std::vector<T>& values, std::size_t width = 0) {
  T* out;
  auto result = width ? make_raw<T>({values.size() / width, width}, out) : make_raw<T>({values.size()}, out);
  std::copy(values.begin(), values.end(), out);
  return result;
}

nb::list texts(const std::vector<std::string>& values) {
  nb::list out;
  for (const std::string& text : values) out.append(nb::bytes(text.data(), text.size()));
  return out;
}

Result<std::variant<Columns, Tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t, nb::bytes>>> kitti(
    const std::vector<std::string>& paths, bool results, long threads) {
  KittiRows rows;
  {
    nb::gil_scoped_release release;
    rows = read_kitti(paths, results, threads);
  }
  if (rows.wrong_file >= 0) {
    return nb::make_tuple(rows.wrong_file, rows.wrong_line, rows.wrong_field, rows.wrong_count,
                          nb::bytes(rows.wrong_text.data(), rows.wrong_text.size()));
  }
  nb::list numbers;
  for (const auto& values : rows.numbers) numbers.append(column(values));
  nb::dict out;
  out["numbers"] = numbers;
  out["type"] = column(rows.type);
  out["line"] = column(rows.line);
  out["begin"] = column(rows.begin);
  out["types"] = texts(rows.types);
  return out;
}

using Found = Result<std::variant<Columns, Tuple<std::size_t, bool, nb::str, nb::bytes, nb::str, std::int64_t>>>;

// `text[size]` is NUL.
template <typename Text>
Found nuscenes(const Text& text_of, bool results) {
  NuScenesRows rows;
  NuScenesFault fault;
  bool failed = false;
  {
    nb::gil_scoped_release release;
    const auto& text = text_of();
    try {
      rows = read_nuscenes(text.data(), text.size(), results);
    } catch (NuScenesFault& met) {
      fault = std::move(met);
      failed = true;
    }
  }
  if (failed) {
    return nb::make_tuple(fault.at, fault.syntax, fault.what, nb::bytes(fault.sample.data(), fault.sample.size()),
                          fault.key, fault.box);
  }
  nb::dict out;
  out["samples"] = texts(rows.samples);
  out["begin"] = column(rows.begin);
  out["translation"] = column(rows.translation, 3);
  out["size"] = column(rows.size, 3);
  out["rotation"] = column(rows.rotation, 4);
  out["velocity"] = column(rows.velocity, 2);
  out["ego_offset"] = column(rows.ego_offset, 3);
  out["score"] = column(rows.score);
  out["points"] = column(rows.points);
  out["name"] = column(rows.name.code);
  out["names"] = texts(rows.name.list);
  out["attribute"] = column(rows.attribute.code);
  out["attributes"] = texts(rows.attribute.list);
  out["ego_samples"] = texts(rows.ego_samples);
  out["ego"] = column(rows.ego, 3);
  out["scene_samples"] = texts(rows.scene_samples);
  out["scenes"] = texts(rows.scenes);
  return out;
}

Found nuscenes_file(const std::string& path, bool results) {
  return nuscenes(
      [&] {
        const Source source(path);
        std::string text(source.size(), '\0');
        text.resize(source.read(0, source.size(), text.data()));
        return text;
      },
      results);
}

Found nuscenes_text(nb::bytes text, bool results) {
  const std::string_view view(text.c_str(), text.size());
  return nuscenes([&] { return view; }, results);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("read_kitti", &kitti, nb::arg("paths"), nb::arg("results"), nb::arg("threads") = 0,
        "Lines of KITTI's label files as columns; or what is wrong: file, line, field, how many fields, text.");
  m.def("parse_nuscenes", &nuscenes_text, nb::arg("text"), nb::arg("results"), "The same of a text in memory.");
  m.def("read_nuscenes", &nuscenes_file, nb::arg("path"), nb::arg("results"),
        "Boxes of a nuScenes file as columns; or what is wrong: byte, whether it is not JSON, what, sample, key, box.");
}

}  // namespace steelyard::solid_files_binding
