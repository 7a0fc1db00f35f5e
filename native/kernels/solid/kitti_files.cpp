// KITTI's label files: see kitti_files.hpp.
#include "solid/kitti_files.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "coco/source.hpp"
#include "support/number_text.hpp"
#include "support/pool.hpp"

namespace steelyard::solid {
namespace {

constexpr std::size_t kFiles = 128;  // that a task reads

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_field(char c) { return is_blank(c) || c == '\n'; }

class KittiReader {
 public:
  KittiReader(KittiRows& out, bool results) : out_(out), fields_(results ? kResultFields : kTruthFields) {}

  // False where something is wrong.
  bool file(const std::string& path, std::int64_t number) {
    out_.begin.push_back(static_cast<std::int64_t>(out_.type.size()));
    try {
      const Source source(path);
      text_.resize(source.size());
      text_.resize(source.read(0, source.size(), text_.data()));
    } catch (const std::invalid_argument& error) {
      return wrong(number, 0, -1, error.what(), 0);
    }
    text_.push_back('\n');
    text_.push_back('\0');
    const char *p = text_.data(), *end = p + text_.size() - 1;
    if (std::string_view(text_).substr(0, 3) == "\xEF\xBB\xBF") p += 3;
    for (std::int32_t line = 1; p < end; ++line) {
      while (is_blank(*p)) ++p;
      if (*p == '\n') {
        ++p;
        continue;
      }
      if (!row(p, number, line)) return false;
    }
    return true;
  }

 private:
  bool row(const char*& p, std::int64_t number, std::int32_t line) {
    const char* start = p;
    std::size_t count = 0;
    for (const char* q = p; *q != '\n';) {
      while (is_blank(*q)) ++q;
      if (*q == '\n') break;
      ++count;
      while (!ends_field(*q)) ++q;
    }
    const char* stop = p;
    while (!ends_field(*stop)) ++stop;
    if (count != fields_) return wrong(number, line, -1, std::string(start, stop), static_cast<std::int32_t>(count));
    const std::int32_t type = type_of(std::string_view(p, static_cast<std::size_t>(stop - p)));
    p = stop;
    for (std::size_t k = 0; k + 1 < fields_; ++k) {
      while (is_blank(*p)) ++p;
      double value;
      const char* behind = plain_number(p, value);
      if (!behind || !ends_field(*behind)) {
        behind = p;
        while (!ends_field(*behind)) ++behind;
        if (!any_number(p, behind, value)) {
          return wrong(number, line, static_cast<std::int32_t>(k), std::string(p, behind), 0);
        }
      }
      out_.numbers[k].push_back(value);
      p = behind;
    }
    out_.type.push_back(type);
    out_.line.push_back(line);
    while (*p != '\n') ++p;
    ++p;
    return true;
  }

  std::int32_t type_of(std::string_view text) {
    for (std::size_t k = 0; k < out_.types.size(); ++k) {
      if (out_.types[k] == text) return static_cast<std::int32_t>(k);
    }
    out_.types.emplace_back(text);
    return static_cast<std::int32_t>(out_.types.size() - 1);
  }

  bool wrong(std::int64_t file, std::int32_t line, std::int32_t field, std::string text, std::int32_t count) {
    out_.wrong_file = file, out_.wrong_line = line, out_.wrong_field = field;
    out_.wrong_text = std::move(text), out_.wrong_count = count;
    return false;
  }

  KittiRows& out_;
  std::size_t fields_;
  std::string text_;
};

}  // namespace

KittiRows read_kitti(const std::vector<std::string>& paths, bool results, long threads) {
  const std::size_t tasks = (paths.size() + kFiles - 1) / kFiles;
  std::vector<KittiRows> parts(tasks);
  parallel_for(tasks, thread_count(threads), [&](std::size_t task) {
    KittiReader reader(parts[task], results);
    for (std::size_t f = task * kFiles; f < std::min(paths.size(), (task + 1) * kFiles); ++f) {
      if (!reader.file(paths[f], static_cast<std::int64_t>(f))) break;
    }
  });
  KittiRows out;
  std::size_t rows = 0;
  for (const KittiRows& part : parts) {
    if (part.wrong_file >= 0) {
      KittiRows fault;
      fault.wrong_file = part.wrong_file, fault.wrong_line = part.wrong_line, fault.wrong_field = part.wrong_field;
      fault.wrong_text = part.wrong_text, fault.wrong_count = part.wrong_count;
      return fault;
    }
    rows += part.type.size();
  }
  for (auto& column : out.numbers) column.reserve(rows);
  for (const KittiRows& part : parts) {
    const auto before = static_cast<std::int64_t>(out.type.size());
    for (const std::int64_t begin : part.begin) out.begin.push_back(begin + before);
    for (std::size_t k = 0; k < out.numbers.size(); ++k) {
      out.numbers[k].insert(out.numbers[k].end(), part.numbers[k].begin(), part.numbers[k].end());
    }
    std::vector<std::int32_t> place;
    for (const std::string& type : part.types) {
      const auto known = std::find(out.types.begin(), out.types.end(), type);
      place.push_back(static_cast<std::int32_t>(known - out.types.begin()));
      if (known == out.types.end()) out.types.push_back(type);
    }
    for (const std::int32_t type : part.type) out.type.push_back(place[static_cast<std::size_t>(type)]);
    out.line.insert(out.line.end(), part.line.begin(), part.line.end());
  }
  out.begin.push_back(static_cast<std::int64_t>(out.type.size()));
  return out;
}

}  // namespace steelyard::solid
