// COCO JSON straight into columns: the truth (images, annotations, categories) and detection results.
//
// The file is read in chunks of about a megabyte that stay in cache, each parsed on its own, so memory holds the
// columns and one chunk a thread, never the file. A chunk other than the first starts on a guess: the first text that
// looks like the gap between two records. The guess is proven when the chunk before it, whose own start is proven, ends
// exactly there in the section that was guessed; else the chunk is parsed again from the proven place. So any number of
// threads gives the same columns and the same error.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "coco_parser.hpp"
#include "places.hpp"
#include "pool.hpp"
#include "source.hpp"

namespace steelyard {
namespace {

using namespace coco;

bool mixed(const Ids& a, const Ids& b) {
  return (!a.numbers.empty() && !b.ends.empty()) || (!a.ends.empty() && !b.numbers.empty());
}

std::vector<Part> parse(const Source& source, bool truth, What what, long asked) {
  const std::size_t size = source.size();
  const std::size_t chunks = std::max<std::size_t>(1, (size + kChunk - 1) / kChunk);
  const std::size_t threads = thread_count(asked);
  std::vector<Part> parts(chunks);
  auto until = [&](std::size_t i) { return i + 1 == chunks ? size + 1 : (i + 1) * kChunk; };
  if (threads > 1 && chunks > 1) {
    State guess;
    guess.phase = Phase::element;
    guess.section = truth ? kAnnotations : kResults;
    parallel_for(chunks, threads, [&](std::size_t i) {
      Parser parser(source, truth, what);
      try {
        if (i == 0) parser.run(parts[i], State{}, 0, until(i), false);
        else parser.run(parts[i], guess, i * kChunk, until(i), true);
      } catch (const Fault&) {
        parts[i] = Part{};  // it is met again where the start is proven, or the guess was wrong
      }
    });
  }
  Parser parser(source, truth, what);
  State state;
  std::size_t place = 0;
  std::size_t counts[kSections] = {0, 0, 0, 0};
  Ids kinds[4];  // the first of each id column: tells numbers from texts
  auto consistent = [&](const Part& part) {
    return !mixed(kinds[0], part.images) && !mixed(kinds[1], part.categories) && !mixed(kinds[2], part.image) &&
           !mixed(kinds[3], part.label);
  };
  for (std::size_t i = 0; i < chunks; ++i) {
    Part& part = parts[i];
    if (place >= until(i) && i + 1 < chunks) {  // a record reached over the whole chunk
      part = Part{};
      continue;
    }
    const bool proven = part.ran && part.begin == place && part.before.phase == state.phase &&
                        part.before.section == state.section && !(part.after.opened & state.opened) && i > 0;
    if (!(proven || (i == 0 && part.ran))) {
      part = Part{};
      try {
        parser.run(part, state, place, until(i), false);
      } catch (Fault& fault) {
        if (fault.record >= 0) fault.record += static_cast<long long>(counts[fault.section]);
        throw;
      }
    }
    if (!consistent(part)) throw Fault{part.begin, "some ids are numbers and some are texts", false, -1, {}, -1};
    const Ids* ids[] = {&part.images, &part.categories, &part.image, &part.label};
    for (int j = 0; j < 4; ++j) {
      if (kinds[j].size() == 0) {
        if (!ids[j]->numbers.empty()) kinds[j].numbers.push_back(0);
        if (!ids[j]->ends.empty()) kinds[j].ends.push_back(0);
      }
    }
    for (int s = 0; s < kSections; ++s) counts[s] += part.counts[s];
    const unsigned opened = state.opened;
    state = part.after;
    state.opened |= opened;
    place = part.end;
  }
  if (truth) {
    for (int s : {kImages, kAnnotations, kCategories}) {
      if (!(state.opened & (1u << s))) {
        throw Fault{size, std::string("'") + kNames[s] + "' is missing", false, -1, {}, -1};
      }
    }
  }
  return parts;
}

// Joins one column of all parts into an array; each part's memory is given back as it is copied.
template <typename T, typename Get>
Out<T> joined(std::vector<Part>& parts, Get get, std::size_t width = 0) {
  std::size_t total = 0;
  for (Part& part : parts) total += get(part).size();
  T* out;
  auto result = width ? make_raw<T>({total / width, width}, out) : make_raw<T>({total}, out);
  for (Part& part : parts) {
    auto& column = get(part);
    out = std::copy(column.begin(), column.end(), out);
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

// Images and their sizes, as (height, width) in turn: ids are numbers or texts.
struct ImageSizes {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<std::int64_t> sizes;
};

// Draws the masks of all parts; the sizes are those given, and those of the file's own images.
void draw_masks(std::vector<Part>& parts, ImageSizes known, long asked) {
  for (const Part& part : parts) {
    known.numbers.insert(known.numbers.end(), part.images.numbers.begin(), part.images.numbers.end());
    std::size_t from = 0;
    for (std::int64_t end : part.images.ends) {
      known.texts.push_back(part.images.texts.substr(from, static_cast<std::size_t>(end) - from));
      from = static_cast<std::size_t>(end);
    }
    known.sizes.insert(known.sizes.end(), part.shapes.sizes.begin(), part.shapes.sizes.end());
  }
  require(known.sizes.size() == 2 * (known.numbers.size() + known.texts.size()), "one size for each image");
  require(known.numbers.empty() || known.texts.empty(), "some ids are numbers and some are texts");
  require(known.numbers.size() < (std::size_t{1} << 31), "too many ids");
  const Places places(known.numbers.data(), known.numbers.size());
  std::unordered_map<std::string_view, std::size_t> named;
  for (std::size_t i = 0; i < known.texts.size(); ++i) named.emplace(known.texts[i], i);
  std::vector<std::optional<Fault>> faults(parts.size());
  parallel_for(parts.size(), thread_count(asked), [&](std::size_t p) {
    Part& part = parts[p];
    try {
      part.shapes.draw([&](std::size_t row, std::int64_t& height, std::int64_t& width) {
        std::size_t at;
        if (!part.image.ends.empty()) {
          const std::size_t from = row ? static_cast<std::size_t>(part.image.ends[row - 1]) : 0;
          const std::size_t size = static_cast<std::size_t>(part.image.ends[row]) - from;
          const auto found = named.find(std::string_view(part.image.texts).substr(from, size));
          if (found == named.end()) return false;
          at = found->second;
        } else {
          const std::int32_t found = places.find(part.image.numbers[row]);
          if (found < 0) return false;
          at = static_cast<std::size_t>(found);
        }
        height = known.sizes[2 * at];
        width = known.sizes[2 * at + 1];
        return true;
      });
    } catch (Fault& fault) {
      faults[p] = std::move(fault);
    }
  });
  long long before = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (faults[p]) {
      faults[p]->record += before;
      faults[p]->section = parts[p].counts[kResults] ? kResults : kAnnotations;
      throw std::move(*faults[p]);
    }
    before += static_cast<long long>(parts[p].shapes.masks.size());
  }
}

// Records of one chunk may agree and those of another not.
void check_keypoints(const std::vector<Part>& parts) {
  std::size_t numbers = 0;
  for (const Part& part : parts) {
    const std::size_t n = part.shapes.keypoint_numbers;
    if (numbers && n && n != numbers) {
      throw Fault{part.begin, std::to_string(n / 3) + " keypoints where others have " + std::to_string(numbers / 3), false, -1,
                  "keypoints", -1};
    }
    if (n) numbers = n;
  }
}

// Masks as packed bytes, one object each; their boxes, and the areas where the file gives none.
void put_masks(nb::dict& out, std::vector<Part>& parts, bool truth) {
  nb::list masks;
  for (Part& part : parts) {
    for (std::size_t row = 0; row < part.shapes.masks.size(); ++row) {
      const Shapes::One& one = part.shapes.masks[row];
      masks.append(nb::bytes(reinterpret_cast<const char*>(part.shapes.packed.data() + one.begin), 4 * (one.end - one.begin)));
      if (truth && part.area[row] < 0) part.area[row] = part.shapes.areas[row];
    }
    std::vector<std::uint32_t>().swap(part.shapes.packed);
  }
  out["mask"] = masks;
  out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.boxes; }, 4);
  if (!truth) out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.areas; });
}

void put_keypoints(nb::dict& out, std::vector<Part>& parts, bool truth) {
  std::size_t width = 0;
  for (Part& part : parts) {
    width = std::max(width, part.shapes.keypoint_numbers);
    for (std::size_t row = 0; row < part.area.size(); ++row) {
      if (part.area[row] < 0) part.area[row] = part.box[4 * row + 2] * part.box[4 * row + 3];
    }
  }
  out["keypoints"] = joined<double>(parts, [](Part& p) -> auto& { return p.shapes.keypoints; }, width ? width : 3);
  if (truth) out["visible"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.visible; });
}

nb::object read(const Source& source, bool truth, long threads, What what, const ImageSizes& sizes) {
  std::vector<Part> parts;
  Fault fault;
  bool failed = false;
  {
    nb::gil_scoped_release release;
    try {
      parts = parse(source, truth, what, threads);
      if (what == What::masks) draw_masks(parts, sizes, threads);
      if (what == What::keypoints) check_keypoints(parts);
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
  if (what == What::masks) put_masks(out, parts, truth);
  if (what == What::keypoints) put_keypoints(out, parts, truth);
  if (what != What::masks) out["box"] = joined<double>(parts, [](Part& p) -> auto& { return p.box; }, 4);
  if (!truth) {
    out["score"] = joined<double>(parts, [](Part& p) -> auto& { return p.score; });
    return out;
  }
  out["images"] = joined_ids(parts, [](Part& p) -> Ids& { return p.images; });
  out["sizes"] = joined<double>(parts, [](Part& p) -> auto& { return p.size; }, 2);
  out["id"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.id; });
  out["area"] = joined<double>(parts, [](Part& p) -> auto& { return p.area; });
  out["crowd"] = joined<std::uint8_t>(parts, [](Part& p) -> auto& { return p.crowd; });
  if (what == What::masks) out["canvas"] = joined<std::int64_t>(parts, [](Part& p) -> auto& { return p.shapes.sizes; }, 2);
  out["categories"] = joined_ids(parts, [](Part& p) -> Ids& { return p.categories; });
  nb::list names;
  for (Part& part : parts) {
    std::int64_t from = 0;
    for (std::int64_t end : part.name_ends) {
      names.append(nb::str(part.names.data() + from, static_cast<std::size_t>(end - from)));
      from = end;
    }
  }
  out["names"] = names;
  bool federated = false;
  for (const Part& part : parts) federated |= part.federated;
  out["federated"] = federated;
  return out;
}

What what_of(int what) {
  require(what >= 0 && what <= 2, "boxes, masks or keypoints");
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

void bind_coco(nb::module_& m) {
  m.def(
      "coco_read",
      [](const std::string& path, bool truth, long threads, int what, nb::object ids, nb::object sizes) {
        return read(Source(path), truth, threads, what_of(what), sizes_of(ids, sizes));
      },
      nb::arg("path"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(),
      "Columns of a COCO file as a dict, or a tuple (byte, what, syntax, section, record, key) that says what is wrong. "
      "`what`: 0 boxes, 1 masks, 2 keypoints; `ids` and `sizes` of images serve results with polygons.");
  m.def(
      "coco_parse",
      [](nb::bytes text, bool truth, long threads, int what, nb::object ids, nb::object sizes) {
        return read(Source(static_cast<const char*>(text.data()), text.size()), truth, threads, what_of(what),
                    sizes_of(ids, sizes));
      },
      nb::arg("text"), nb::arg("truth"), nb::arg("threads") = 0, nb::arg("what") = 0, nb::arg("ids") = nb::none(),
      nb::arg("sizes") = nb::none(), "The same from bytes in memory.");
}

}  // namespace steelyard
