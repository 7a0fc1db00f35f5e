// Rows of visual information fidelity: plain loops that compilers turn into vector code. See images/information.hpp.
#include <utility>

#include "images/information.hpp"
#include "wide/target.hpp"

namespace steelyard::STEELYARD_TARGET {
namespace {

// Equal distances from the middle are added up first: half the products.
template <std::size_t N, std::size_t... I>
void weigh(const double* const* rows, const double* weights, std::size_t width, double* STEELYARD_RESTRICT out,
           std::index_sequence<I...>) {
  constexpr std::size_t half = N / 2;
  const double* const middle = rows[half];
  const double *const low[] = {rows[half - 1 - I]...}, *const high[] = {rows[half + 1 + I]...};
  const double first = weights[half], others[] = {weights[half - 1 - I]...};
  for (std::size_t j = 0; j < width; ++j) {
    double sum = first * middle[j];
    ((sum += others[I] * (low[I][j] + high[I][j])), ...);
    out[j] = sum;
  }
}

template <std::size_t N, std::size_t... I>
void weigh_neighbours(const double* from, const double* weights, std::size_t width, double* STEELYARD_RESTRICT out,
                      std::index_sequence<I...>) {
  constexpr std::size_t half = N / 2;
  const double first = weights[half], others[] = {weights[half - 1 - I]...};
  for (std::size_t j = 0; j < width; ++j) {
    double sum = first * from[j + half];
    ((sum += others[I] * (from[j + half - 1 - I] + from[j + half + 1 + I])), ...);
    out[j] = sum;
  }
}

template <std::size_t N>
void filter(const FilterRow& job) {
  const std::make_index_sequence<N / 2> sides;
  weigh<N>(job.rows, job.weights, job.planes * job.wide, job.between, sides);
  const std::size_t columns = job.wide - N + 1;
  for (std::size_t p = 0; p < job.planes; ++p) {
    weigh_neighbours<N>(job.between + p * job.wide, job.weights, columns, job.out + p * columns, sides);
  }
}

}  // namespace

void filter_row(const FilterRow& job) {
  switch (job.taps) {
    case 3: return filter<3>(job);
    case 5: return filter<5>(job);
    case 9: return filter<9>(job);
    default: return filter<17>(job);
  }
}

void information_row(InformationRow& job) {
  constexpr std::size_t most = 16 * kInformationLanes;
  constexpr double noise = 2;
  const std::size_t columns = job.columns;
  const double eps = job.eps, *x = job.planes, *y = x + columns, *xx = y + columns, *yy = xx + columns,
               *xy = yy + columns;
  double carried[most], there[most];
  for (std::size_t j = 0; j < columns; ++j) {
    double of_x = xx[j] - x[j] * x[j], of_y = yy[j] - y[j] * y[j];
    of_x = of_x > 0 ? of_x : 0;
    of_y = of_y > 0 ? of_y : 0;
    const double covariance = xy[j] - x[j] * y[j];
    double gain = covariance / (of_x + eps);
    double rest = of_y - gain * covariance;
    const bool flat = of_x < eps, plain = of_y < eps;
    gain = flat ? 0 : gain;
    rest = flat ? of_y : rest;
    of_x = flat ? 0 : of_x;
    gain = plain ? 0 : gain;
    rest = plain ? 0 : rest;
    rest = gain < 0 ? of_y : rest;
    gain = gain < 0 ? 0 : gain;
    rest = rest > eps ? rest : eps;
    carried[j] = 1 + gain * gain * of_x / (rest + noise);
    there[j] = 1 + of_x / noise;
  }
  for (std::size_t j = columns; j < most; ++j) carried[j] = there[j] = 1;
  for (std::size_t l = 0; l < kInformationLanes; ++l) job.carried[l] = job.there[l] = 1;
  for (std::size_t j = 0; j < most; j += kInformationLanes) {
    for (std::size_t l = 0; l < kInformationLanes; ++l) {
      job.carried[l] *= carried[j + l];
      job.there[l] *= there[j + l];
    }
  }
}

}  // namespace steelyard::STEELYARD_TARGET
