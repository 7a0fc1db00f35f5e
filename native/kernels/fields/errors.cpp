// Errors of disparity and flow: see errors.hpp.
#include "fields/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace steelyard {
namespace {

constexpr std::size_t kBlock = 1024, kLanes = 4;
constexpr double kMostLength = 1e9;  // of a value: larger ones stand for "none"

template <typename T>
inline bool is_value(T value) {
  return std::abs(value) <= static_cast<T>(kMostLength);  // false for nan
}

template <std::size_t kChannels, typename T>
inline bool is_pixel(const T* p) {
  bool all = is_value(p[0]);
  if constexpr (kChannels == 2) all &= is_value(p[1]);
  return all;
}

template <std::size_t kChannels, typename T>
inline double length_of(const T* p) {
  if constexpr (kChannels == 1) return std::abs(static_cast<double>(p[0]));
  const double u = p[0], v = p[1];
  return std::sqrt(u * u + v * v);
}

template <std::size_t kChannels, typename T>
inline double distance(const T* a, const T* b) {
  const double u = static_cast<double>(b[0]) - a[0];
  if constexpr (kChannels == 1) return std::abs(u);
  const double v = static_cast<double>(b[kChannels - 1]) - a[kChannels - 1];
  return std::sqrt(u * u + v * v);
}

// The angle between (u, v, 1) of both, in radians.
template <typename T>
inline double angle_between(const T* a, const T* b) {
  const double u = a[0], v = a[1], x = b[0], y = b[1];
  const double cx = v - y, cy = x - u, cz = u * y - v * x;
  return std::atan2(std::sqrt(cx * cx + cy * cy + cz * cz), u * x + v * y + 1.0);
}

// KITTI's outliers: single precision, and the ratio against a double.
template <std::size_t kChannels, typename T>
inline bool is_kitti_outlier(const T* a, const T* b) {
  const float u = static_cast<float>(b[0]) - static_cast<float>(a[0]);
  float error = std::abs(u), length = std::abs(static_cast<float>(a[0]));
  if constexpr (kChannels == 2) {
    const float v = static_cast<float>(b[1]) - static_cast<float>(a[1]);
    const float tu = static_cast<float>(a[0]), tv = static_cast<float>(a[1]);
    error = std::sqrt(u * u + v * v);
    length = std::sqrt(tu * tu + tv * tv);
  }
  return error > 3.0f && static_cast<double>(error / length) > 0.05;
}

// The weight of an error in WAUC: see docs/flow.md. Thresholds are i / 20, compared as such.
inline double wauc_weight(double error) {
  const double capped = std::min(error, 6.0);
  double k = std::max(1.0, std::ceil(capped * 20.0));
  k -= (k > 1.0) & (capped <= (k - 1.0) / 20.0) ? 1.0 : 0.0;
  k += capped > k / 20.0 ? 1.0 : 0.0;
  const double r = k <= 100.0 ? 101.0 - k : 0.0;
  return r * (r + 1.0) / 10100.0;
}

// Pixels of a block that have a truth, one behind the other; what has no estimate is 0 in all but `speed`.
struct Block {
  std::size_t count = 0;
  std::uint32_t at[kBlock];
  double speed[kBlock], found[kBlock], error[kBlock], outlier[kBlock], kitti[kBlock], weight[kBlock], angle[kBlock],
      member[kBlock];
};

// The sum of a[i] * b[i], in four lanes.
inline double dot(const double* a, const double* b, std::size_t n) {
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lane[l] += a[i + l] * b[i + l];
  }
  for (; i < n; ++i) lane[i % kLanes] += a[i] * b[i];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

inline double dot_squared(const double* a, const double* b, std::size_t n) {
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lane[l] += a[i + l] * (b[i + l] * b[i + l]);
  }
  for (; i < n; ++i) lane[i % kLanes] += a[i] * (b[i] * b[i]);
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

inline double sum_of(const double* a, std::size_t n) {
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lane[l] += a[i + l];
  }
  for (; i < n; ++i) lane[i % kLanes] += a[i];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

template <std::size_t kChannels, bool kSeveral, typename T>
void measure_block(const T* truth, const T* found, std::size_t n, std::size_t several, const FieldRequest& request,
                   Block& block) {
  block.count = 0;
  const std::size_t stride = kSeveral ? several * kChannels : kChannels;
  for (std::size_t i = 0; i < n; ++i) {
    const T* p = truth + i * stride;
    bool valid = is_pixel<kChannels>(p);
    if constexpr (kSeveral) {
      for (std::size_t k = 1; k < several; ++k) valid &= is_pixel<kChannels>(p + k * kChannels);
    }
    block.at[block.count] = static_cast<std::uint32_t>(i);
    block.count += valid;
  }
  for (std::size_t j = 0; j < block.count; ++j) {
    const std::size_t i = block.at[j];
    const T *p = truth + i * stride, *q = found + i * kChannels;
    const bool is_found = is_pixel<kChannels>(q);
    double length = length_of<kChannels>(p), speed = length, error = distance<kChannels>(p, q);
    if constexpr (kSeveral) {
      for (std::size_t k = 1; k < several; ++k) {
        const double other = length_of<kChannels>(p + k * kChannels);
        error = std::min(error, distance<kChannels>(p + k * kChannels, q));
        length = std::max(length, other);
        speed += other;
      }
      speed /= static_cast<double>(several);
    }
    block.speed[j] = speed;
    block.found[j] = is_found ? 1.0 : 0.0;
    block.error[j] = is_found ? error : 0.0;
    block.outlier[j] = is_found & (error > 3.0) & (error > 0.05 * length) ? 1.0 : 0.0;
  }
  if (request.wauc) {
    for (std::size_t j = 0; j < block.count; ++j) block.weight[j] = block.found[j] * wauc_weight(block.error[j]);
  }
  if (request.kitti) {
    for (std::size_t j = 0; j < block.count; ++j) {
      const std::size_t i = block.at[j];
      block.kitti[j] =
          block.found[j] > 0 && is_kitti_outlier<kChannels>(truth + i * stride, found + i * kChannels) ? 1.0 : 0.0;
    }
  }
  if constexpr (kChannels == 2) {
    if (request.angles) {
      for (std::size_t j = 0; j < block.count; ++j) {
        const std::size_t i = block.at[j];
        block.angle[j] = block.found[j] > 0 ? angle_between(truth + i * stride, found + i * kChannels) : 0.0;
      }
    }
  }
}

void add_group(const FieldGroup& group, const FieldRequest& request, const std::uint32_t* bits, Block& block,
               double* sums) {
  const std::size_t n = block.count;
  const bool every = group.low <= 0 && group.high == std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < n; ++j) {
    const bool inside = group.region < 0 || (bits[block.at[j]] >> group.region & 1);
    const bool fits = every | ((block.speed[j] >= group.low) & (block.speed[j] < group.high));
    block.member[j] = inside & fits ? 1.0 : 0.0;
  }
  sums[0] += sum_of(block.member, n);
  sums[1] += dot(block.member, block.found, n);
  sums[2] += dot(block.member, block.error, n);
  sums[3] += dot_squared(block.member, block.error, n);
  if (request.wauc) sums[4] += dot(block.member, block.weight, n);
  if (request.angles) sums[5] += dot(block.member, block.angle, n);
  sums[6] += dot(block.member, block.outlier, n);
  if (request.kitti) sums[7] += dot(block.member, block.kitti, n);
  for (std::size_t t = 0; t < request.thresholds.size(); ++t) {
    const double limit = request.thresholds[t];
    double count = 0;
    for (std::size_t j = 0; j < n; ++j) count += (block.error[j] > limit) ? block.member[j] : 0.0;
    sums[kFieldColumns + t] += count;
  }
}

template <std::size_t kChannels, bool kSeveral, typename T>
void measure_all(const T* truth, const T* found, const std::uint32_t* bits, std::size_t n, std::size_t several,
                 const FieldRequest& request, double* sums, double* errors) {
  const std::size_t columns = kFieldColumns + request.thresholds.size();
  const std::size_t stride = kSeveral ? several * kChannels : kChannels;
  std::fill(sums, sums + request.groups.size() * columns, 0.0);
  if (errors) std::fill(errors, errors + n, std::numeric_limits<double>::quiet_NaN());
  std::vector<Block> room(1);
  Block& block = room[0];
  std::fill(block.angle, block.angle + kBlock, 0.0);
  for (std::size_t start = 0; start < n; start += kBlock) {
    measure_block<kChannels, kSeveral>(truth + start * stride, found + start * kChannels, std::min(kBlock, n - start),
                                       several, request, block);
    for (std::size_t g = 0; g < request.groups.size(); ++g) {
      add_group(request.groups[g], request, bits ? bits + start : nullptr, block, sums + g * columns);
    }
    for (std::size_t j = 0; errors && j < block.count; ++j) {
      if (block.found[j] > 0) errors[start + block.at[j]] = block.error[j];
    }
  }
}

}  // namespace

template <typename T>
void field_errors(const T* truth, const T* found, const std::uint32_t* bits, std::size_t n, std::size_t channels,
                  std::size_t several, const FieldRequest& request, double* sums, double* errors) {
  if (channels == 1 && several == 1) measure_all<1, false>(truth, found, bits, n, several, request, sums, errors);
  if (channels == 1 && several > 1) measure_all<1, true>(truth, found, bits, n, several, request, sums, errors);
  if (channels == 2 && several == 1) measure_all<2, false>(truth, found, bits, n, several, request, sums, errors);
  if (channels == 2 && several > 1) measure_all<2, true>(truth, found, bits, n, several, request, sums, errors);
}

template <typename T>
void fill_rows(T* values, std::size_t height, std::size_t width, std::size_t channels, T rest) {
  auto at = [&](std::size_t y, std::size_t x) { return values + (y * width + x) * channels; };
  auto is_set = [&](const T* p) { return std::all_of(p, p + channels, [](T v) { return is_value(v); }); };
  std::vector<char> full(height, 0);
  for (std::size_t y = 0; y < height; ++y) {
    std::size_t x = 0;
    while (x < width && !is_set(at(y, x))) ++x;
    if (x == width) continue;
    full[y] = 1;
    for (std::size_t i = 0; i < x; ++i) std::copy_n(at(y, x), channels, at(y, i));
    while (x < width) {
      std::size_t next = x + 1;
      while (next < width && !is_set(at(y, next))) ++next;
      for (std::size_t i = x + 1; i < next; ++i) {
        for (std::size_t c = 0; c < channels; ++c) {
          at(y, i)[c] = next < width ? std::min(at(y, x)[c], at(y, next)[c]) : at(y, x)[c];
        }
      }
      x = next;
    }
  }
  const auto first = std::find(full.begin(), full.end(), 1);
  const std::size_t top = static_cast<std::size_t>(first - full.begin());
  std::size_t bottom = height;
  while (bottom > 0 && !full[bottom - 1]) --bottom;
  for (std::size_t y = 0; y < height; ++y) {
    if (full[y]) continue;
    if (first == full.end() || (y > top && y < bottom)) {
      std::fill_n(at(y, 0), width * channels, rest);
    } else {
      std::copy_n(at(y < top ? top : bottom - 1, 0), width * channels, at(y, 0));
    }
  }
}

template void field_errors<float>(const float*, const float*, const std::uint32_t*, std::size_t, std::size_t,
                                  std::size_t, const FieldRequest&, double*, double*);
template void field_errors<double>(const double*, const double*, const std::uint32_t*, std::size_t, std::size_t,
                                   std::size_t, const FieldRequest&, double*, double*);
template void fill_rows<float>(float*, std::size_t, std::size_t, std::size_t, float);
template void fill_rows<double>(double*, std::size_t, std::size_t, std::size_t, double);

}  // namespace steelyard
