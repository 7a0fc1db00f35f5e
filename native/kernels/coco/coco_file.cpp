// The file is read in chunks of about a megabyte that stay in cache, each parsed on its own, so memory holds the
// columns and one chunk per thread, never the file. A chunk other than the first starts on a guess: the first text that
// looks like the gap between two records. The guess is proven when the chunk before it, whose own start is proven, ends
// exactly there in the section that was guessed; else the chunk is parsed again from the proven place. So any number of
// threads gives the same columns and the same error.
#include "coco/coco_file.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "support/checks.hpp"
#include "support/count_text.hpp"
#include "support/places.hpp"
#include "support/pool.hpp"

namespace steelyard::coco {
namespace {

bool mixed(const Ids& a, const Ids& b) {
  return (!a.numbers.empty() && !b.ends.empty()) || (!a.ends.empty() && !b.numbers.empty());
}

std::vector<Part> parse(const Source& source, bool truth, What what, bool compact, long asked) {
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
      Parser parser(source, truth, what, compact);
      try {
        if (i == 0) parser.run(parts[i], State{}, 0, until(i), false);
        else parser.run(parts[i], guess, i * kChunk, until(i), true);
      } catch (const Fault&) {
        parts[i] = Part{};  // it is met again where the start is proven, or the guess was wrong
      }
    });
  }
  Parser parser(source, truth, what, compact);
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
      const auto size_of = [&](std::size_t row, std::int64_t& height, std::int64_t& width) {
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
      };
      if (part.shapes.compact) part.shapes.draw_compact(size_of);
      else part.shapes.draw(size_of);
    } catch (Fault& fault) {
      faults[p] = std::move(fault);
    }
  });
  long long before = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (faults[p]) {
      if (faults[p]->record >= 0) faults[p]->record += before;
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
      throw Fault{part.begin,  count_text(n / 3, "keypoint") + " where others have " + std::to_string(numbers / 3),
                  false,       -1,
                  "keypoints", -1};
    }
    if (n) numbers = n;
  }
}

}  // namespace

std::vector<Part> read_parts(const Source& source, bool truth, long threads, What what, const ImageSizes& sizes,
                             bool compact) {
  std::vector<Part> parts = parse(source, truth, what, compact, threads);
  if (what == What::masks) draw_masks(parts, sizes, threads);
  if (what == What::keypoints) check_keypoints(parts);
  return parts;
}

}  // namespace steelyard::coco
