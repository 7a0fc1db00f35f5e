#include "anomalies/regions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace steelyard::anomalies {
namespace {

struct Run {
  std::size_t first, last;  // places in the mask; `last` is behind the run
  std::size_t parent;       // a run of the same region, the first one of it in the end
};

std::size_t root_of(std::vector<Run>& runs, std::size_t i) {
  while (runs[i].parent != i) i = runs[i].parent = runs[runs[i].parent].parent;
  return i;
}

void unite(std::vector<Run>& runs, std::size_t a, std::size_t b) {
  a = root_of(runs, a);
  b = root_of(runs, b);
  runs[std::max(a, b)].parent = std::min(a, b);
}

std::size_t next_set(const std::uint8_t* row, std::size_t at, std::size_t end) {
  for (; at + 8 <= end; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, row + at, sizeof word);
    if (word) break;
  }
  while (at < end && !row[at]) ++at;
  return at;
}

}  // namespace

MaskRegions find_regions(Matrix<std::uint8_t> mask, bool corners) {
  std::vector<Run> runs;
  const std::size_t width = mask.columns, reach = corners ? 1 : 0;
  std::size_t before = 0;  // the first run of the row above
  for (std::size_t y = 0; y < mask.rows; ++y) {
    const std::uint8_t* row = mask.row(y);
    const std::size_t start = runs.size();
    std::size_t other = before;
    for (std::size_t x = next_set(row, 0, width); x < width; x = next_set(row, x, width)) {
      const std::size_t first = x;
      while (x < width && row[x]) ++x;
      const std::size_t i = runs.size();
      runs.push_back({y * width + first, y * width + x, i});
      // Runs above, in columns of their own row.
      const std::size_t above = (y - 1) * width;
      while (other < start && runs[other].last - above + reach <= first) ++other;
      for (std::size_t j = other; j < start && runs[j].first - above < x + reach; ++j) unite(runs, j, i);
    }
    before = start;
  }

  MaskRegions found;
  std::vector<std::size_t> region(runs.size());
  std::vector<std::int64_t> place;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t root = root_of(runs, i);
    if (root == i) {
      region[i] = place.size();
      place.push_back(0);
    } else {
      region[i] = region[root];
    }
    place[region[i]] += static_cast<std::int64_t>(runs[i].last - runs[i].first);
  }
  std::int64_t sum = 0;
  for (std::int64_t& size : place) {
    const std::int64_t here = size;
    size = sum;
    sum += here;
    found.ends.push_back(sum);
  }
  found.pixels.resize(static_cast<std::size_t>(sum));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t p = runs[i].first; p < runs[i].last; ++p) {
      found.pixels[static_cast<std::size_t>(place[region[i]]++)] = static_cast<std::int64_t>(p);
    }
  }
  return found;
}

}  // namespace steelyard::anomalies
