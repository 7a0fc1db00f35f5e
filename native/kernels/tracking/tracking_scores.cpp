// What HOTA, CLEAR and Identity add up in one run: see tracking.hpp.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "ellipses/assign.hpp"
#include "tracking/tracking.hpp"

namespace steelyard::tracking {
namespace {

// Numbers of the pairs of tracks that ever meet, in the order in which they first do.
class TrackPairs {
 public:
  explicit TrackPairs(std::size_t expected)
      : slots_(std::bit_ceil(2 * expected + 16), kEmpty), mask_(slots_.size() - 1) {}

  std::uint32_t number(std::uint32_t truth, std::uint32_t prediction) {
    const std::uint64_t key = (std::uint64_t{truth} << 32) | prediction;
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 40) & mask_;
    while (slots_[at] != kEmpty) {
      if (keys_[slots_[at]] == key) return slots_[at];
      at = (at + 1) & mask_;
    }
    if (keys_.size() * 2 >= slots_.size()) {
      grow();
      return number(truth, prediction);
    }
    slots_[at] = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[at];
  }

  std::size_t size() const { return keys_.size(); }
  std::uint32_t truth(std::size_t i) const { return static_cast<std::uint32_t>(keys_[i] >> 32); }
  std::uint32_t prediction(std::size_t i) const { return static_cast<std::uint32_t>(keys_[i]); }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFFu;

  void grow() {
    slots_.assign(slots_.size() * 2, kEmpty);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      std::size_t at = static_cast<std::size_t>((keys_[i] * 0x9E3779B97F4A7C15ull) >> 40) & mask_;
      while (slots_[at] != kEmpty) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_;
  std::vector<std::uint64_t> keys_;
};

// The sum of a row with n places of which few are not 0, in the order in which numpy adds: up to 128 places in eight
// lanes, more of them in halves.
double numpy_sum(const Overlap* first, const Overlap* last, std::size_t from, std::size_t n) {
  if (n < 8) {
    double sum = 0.0;
    for (; first != last; ++first) sum += first->similarity;
    return sum;
  }
  if (n <= 128) {
    double lanes[8] = {};
    const std::size_t whole = from + n - n % 8;
    for (; first != last && first->prediction < whole; ++first)
      lanes[(first->prediction - from) % 8] += first->similarity;
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; first != last; ++first) sum += first->similarity;
    return sum;
  }
  const std::size_t half = n / 2 - (n / 2) % 8;
  const Overlap* middle = first;
  while (middle != last && middle->prediction < from + half) ++middle;
  return numpy_sum(first, middle, from, half) + numpy_sum(middle, last, from + half, n - half);
}

// The pairs in the order of their tracks: sums over them then do not depend on the order of the rows.
std::vector<std::uint32_t> in_order(const TrackPairs& pairs) {
  std::vector<std::uint32_t> order(pairs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return pairs.truth(a) != pairs.truth(b) ? pairs.truth(a) < pairs.truth(b)
                                            : pairs.prediction(a) < pairs.prediction(b);
  });
  return order;
}

std::vector<double> lengths(const Rows& rows) {
  std::vector<double> count(rows.tracks, 0.0);
  for (std::size_t i = 0; i < rows.count; ++i) count[static_cast<std::size_t>(rows.track[i])] += 1.0;
  return count;
}

}  // namespace

void score_hota(const std::vector<Frame>& frames, const Rows& truth, const Rows& prediction, const Overlap* overlaps,
                std::size_t count, Scores& out, std::int64_t* matched_rows) {
  if (matched_rows) std::fill_n(matched_rows, truth.count, std::int64_t{-1});
  for (auto& row : out.hota) std::fill_n(row, kAlphas, 0.0);
  for (auto& row : out.losses) std::fill_n(row, kAlphas, 0.0);
  const std::vector<double> g = lengths(truth), t = lengths(prediction);

  TrackPairs pairs(std::min<std::size_t>(count, 4 * (truth.tracks + prediction.tracks)));
  std::vector<std::uint32_t> number(count);
  std::vector<double> potential, across;
  for (const Frame& f : frames) {
    across.assign(f.prediction_end - f.prediction, 0.0);
    for (std::size_t o = f.pair; o < f.pair_end; ++o)
      across[overlaps[o].prediction - f.prediction] += overlaps[o].similarity;
    for (std::size_t o = f.pair; o < f.pair_end;) {
      std::size_t end = o;
      while (end < f.pair_end && overlaps[end].truth == overlaps[o].truth) ++end;
      const double along = numpy_sum(overlaps + o, overlaps + end, f.prediction, f.prediction_end - f.prediction);
      for (; o < end; ++o) {
        const Overlap& one = overlaps[o];
        number[o] = pairs.number(static_cast<std::uint32_t>(truth.track[one.truth]),
                                 static_cast<std::uint32_t>(prediction.track[one.prediction]));
        if (number[o] == potential.size()) potential.push_back(0.0);
        const double divisor = across[one.prediction - f.prediction] + along - one.similarity;
        if (divisor > kEpsilon) potential[number[o]] += one.similarity / divisor;
      }
    }
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    potential[i] = potential[i] / (g[pairs.truth(i)] + t[pairs.prediction(i)] - potential[i]);
  }

  double limits[kAlphas];
  for (std::size_t a = 0; a < kAlphas; ++a) limits[a] = alpha(a) - kEpsilon;
  const std::size_t counters = matched_rows ? 0 : pairs.size() * (kAlphas + 1);
  std::vector<double> levels(counters, 0.0), similar(counters, 0.0);
  FramePairing pairing;
  std::vector<Edge> edges;
  std::vector<std::int64_t> partner;
  for (const Frame& f : frames) {
    edges.clear();
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      const double worth = potential[number[o]] * overlaps[o].similarity;
      if (worth > 0) {
        edges.push_back({static_cast<std::uint32_t>(overlaps[o].truth - f.truth),
                         static_cast<std::uint32_t>(overlaps[o].prediction - f.prediction), worth});
      }
    }
    if (edges.empty()) continue;
    partner.resize(f.truth_end - f.truth);
    pairing.solve(edges, f.truth_end - f.truth, f.prediction_end - f.prediction, 0.0, partner.data());
    if (matched_rows) {
      for (std::size_t i = 0; i < partner.size(); ++i) {
        if (partner[i] >= 0) matched_rows[f.truth + i] = static_cast<std::int64_t>(f.prediction) + partner[i];
      }
      continue;
    }
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      const Overlap& one = overlaps[o];
      if (partner[one.truth - f.truth] != static_cast<std::int64_t>(one.prediction - f.prediction)) continue;
      const std::size_t level =
          static_cast<std::size_t>(std::upper_bound(limits, limits + kAlphas, one.similarity) - limits);
      levels[number[o] * (kAlphas + 1) + level] += 1.0;
      similar[number[o] * (kAlphas + 1) + level] += one.similarity;
    }
  }
  if (matched_rows) return;

  // A pair at level k is a match at the first k thresholds.
  std::vector<double> of_truth(truth.tracks * kAlphas, 0.0), of_prediction(prediction.tracks * kAlphas, 0.0);
  const std::vector<std::uint32_t> order = in_order(pairs);
  for (const std::uint32_t i : order) {
    double* level = levels.data() + i * (kAlphas + 1);
    const double* near = similar.data() + i * (kAlphas + 1);
    double* at_truth = of_truth.data() + pairs.truth(i) * kAlphas;
    double* at_prediction = of_prediction.data() + pairs.prediction(i) * kAlphas;
    double matched = 0.0, similarity = 0.0;
    for (std::size_t a = kAlphas; a-- > 0;) {
      matched += level[a + 1], similarity += near[a + 1];
      level[a + 1] = matched;
      at_truth[a] += matched, at_prediction[a] += matched;
      out.hota[0][a] += matched, out.hota[3][a] += similarity;
    }
  }
  for (std::size_t a = 0; a < kAlphas; ++a) {
    out.hota[1][a] = static_cast<double>(truth.count) - out.hota[0][a];
    out.hota[2][a] = static_cast<double>(prediction.count) - out.hota[0][a];
  }
  for (const std::uint32_t i : order) {
    const std::size_t mine = pairs.truth(i), other = pairs.prediction(i);
    for (std::size_t a = 0; a < kAlphas; ++a) {
      const double c = levels[i * (kAlphas + 1) + a + 1];
      if (c == 0.0) break;
      const double whole = g[mine] + t[other] - c;
      out.hota[4][a] += c * (c / whole);
      out.hota[5][a] += c * (c / g[mine]);
      out.hota[6][a] += c * (c / t[other]);
      const double in_truth = of_truth[mine * kAlphas + a], in_prediction = of_prediction[other * kAlphas + a];
      out.losses[0][a] += c * ((in_truth - c) / whole);
      out.losses[1][a] += c * ((g[mine] - in_truth) / whole);
      out.losses[2][a] += c * ((in_prediction - c) / whole);
      out.losses[3][a] += c * ((t[other] - in_prediction) / whole);
    }
  }
}

void score_clear(const std::vector<Frame>& frames, const Rows& truth, const Rows& prediction, const Overlap* overlaps,
                 double threshold, Keeps keeps, Scores& out, std::int64_t* partner, std::uint8_t* event) {
  double tp = 0, fn = 0, fp = 0, switches = 0;
  std::vector<std::int32_t> ever(truth.tracks, -1), last(truth.tracks, -1);
  std::vector<double> seen = lengths(truth), matched(truth.tracks, 0.0), starts(truth.tracks, 0.0),
                      near(truth.tracks, 0.0);
  std::vector<std::int32_t> touched;  // truths that were matched in the last frame that was walked
  FramePairing pairing;
  std::vector<Edge> edges;
  std::vector<std::int64_t> column;
  std::vector<std::uint8_t> used;
  const bool trackeval = keeps == Keeps::last_frame;
  for (const Frame& f : frames) {
    const std::size_t rows = f.truth_end - f.truth, columns = f.prediction_end - f.prediction;
    if (partner) std::fill(partner + f.truth, partner + f.truth_end, std::int64_t{-1});
    if (rows == 0 || columns == 0) {
      fp += static_cast<double>(columns), fn += static_cast<double>(rows);
      continue;
    }
    edges.clear();
    column.assign(rows, -1);
    used.assign(columns, 0);
    auto reaches = [&](double s) { return trackeval ? !(s < threshold - kEpsilon) : !(1.0 - s > 1.0 - threshold); };
    if (!trackeval) {
      for (std::size_t o = f.pair; o < f.pair_end; ++o) {
        const Overlap& one = overlaps[o];
        const std::size_t i = one.truth - f.truth, j = one.prediction - f.prediction;
        if (!reaches(one.similarity) || used[j] || column[i] >= 0) continue;
        if (ever[static_cast<std::size_t>(truth.track[one.truth])] != prediction.track[one.prediction]) continue;
        column[i] = static_cast<std::int64_t>(j), used[j] = 1;
      }
    }
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      const Overlap& one = overlaps[o];
      const std::size_t i = one.truth - f.truth, j = one.prediction - f.prediction;
      if (!reaches(one.similarity) || used[j] || column[i] >= 0) continue;
      const bool goes_on =
          trackeval && last[static_cast<std::size_t>(truth.track[one.truth])] == prediction.track[one.prediction];
      const double worth = (goes_on ? 1000.0 : 0.0) + one.similarity;
      if (!(worth > 0)) continue;
      edges.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), worth});
    }
    if (!edges.empty()) {
      std::vector<std::int64_t> kept;
      if (!trackeval) kept = column;
      pairing.solve(edges, rows, columns, trackeval ? 0.0 : 10000.0, column.data());
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] >= 0) column[i] = kept[i];
      }
    }
    // The truths of the frame before are forgotten only once this frame's fragments are known.
    std::vector<std::int32_t> now;
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      const Overlap& one = overlaps[o];
      const std::size_t i = one.truth - f.truth;
      if (column[i] != static_cast<std::int64_t>(one.prediction - f.prediction)) continue;
      const std::int32_t track = truth.track[one.truth], other = prediction.track[one.prediction];
      const std::size_t place = static_cast<std::size_t>(track);
      std::uint8_t what = 0;
      if (ever[place] >= 0 && ever[place] != other) switches += 1, what |= 1;
      if (last[place] < 0) {
        if (starts[place] > 0) what |= 2;
        starts[place] += 1;
      }
      ever[place] = other;
      matched[place] += 1;
      near[place] += one.similarity;
      tp += 1;
      now.push_back(track);
      if (partner) partner[one.truth] = static_cast<std::int64_t>(one.prediction);
      if (event) event[one.truth] = what;
    }
    fn += static_cast<double>(rows - now.size()), fp += static_cast<double>(columns - now.size());
    for (std::int32_t track : touched) last[static_cast<std::size_t>(track)] = -1;
    for (std::int32_t track : now) last[static_cast<std::size_t>(track)] = ever[static_cast<std::size_t>(track)];
    touched.swap(now);
  }
  double fragments = 0, mostly = 0, partly = 0, tracks = 0, similar = 0;
  for (std::size_t i = 0; i < truth.tracks; ++i) {
    if (seen[i] == 0) continue;
    tracks += 1, similar += near[i];
    if (starts[i] > 0) fragments += starts[i] - 1;
    const double share = matched[i] / seen[i];
    if (trackeval ? share > 0.8 : share >= 0.8) {
      mostly += 1;
    } else if (share >= 0.2) {
      partly += 1;
    }
  }
  const double values[kClear] = {tp, fn, fp, similar, switches, fragments, mostly, partly, tracks - mostly - partly};
  std::copy_n(values, kClear, out.clear);
}

void score_identity(const Rows& truth, const Rows& prediction, const Overlap* overlaps, std::size_t count,
                    double threshold, Scores& out) {
  TrackPairs pairs(std::min<std::size_t>(count, 4 * (truth.tracks + prediction.tracks)));
  std::vector<double> frames;
  for (std::size_t o = 0; o < count; ++o) {
    if (!(overlaps[o].similarity >= threshold)) continue;
    const std::uint32_t i = pairs.number(static_cast<std::uint32_t>(truth.track[overlaps[o].truth]),
                                         static_cast<std::uint32_t>(prediction.track[overlaps[o].prediction]));
    if (i == frames.size()) frames.push_back(0.0);
    frames[i] += 1.0;
  }
  // Tracks that are linked through others form a block; the best pairing of each is the best of all.
  std::vector<std::uint32_t> parent(truth.tracks + prediction.tracks);
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<std::uint32_t>(i);
  auto root = [&](std::uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  const auto tracks = static_cast<std::uint32_t>(truth.tracks);
  for (std::size_t i = 0; i < pairs.size(); ++i) parent[root(pairs.truth(i))] = root(tracks + pairs.prediction(i));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_block(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) by_block[i] = {root(pairs.truth(i)), static_cast<std::uint32_t>(i)};
  std::sort(by_block.begin(), by_block.end());
  std::vector<std::uint32_t> place(parent.size(), 0);
  std::vector<double> cost;
  std::vector<std::int64_t> column;
  double best = 0.0;
  for (std::size_t first = 0; first < by_block.size();) {
    std::size_t last = first;
    std::vector<std::uint32_t> rows, columns;
    for (; last < by_block.size() && by_block[last].first == by_block[first].first; ++last) {
      rows.push_back(pairs.truth(by_block[last].second)),
          columns.push_back(tracks + pairs.prediction(by_block[last].second));
    }
    for (auto* side : {&rows, &columns}) {
      std::sort(side->begin(), side->end());
      side->erase(std::unique(side->begin(), side->end()), side->end());
      for (std::size_t i = 0; i < side->size(); ++i) place[(*side)[i]] = static_cast<std::uint32_t>(i);
    }
    const std::size_t n = rows.size(), m = columns.size();
    cost.assign(n * m, 0.0);
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t pair = by_block[i].second;
      cost[place[pairs.truth(pair)] * m + place[tracks + pairs.prediction(pair)]] = -frames[pair];
    }
    column.resize(n);
    assign_optimal(cost.data(), n, m, column.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (column[i] >= 0) best -= cost[i * m + static_cast<std::size_t>(column[i])];
    }
    first = last;
  }
  out.identity[0] = best;
  out.identity[1] = static_cast<double>(truth.count) - best;
  out.identity[2] = static_cast<double>(prediction.count) - best;
}

}  // namespace steelyard::tracking
