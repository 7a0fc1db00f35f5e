// Tracking for Python: checks, arrays, threads. The kernels are in tracking.cpp and tracking_scores.cpp.
#include <cstring>
#include <vector>

#include "arrays.hpp"
#include "support/checks.hpp"
#include "tracking/number_rows.hpp"
#include "support/pool.hpp"
#include "tracking/tracking.hpp"

namespace steelyard::tracking_binding {
namespace {

using tracking::Frame;
using tracking::Overlap;
using tracking::Rows;

constexpr std::size_t kMostRows = std::size_t{1} << 31;

// One side's rows by run: run r has rows from ends[r - 1] to ends[r], its frames never falling.
struct Side {
  const std::int64_t *frame, *ends;
  const std::int32_t* track = nullptr;
  std::size_t runs, rows;
  std::vector<std::size_t> tracks;

  Side(const In1<std::int64_t>& frames, const In1<std::int64_t>& run_ends)
      : frame(frames.data()), ends(run_ends.data()), runs(run_ends.shape(0)), rows(frames.shape(0)), tracks(runs, 0) {
    require(rows < kMostRows, "too many rows");
    std::int64_t last = 0;
    for (std::size_t r = 0; r < runs; ++r) {
      require(ends[r] >= last && ends[r] <= static_cast<std::int64_t>(rows), "the ends of the runs must rise");
      for (std::int64_t i = last + 1; i < ends[r]; ++i) require(frame[i - 1] <= frame[i], "rows must stand by frame");
      last = ends[r];
    }
    require(last == static_cast<std::int64_t>(rows), "the last run must end with the rows");
  }

  void with_tracks(const In1<std::int32_t>& of_rows) {
    require(of_rows.shape(0) == rows, "every row needs a track");
    track = of_rows.data();
    for (std::size_t r = 0; r < runs; ++r) {
      std::int32_t most = -1;
      for (std::size_t i = begin(r); i < end(r); ++i) {
        require(track[i] >= 0, "a track is negative");
        most = std::max(most, track[i]);
      }
      tracks[r] = static_cast<std::size_t>(most + 1);
      require(tracks[r] <= 2 * (end(r) - begin(r)) + 16, "tracks must count from 0");
    }
  }

  std::size_t begin(std::size_t r) const { return r ? static_cast<std::size_t>(ends[r - 1]) : 0; }
  std::size_t end(std::size_t r) const { return static_cast<std::size_t>(ends[r]); }
  Rows run(std::size_t r) const {
    return {frame + begin(r), track ? track + begin(r) : nullptr, end(r) - begin(r), tracks[r]};
  }
};

// Overlaps of all runs as they cross the boundary: rows count over all runs, in order.
struct Overlaps {
  const std::int32_t *truth, *prediction;
  const double* similarity;
  std::size_t count;
  std::vector<std::size_t> ends;

  Overlaps(const In1<std::int32_t>& t, const In1<std::int32_t>& p, const In1<double>& s, const Side& truths,
           const Side& predictions)
      : truth(t.data()), prediction(p.data()), similarity(s.data()), count(t.shape(0)) {
    require(p.shape(0) == count && s.shape(0) == count, "every overlap needs two rows and a similarity");
    require(all_within(similarity, count, 0.0, 1.0), "a similarity is not from 0 to 1");
    std::size_t at = 0;
    for (std::size_t r = 0; r < truths.runs; ++r) {
      while (at < count && truth[at] >= 0 && static_cast<std::size_t>(truth[at]) < truths.end(r)) {
        require(static_cast<std::size_t>(truth[at]) >= truths.begin(r) && prediction[at] >= 0 &&
                    static_cast<std::size_t>(prediction[at]) >= predictions.begin(r) &&
                    static_cast<std::size_t>(prediction[at]) < predictions.end(r),
                "an overlap must lie inside one run");
        ++at;
      }
      ends.push_back(at);
    }
    require(at == count, "overlaps must stand by run");
  }

  std::vector<Overlap> run(std::size_t r, const Side& truths, const Side& predictions) const {
    const std::size_t first = r ? ends[r - 1] : 0;
    std::vector<Overlap> out(ends[r] - first);
    for (std::size_t i = first; i < ends[r]; ++i) {
      out[i - first] = {static_cast<std::uint32_t>(truth[i] - truths.begin(r)),
                        static_cast<std::uint32_t>(prediction[i] - predictions.begin(r)), similarity[i]};
    }
    return out;
  }
};

Tuple<Out<std::int32_t>, Out<std::int32_t>, Out<double>> overlaps_out(const std::vector<std::vector<Overlap>>& found,
                                                                      const Side& truths, const Side& predictions) {
  std::size_t count = 0;
  for (const auto& run : found) count += run.size();
  std::int32_t *truth, *prediction;
  double* similarity;
  auto truth_out = make_raw<std::int32_t>({count}, truth);
  auto prediction_out = make_raw<std::int32_t>({count}, prediction);
  auto similarity_out = make_raw<double>({count}, similarity);
  std::size_t at = 0;
  for (std::size_t r = 0; r < found.size(); ++r) {
    for (const Overlap& one : found[r]) {
      truth[at] = static_cast<std::int32_t>(one.truth + truths.begin(r));
      prediction[at] = static_cast<std::int32_t>(one.prediction + predictions.begin(r));
      similarity[at++] = one.similarity;
    }
  }
  return nb::make_tuple(truth_out, prediction_out, similarity_out);
}

Tuple<Out<std::int32_t>, Out<std::int32_t>, Out<double>> box_overlaps(In2<double> truth, In1<std::int64_t> truth_frame,
                                                                      In1<std::int64_t> truth_ends,
                                                                      In2<double> prediction,
                                                                      In1<std::int64_t> prediction_frame,
                                                                      In1<std::int64_t> prediction_ends, long threads) {
  const Side truths(truth_frame, truth_ends), predictions(prediction_frame, prediction_ends);
  require(truths.runs == predictions.runs, "both sides must have as many runs");
  require(truth.shape(1) == 4 && prediction.shape(1) == 4, "a box has four numbers");
  require(truth.shape(0) == truths.rows && prediction.shape(0) == predictions.rows, "every row needs a box");
  check_finite(truth.data(), truth.size(), "boxes must be finite");
  check_finite(prediction.data(), prediction.size(), "boxes must be finite");
  std::vector<std::vector<Overlap>> found(truths.runs);
  {
    nb::gil_scoped_release release;
    parallel_for(truths.runs, thread_count(threads), [&](std::size_t r) {
      tracking::BoxOverlaps overlaps;
      for (const Frame& f : tracking::frames_of(truths.run(r), predictions.run(r), nullptr, 0)) {
        overlaps.add(truth.data() + 4 * (truths.begin(r) + f.truth), f.truth_end - f.truth, f.truth,
                     prediction.data() + 4 * (predictions.begin(r) + f.prediction), f.prediction_end - f.prediction,
                     f.prediction, found[r]);
      }
    });
  }
  return overlaps_out(found, truths, predictions);
}

Out<std::int64_t> matches(In1<std::int64_t> truth_frame, In1<std::int64_t> truth_ends,
                          In1<std::int64_t> prediction_frame, In1<std::int64_t> prediction_ends,
                          In1<std::int32_t> truth_row, In1<std::int32_t> prediction_row, In1<double> similarity,
                          double lift, long threads) {
  const Side truths(truth_frame, truth_ends), predictions(prediction_frame, prediction_ends);
  require(truths.runs == predictions.runs, "both sides must have as many runs");
  require(lift >= 0 && lift <= 1e6, "what is added to a similarity must be from 0 to a million");
  const Overlaps overlaps(truth_row, prediction_row, similarity, truths, predictions);
  std::int64_t* partner;
  auto result = make_raw<std::int64_t>({predictions.rows}, partner);
  nb::gil_scoped_release release;
  parallel_for(truths.runs, thread_count(threads), [&](std::size_t r) {
    const auto mine = overlaps.run(r, truths, predictions);
    std::int64_t* out = partner + predictions.begin(r);
    tracking::match_frames(tracking::frames_of(truths.run(r), predictions.run(r), mine.data(), mine.size()),
                           mine.data(), lift, out);
    for (std::size_t i = 0; i < predictions.end(r) - predictions.begin(r); ++i) {
      if (out[i] >= 0) out[i] += static_cast<std::int64_t>(truths.begin(r));
    }
  });
  return result;
}

Tuple<Out<double>, Out<double>, Out<double>, Out<double>, Out<std::int32_t>, Out<std::uint8_t>> scores(
    In1<std::int64_t> truth_frame, In1<std::int32_t> truth_track, In1<std::int64_t> truth_ends,
    In1<std::uint8_t> truth_scored, In1<std::int64_t> prediction_frame, In1<std::int32_t> prediction_track,
    In1<std::int64_t> prediction_ends, In1<std::uint8_t> prediction_scored, In1<std::int32_t> truth_row,
    In1<std::int32_t> prediction_row, In1<double> similarity, double threshold, bool last_match, long threads) {
  Side truths(truth_frame, truth_ends), predictions(prediction_frame, prediction_ends);
  require(truths.runs == predictions.runs, "both sides must have as many runs");
  require(truth_scored.shape(0) == truths.rows && prediction_scored.shape(0) == predictions.rows,
          "every row must be scored or not");
  require(threshold > 0 && threshold <= 1, "the threshold must be above 0 and at most 1");
  truths.with_tracks(truth_track);
  predictions.with_tracks(prediction_track);
  const Overlaps overlaps(truth_row, prediction_row, similarity, truths, predictions);
  double *hota, *losses, *clear, *identity;
  std::int32_t* partner;
  std::uint8_t* event;
  auto hota_out = make_raw<double>({truths.runs, tracking::kHota, tracking::kAlphas}, hota);
  auto losses_out = make_raw<double>({truths.runs, tracking::kLosses, tracking::kAlphas}, losses);
  auto clear_out = make_raw<double>({truths.runs, tracking::kClear}, clear);
  auto identity_out = make_raw<double>({truths.runs, tracking::kIdentity}, identity);
  auto partner_out = make_raw<std::int32_t>({truths.rows}, partner);
  auto event_out = make_array<std::uint8_t>({truths.rows}, event);
  {
    nb::gil_scoped_release release;
    parallel_for(truths.runs, thread_count(threads), [&](std::size_t r) {
      auto mine = overlaps.run(r, truths, predictions);
      const tracking::ScoredRows truth(truths.run(r), truth_scored.data() + truths.begin(r));
      const tracking::ScoredRows prediction(predictions.run(r), prediction_scored.data() + predictions.begin(r));
      tracking::keep_scored(mine, truth, prediction);
      const auto frames = tracking::frames_of(truth.rows(), prediction.rows(), mine.data(), mine.size());
      tracking::Scores out;
      std::vector<std::int64_t> matched(truth.count());
      std::vector<std::uint8_t> happened(truth.count());
      tracking::score_hota(frames, truth.rows(), prediction.rows(), mine.data(), mine.size(), out);
      tracking::score_clear(frames, truth.rows(), prediction.rows(), mine.data(), threshold,
                            last_match ? tracking::Keeps::last_match : tracking::Keeps::last_frame, out, matched.data(),
                            happened.data());
      tracking::score_identity(truth.rows(), prediction.rows(), mine.data(), mine.size(), threshold, out);
      std::fill(partner + truths.begin(r), partner + truths.end(r), -1);
      for (std::size_t i = 0; i < truth.count(); ++i) {
        const std::size_t row = truths.begin(r) + truth.place(i);
        event[row] = happened[i];
        if (matched[i] < 0) continue;
        partner[row] =
            static_cast<std::int32_t>(predictions.begin(r) + prediction.place(static_cast<std::size_t>(matched[i])));
      }
      std::memcpy(hota + r * tracking::kHota * tracking::kAlphas, out.hota, sizeof out.hota);
      std::memcpy(losses + r * tracking::kLosses * tracking::kAlphas, out.losses, sizeof out.losses);
      std::memcpy(clear + r * tracking::kClear, out.clear, sizeof out.clear);
      std::memcpy(identity + r * tracking::kIdentity, out.identity, sizeof out.identity);
    });
  }
  return nb::make_tuple(hota_out, losses_out, clear_out, identity_out, partner_out, event_out);
}

Tuple<Out<std::int32_t>, std::int64_t> codes(In1<std::int64_t> frame, In1<std::int64_t> track, In1<std::int64_t> ends,
                                             long threads) {
  const Side side(frame, ends);
  require(track.shape(0) == side.rows, "every row needs a track");
  std::int32_t* code;
  auto result = make_raw<std::int32_t>({side.rows}, code);
  std::vector<std::int64_t> again(side.runs, -1);
  {
    nb::gil_scoped_release release;
    parallel_for(side.runs, thread_count(threads), [&](std::size_t r) {
      const std::size_t begin = side.begin(r);
      again[r] = tracking::code_tracks(side.frame + begin, track.data() + begin, side.end(r) - begin, code + begin);
      if (again[r] >= 0) again[r] += static_cast<std::int64_t>(begin);
    });
  }
  std::int64_t first = -1;
  for (std::int64_t row : again) {
    if (row >= 0 && first < 0) first = row;
  }
  return nb::make_tuple(result, first);
}

Out<std::int64_t> assign_scipy(In2<double> cost) {
  check_finite(cost.data(), cost.size(), "costs must be finite");
  std::int64_t* column;
  auto result = make_array<std::int64_t>({cost.shape(0)}, column);
  nb::gil_scoped_release release;
  tracking::assign_as_scipy(cost.data(), cost.shape(0), cost.shape(1), column);
  return result;
}

Tuple<std::size_t, Out<double>, Out<std::uint8_t>, Out<std::int32_t>, std::int64_t, std::int64_t, nb::bytes>
number_rows(nb::bytes text, std::size_t width) {
  require(width >= 1 && width <= 64, "a row has from 1 to 64 numbers");
  const std::string_view view(text.c_str(), text.size());
  const std::size_t most = count_lines(view);
  require(most < kMostRows, "too many lines");
  double* values;
  std::uint8_t* fields;
  std::int32_t* line;
  auto values_out = make_raw<double>({width, most}, values);
  auto fields_out = make_raw<std::uint8_t>({most}, fields);
  auto line_out = make_raw<std::int32_t>({most}, line);
  NumberRows found;
  {
    nb::gil_scoped_release release;
    found = read_number_rows(view, width, most, values, fields, line);
  }
  const nb::bytes wrong(found.wrong_text.data(), found.wrong_text.size());
  return nb::make_tuple(found.rows, values_out, fields_out, line_out, found.wrong_line, found.wrong_field, wrong);
}

}  // namespace

void bind(nb::module_& m) {
  m.def("tracking_overlaps", &box_overlaps, nb::arg("truth").noconvert(), nb::arg("truth_frame").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("prediction").noconvert(), nb::arg("prediction_frame").noconvert(),
        nb::arg("prediction_ends").noconvert(), nb::arg("threads") = 0,
        "Pairs of boxes (left, top, right, low) of one frame that overlap: their rows and IoU, run by run.");
  m.def("tracking_matches", &matches, nb::arg("truth_frame").noconvert(), nb::arg("truth_ends").noconvert(),
        nb::arg("prediction_frame").noconvert(), nb::arg("prediction_ends").noconvert(),
        nb::arg("truth_row").noconvert(), nb::arg("prediction_row").noconvert(), nb::arg("similarity").noconvert(),
        nb::arg("lift") = 0.0, nb::arg("threads") = 0,
        "The truth row that each prediction is matched with in its frame, or -1.");
  m.def("tracking_scores", &scores, nb::arg("truth_frame").noconvert(), nb::arg("truth_track").noconvert(),
        nb::arg("truth_ends").noconvert(), nb::arg("truth_scored").noconvert(), nb::arg("prediction_frame").noconvert(),
        nb::arg("prediction_track").noconvert(), nb::arg("prediction_ends").noconvert(),
        nb::arg("prediction_scored").noconvert(), nb::arg("truth_row").noconvert(),
        nb::arg("prediction_row").noconvert(), nb::arg("similarity").noconvert(), nb::arg("threshold") = 0.5,
        nb::arg("last_match") = false, nb::arg("threads") = 0,
        "Sums of HOTA, of what association loses, of CLEAR and of Identity by run, over the rows that are scored; "
        "CLEAR's "
        "partner and event by truth row.");
  m.def("tracking_codes", &codes, nb::arg("frame").noconvert(), nb::arg("track").noconvert(),
        nb::arg("ends").noconvert(), nb::arg("threads") = 0,
        "Codes of the tracks of each run; then the first row whose track its frame has twice, or -1.");
  m.def("number_rows", &number_rows, nb::arg("text"), nb::arg("width"),
        "How many rows there are, then their first numbers (columns, rows at most), how many each has and its line; "
        "then line, "
        "field and text of the first field that is not a number.");
  m.def("assign_scipy", &assign_scipy, nb::arg("cost").noconvert(),
        "Pair rows with columns at the lowest total, ties as scipy breaks them: the column of each row, or -1.");
}

}  // namespace steelyard::tracking_binding
