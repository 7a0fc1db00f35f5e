// Tracking: overlaps of boxes frame by frame, the pairing of a frame, and what HOTA, CLEAR and Identity add up.
//
// A run is one class of one sequence. Its rows stand by frame, inside a frame as the source gives them. Overlaps are
// kept sparse, by frame, truth row and prediction row: of all pairs of boxes few overlap.
//
// The order of operations is that of TrackEval (HOTA: Luiten et al. 2020), so that counts are equal and sums differ in
// the last bits only. Where an assignment has several best answers, the one that scipy takes is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace steelyard::tracking {

constexpr double kEpsilon = 2.220446049250313e-16;
constexpr std::size_t kAlphas = 19, kHota = 7, kLosses = 4, kClear = 9, kIdentity = 3;

// np.arange(0.05, 0.99, 0.05)
inline double alpha(std::size_t i) { return 0.05 + static_cast<double>(i) * 0.05; }

// Rows of one side of one run.
struct Rows {
  const std::int64_t* frame = nullptr;
  const std::int32_t* track = nullptr;  // from 0 to tracks - 1; may be null where tracks are not looked at
  std::size_t count = 0, tracks = 0;
};

struct Overlap {
  std::uint32_t truth, prediction;  // rows of the run
  double similarity;
};

// The rows of a run that are scored, and where each stands among all of them. Rows keep the codes of their tracks: a
// track without a scored row counts nowhere.
class ScoredRows {
 public:
  ScoredRows(const Rows& all, const std::uint8_t* scored);

  Rows rows() const { return {frame_.data(), track_.data(), frame_.size(), tracks_}; }
  std::size_t count() const { return place_.size(); }
  std::size_t place(std::size_t i) const { return place_[i]; }
  // The place of a row among the scored ones, or kOut.
  std::uint32_t rank(std::uint32_t row) const { return rank_[row]; }
  static constexpr std::uint32_t kOut = 0xFFFFFFFFu;

 private:
  std::vector<std::int64_t> frame_;
  std::vector<std::int32_t> track_;
  std::vector<std::uint32_t> place_, rank_;
  std::size_t tracks_;
};

// Leaves the overlaps of two scored rows, named by their places among those.
void keep_scored(std::vector<Overlap>& overlaps, const ScoredRows& truth, const ScoredRows& prediction);

// One frame that either side has: rows [truth, truth_end), [prediction, prediction_end), overlaps [pair, pair_end).
struct Frame {
  std::size_t truth, truth_end, prediction, prediction_end, pair, pair_end;
};

// Frames in rising order. Overlaps must stand by frame, truth and prediction, inside their frames; throws otherwise.
std::vector<Frame> frames_of(const Rows& truth, const Rows& prediction, const Overlap* overlaps, std::size_t count);

// Overlaps of boxes left, top, right, low of one frame, appended; rows count from `t0` and `p0`.
class BoxOverlaps {
 public:
  void add(const double* truth, std::size_t n, std::size_t t0, const double* prediction, std::size_t m, std::size_t p0,
           std::vector<Overlap>& out);

 private:
  std::vector<double> corners_;
  std::vector<std::uint32_t> order_;
};

// Codes from 0 of the tracks of a run, in the order of their ids. Gives a row whose track appears twice in its frame,
// or -1.
std::int64_t code_tracks(const std::int64_t* frame, const std::int64_t* track, std::size_t count, std::int32_t* code);

// What scipy.optimize.linear_sum_assignment answers: the column of each row, or -1. `cost` is n x m.
void assign_as_scipy(const double* cost, std::size_t n, std::size_t m, std::int64_t* column);

// An edge of a frame with what pairing it is worth, which is more than 0.
struct Edge {
  std::uint32_t row, column;
  double worth;
};

// Pairs the rows and columns of a frame so that the worth is largest; among several best answers, scipy's for a matrix
// that has the worths and 0 elsewhere. A frame falls into blocks that do not touch; most are decided by looking.
class FramePairing {
 public:
  // `partner[row]` is a column, or -1. `lift` is added to every worth: with a large one as many pairs as can be are
  // made.
  void solve(const std::vector<Edge>& edges, std::size_t rows, std::size_t columns, double lift, std::int64_t* partner);

 private:
  bool by_looking(const Edge* edges, std::size_t count, bool by_column, double near, std::int64_t* partner);
  bool block(const Edge* edges, std::size_t count, double lift, double near, std::int64_t* partner);
  void dense(const std::vector<Edge>& edges, std::size_t rows, std::size_t columns, double lift, std::int64_t* partner);

  std::vector<double> best_, second_, cost_;
  std::vector<std::int64_t> place_, taken_, column_;
  std::vector<std::pair<double, double>> best_row_, best_column_;  // the best and the next best worth
  std::vector<std::uint32_t> parent_;
  std::vector<std::size_t> starts_, ends_;
  std::vector<Edge> rest_, sorted_;
};

// The pairing of each frame by similarities that reach a half, before anything is taken out: `partner` of predictions.
void match_frames(const std::vector<Frame>& frames, const Overlap* overlaps, double lift, std::int64_t* partner);

struct Scores {
  double hota[kHota][kAlphas];      // TP, FN, FP, similarity of TP, then c^2 over g + t - c, g and t
  double losses[kLosses][kAlphas];  // what association loses: split, miss, merge, extra
  double clear[kClear];             // TP, FN, FP, similarity of TP, switches, fragments, MT, PT, ML
  double identity[kIdentity];       // IDTP, IDFN, IDFP
};

// How CLEAR goes on with a pair: the last frame that was walked (TrackEval), or the last match ever (py-motmetrics).
enum class Keeps : int { last_frame = 0, last_match = 1 };

// With `matched`, only the pairing is made: the prediction row of each truth row, or -1.
void score_hota(const std::vector<Frame>& frames, const Rows& truth, const Rows& prediction, const Overlap* overlaps,
                std::size_t count, Scores& out, std::int64_t* matched = nullptr);
// `partner` of truth rows (-1 without) and `event` (1: a switch, 2: the start of a fragment) may be null.
void score_clear(const std::vector<Frame>& frames, const Rows& truth, const Rows& prediction, const Overlap* overlaps,
                 double threshold, Keeps keeps, Scores& out, std::int64_t* partner, std::uint8_t* event);
void score_identity(const Rows& truth, const Rows& prediction, const Overlap* overlaps, std::size_t count,
                    double threshold, Scores& out);

}  // namespace steelyard::tracking
