// Sequences frame by frame, with full matrices of similarities, for Python. The kernels are in tracking/dense.cpp.
#include <vector>

#include "arrays.hpp"
#include "masks.hpp"
#include "masks/contours.hpp"
#include "support/checks.hpp"
#include "tracking/dense.hpp"

namespace steelyard::frames_binding {
namespace {

using tracking::Chosen;
using tracking::FrameSizes;
using tracking::Rows;

constexpr std::size_t kMostRows = std::size_t{1} << 31;
constexpr double kLargest = 1e300;  // sums and differences of similarities stay finite

// The sizes of the frames, with the rows of either side and of all matrices together.
struct Sizes {
  FrameSizes frames;
  std::size_t truths = 0, predictions = 0, cells = 0;

  Sizes(const In1<std::int64_t>& truth, const In1<std::int64_t>& prediction)
      : frames{truth.data(), prediction.data(), truth.shape(0)} {
    require(prediction.shape(0) == frames.frames, "both sides must have as many frames");
    for (std::size_t f = 0; f < frames.frames; ++f) {
      const std::int64_t n = frames.truth[f], m = frames.prediction[f];
      require(n >= 0 && m >= 0 && n < std::int64_t{kMostRows} && m < std::int64_t{kMostRows},
              "a frame has no such size");
      truths += static_cast<std::size_t>(n), predictions += static_cast<std::size_t>(m);
      cells += static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
      require(truths < kMostRows && predictions < kMostRows && cells < (std::size_t{1} << 40), "too many rows");
    }
  }

  void check(const In1<double>& similarity) const {
    require(similarity.shape(0) == cells, "every pair of a frame needs a similarity");
  }
  // For entries that solve assignments, which need finite worths.
  void check_finite(const In1<double>& similarity) const {
    check(similarity);
    require(all_within(similarity.data(), cells, -kLargest, kLargest), "a similarity must be a finite number");
  }
  Chosen chosen(const In1<std::uint8_t>& truth, const In1<std::uint8_t>& prediction) const {
    require(truth.shape(0) == truths && prediction.shape(0) == predictions, "every row must be chosen or not");
    return {truth.data(), prediction.data()};
  }
};

// The tracks of one side, which count from 0.
std::vector<std::int32_t> tracks_of(const In1<std::int64_t>& track, std::size_t rows, std::int64_t tracks) {
  require(track.shape(0) == rows, "every row needs a track");
  require(tracks >= 0 && tracks < std::int64_t{kMostRows}, "there are too many tracks");
  std::vector<std::int32_t> out(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    require(track.data()[i] >= 0 && track.data()[i] < tracks, "a track is not from 0 to their number");
    out[i] = static_cast<std::int32_t>(track.data()[i]);
  }
  return out;
}

Out<double> frame_ious(In2<double> truth, In1<std::int64_t> truth_sizes, In2<double> prediction,
                       In1<std::int64_t> prediction_sizes, bool of_truth) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  require(truth.shape(1) == 4 && prediction.shape(1) == 4, "a box has four numbers");
  require(truth.shape(0) == sizes.truths && prediction.shape(0) == sizes.predictions, "every row needs a box");
  double* out;
  auto result = make_raw<double>({sizes.cells}, out);
  nb::gil_scoped_release release;
  tracking::dense_ious(sizes.frames, truth.data(), prediction.data(), of_truth, out);
  return result;
}

Out<double> frame_select(In1<double> similarity, In1<std::int64_t> truth_sizes, In1<std::int64_t> prediction_sizes,
                         In1<std::uint8_t> truth, In1<std::uint8_t> prediction) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check(similarity);
  const Chosen chosen = sizes.chosen(truth, prediction);
  std::size_t cells = 0;
  const std::uint8_t *row = chosen.truth, *column = chosen.prediction;
  for (std::size_t f = 0; f < sizes.frames.frames; ++f) {
    std::size_t n = 0, m = 0;
    for (std::int64_t i = 0; i < sizes.frames.truth[f]; ++i) n += *row++ != 0;
    for (std::int64_t i = 0; i < sizes.frames.prediction[f]; ++i) m += *column++ != 0;
    cells += n * m;
  }
  double* out;
  auto result = make_raw<double>({cells}, out);
  nb::gil_scoped_release release;
  tracking::dense_select(sizes.frames, similarity.data(), chosen, out);
  return result;
}

// The pairing of the chosen rows by similarities of at least `least`.
Out<std::int64_t> frame_pairs(In1<double> similarity, In1<std::int64_t> truth_sizes, In1<std::int64_t> prediction_sizes,
                              In1<std::uint8_t> truth, In1<std::uint8_t> prediction, double least, double lift) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check_finite(similarity);
  require(lift >= 0 && lift <= 1e6, "what is added to a similarity must be from 0 to a million");
  const Chosen chosen = sizes.chosen(truth, prediction);
  std::int64_t* partner;
  auto result = make_raw<std::int64_t>({sizes.predictions}, partner);
  nb::gil_scoped_release release;
  std::fill_n(partner, sizes.predictions, std::int64_t{-1});
  const auto sparse = tracking::sparse_of(sizes.frames, similarity.data(), chosen, least);
  tracking::FramePairing pairing;
  std::vector<tracking::Edge> edges;
  std::vector<std::int64_t> column;
  std::vector<std::uint32_t> rows(sizes.truths, 0), columns(sizes.predictions, 0);
  std::vector<std::size_t> row_place, column_place;
  for (const tracking::Frame& f : sparse.frames) {
    if (f.pair == f.pair_end) continue;
    // Rows and columns count among the chosen ones: where several answers are equally good, places decide.
    row_place.clear(), column_place.clear();
    for (std::size_t i = f.truth; i < f.truth_end; ++i) {
      if (chosen.truth[i]) rows[i] = static_cast<std::uint32_t>(row_place.size()), row_place.push_back(i);
    }
    for (std::size_t j = f.prediction; j < f.prediction_end; ++j) {
      if (chosen.prediction[j]) columns[j] = static_cast<std::uint32_t>(column_place.size()), column_place.push_back(j);
    }
    edges.clear();
    for (std::size_t o = f.pair; o < f.pair_end; ++o) {
      const tracking::Overlap& one = sparse.overlaps[o];
      edges.push_back({rows[one.truth], columns[one.prediction], one.similarity});
    }
    column.resize(row_place.size());
    pairing.solve(edges, row_place.size(), column_place.size(), lift, column.data());
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] >= 0)
        partner[column_place[static_cast<std::size_t>(column[i])]] = static_cast<std::int64_t>(row_place[i]);
    }
  }
  return result;
}

Out<double> frame_sums(In1<double> similarity, In1<std::int64_t> truth_sizes, In1<std::int64_t> prediction_sizes) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check_finite(similarity);
  double* out;
  auto result = make_raw<double>({sizes.frames.frames}, out);
  nb::gil_scoped_release release;
  tracking::frame_sums(sizes.frames, similarity.data(), out);
  return result;
}

Out<std::int64_t> frame_hota(In1<double> similarity, In1<std::int64_t> truth_sizes, In1<std::int64_t> prediction_sizes,
                             In1<std::int64_t> truth_track, In1<std::int64_t> prediction_track,
                             std::int64_t truth_tracks, std::int64_t prediction_tracks) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check_finite(similarity);
  const auto truth = tracks_of(truth_track, sizes.truths, truth_tracks);
  const auto prediction = tracks_of(prediction_track, sizes.predictions, prediction_tracks);
  std::int64_t* partner;
  auto result = make_raw<std::int64_t>({sizes.truths}, partner);
  nb::gil_scoped_release release;
  const auto sparse = tracking::sparse_of(sizes.frames, similarity.data(), {}, tracking::kAny);
  const Rows truths{nullptr, truth.data(), truth.size(), static_cast<std::size_t>(truth_tracks)};
  const Rows predictions{nullptr, prediction.data(), prediction.size(), static_cast<std::size_t>(prediction_tracks)};
  tracking::Scores scores;
  tracking::score_hota(sparse.frames, truths, predictions, sparse.overlaps.data(), sparse.overlaps.size(), scores,
                       partner);
  return result;
}

Tuple<Out<double>, Out<std::int64_t>> frame_clear(In1<double> similarity, In1<std::int64_t> truth_sizes,
                                                  In1<std::int64_t> prediction_sizes, In1<std::int64_t> truth_track,
                                                  In1<std::int64_t> prediction_track, std::int64_t truth_tracks,
                                                  std::int64_t prediction_tracks, double threshold) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check_finite(similarity);
  const auto truth = tracks_of(truth_track, sizes.truths, truth_tracks);
  const auto prediction = tracks_of(prediction_track, sizes.predictions, prediction_tracks);
  double* counts;
  std::int64_t* partner;
  auto counts_out = make_raw<double>({tracking::kClear}, counts);
  auto partner_out = make_raw<std::int64_t>({sizes.truths}, partner);
  {
    nb::gil_scoped_release release;
    const auto sparse = tracking::sparse_of(sizes.frames, similarity.data(), {}, threshold - tracking::kEpsilon);
    const Rows truths{nullptr, truth.data(), truth.size(), static_cast<std::size_t>(truth_tracks)};
    const Rows predictions{nullptr, prediction.data(), prediction.size(), static_cast<std::size_t>(prediction_tracks)};
    tracking::Scores scores;
    tracking::score_clear(sparse.frames, truths, predictions, sparse.overlaps.data(), threshold,
                          tracking::Keeps::last_frame, scores, partner, nullptr);
    std::copy_n(scores.clear, tracking::kClear, counts);
  }
  return nb::make_tuple(counts_out, partner_out);
}

Out<double> frame_identity(In1<double> similarity, In1<std::int64_t> truth_sizes, In1<std::int64_t> prediction_sizes,
                           In1<std::int64_t> truth_track, In1<std::int64_t> prediction_track, std::int64_t truth_tracks,
                           std::int64_t prediction_tracks, double threshold) {
  const Sizes sizes(truth_sizes, prediction_sizes);
  sizes.check(similarity);
  const auto truth = tracks_of(truth_track, sizes.truths, truth_tracks);
  const auto prediction = tracks_of(prediction_track, sizes.predictions, prediction_tracks);
  double* counts;
  auto result = make_raw<double>({tracking::kIdentity}, counts);
  nb::gil_scoped_release release;
  const auto sparse = tracking::sparse_of(sizes.frames, similarity.data(), {}, threshold);
  const Rows truths{nullptr, truth.data(), truth.size(), static_cast<std::size_t>(truth_tracks)};
  const Rows predictions{nullptr, prediction.data(), prediction.size(), static_cast<std::size_t>(prediction_tracks)};
  tracking::Scores scores;
  tracking::score_identity(truths, predictions, sparse.overlaps.data(), sparse.overlaps.size(), threshold, scores);
  std::copy_n(scores.identity, tracking::kIdentity, counts);
  return result;
}

Out<std::int64_t> mask_contours(nb::list first, nb::list second, std::int64_t radius) {
  const std::vector<Rle> mine = masks_of(first), other = masks_of(second);
  require(mine.size() == other.size(), "both lists must have as many masks");
  require(radius >= 0 && radius < (1 << 20), "the radius must be from 0 to a million");
  for (std::size_t i = 0; i < mine.size(); ++i) {
    require(mine[i].height == other[i].height && mine[i].width == other[i].width, "the masks of a pair differ in size");
  }
  std::int64_t* out;
  auto result = make_raw<std::int64_t>({mine.size(), 4}, out);
  nb::gil_scoped_release release;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto counts = contour_counts(mine[i], other[i], static_cast<std::uint32_t>(radius));
    std::copy(counts.begin(), counts.end(), out + 4 * i);
  }
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("frame_ious", &frame_ious, nb::arg("truth").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction").noconvert(), nb::arg("prediction_sizes").noconvert(), nb::arg("of_truth") = false,
        "IoU of the boxes (left, top, right, low) of each frame, or the share of the first; the matrices flat.");
  m.def("frame_select", &frame_select, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        "The similarities of the chosen rows and columns of each frame.");
  m.def("frame_pairs", &frame_pairs, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), nb::arg("truth").noconvert(), nb::arg("prediction").noconvert(),
        nb::arg("least"), nb::arg("lift") = 0.0,
        "The truth row that each prediction is paired with by similarity, among the chosen rows, or -1.");
  m.def("frame_sums", &frame_sums, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), "The similarity that pairing each frame adds up to.");
  m.def("frame_hota", &frame_hota, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), nb::arg("truth_track").noconvert(),
        nb::arg("prediction_track").noconvert(), nb::arg("truth_tracks"), nb::arg("prediction_tracks"),
        "The prediction row that HOTA pairs each truth row with, or -1.");
  m.def("frame_clear", &frame_clear, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), nb::arg("truth_track").noconvert(),
        nb::arg("prediction_track").noconvert(), nb::arg("truth_tracks"), nb::arg("prediction_tracks"),
        nb::arg("threshold"),
        "The counts of CLEAR, and the prediction row that each truth row is matched with, or -1.");
  m.def("frame_identity", &frame_identity, nb::arg("similarity").noconvert(), nb::arg("truth_sizes").noconvert(),
        nb::arg("prediction_sizes").noconvert(), nb::arg("truth_track").noconvert(),
        nb::arg("prediction_track").noconvert(), nb::arg("truth_tracks"), nb::arg("prediction_tracks"),
        nb::arg("threshold"), "IDTP, IDFN and IDFP.");
  m.def("mask_contours", &mask_contours, nb::arg("first"), nb::arg("second"), nb::arg("radius"),
        "Of each pair of masks: pixels of both outlines, and of each within the radius of the other.");
}

}  // namespace steelyard::frames_binding
