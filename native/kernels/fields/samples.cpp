// The samples of a PNG: see samples.hpp.
#include "fields/samples.hpp"

#include <cstring>
#include <limits>
#include <vector>

namespace steelyard {
namespace {

enum RowFilter : std::uint8_t { kRowNone, kRowSub, kRowUp, kRowAverage, kRowPaeth };

inline std::uint8_t nearest_of_three(int a, int b, int c) {
  const int da = b > c ? b - c : c - b, db = a > c ? a - c : c - a, sum = a + b - 2 * c, dc = sum < 0 ? -sum : sum;
  const int other = db <= dc ? b : c;
  return static_cast<std::uint8_t>((da <= db) & (da <= dc) ? a : other);
}

// One row of n bytes from its filtered bytes and the row above; kStep bytes are a pixel.
template <std::size_t kStep>
void unfilter(std::uint8_t filter, const std::uint8_t* in, const std::uint8_t* above, std::uint8_t* out,
              std::size_t n) {
  if (filter == kRowNone) {
    std::memcpy(out, in, n);
  } else if (filter == kRowSub) {
    std::memcpy(out, in, kStep);
    for (std::size_t i = kStep; i < n; ++i) out[i] = static_cast<std::uint8_t>(in[i] + out[i - kStep]);
  } else if (filter == kRowUp) {
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(in[i] + above[i]);
  } else if (filter == kRowAverage) {
    for (std::size_t i = 0; i < kStep; ++i) out[i] = static_cast<std::uint8_t>(in[i] + above[i] / 2);
    for (std::size_t i = kStep; i < n; ++i) {
      out[i] = static_cast<std::uint8_t>(in[i] + (out[i - kStep] + above[i]) / 2);
    }
  } else {
    int left[kStep], corner[kStep];
    for (std::size_t c = 0; c < kStep; ++c) {
      left[c] = static_cast<std::uint8_t>(in[c] + above[c]);
      corner[c] = above[c];
      out[c] = static_cast<std::uint8_t>(left[c]);
    }
    for (std::size_t i = kStep; i < n; i += kStep) {
      for (std::size_t c = 0; c < kStep; ++c) {
        const int top = above[i + c];
        left[c] = static_cast<std::uint8_t>(in[i + c] + nearest_of_three(left[c], top, corner[c]));
        corner[c] = top;
        out[i + c] = static_cast<std::uint8_t>(left[c]);
      }
    }
  }
}

using Unfilter = void (*)(std::uint8_t, const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t);

Unfilter unfilter_of(std::size_t step) {
  switch (step) {
    case 1: return unfilter<1>;
    case 2: return unfilter<2>;
    case 3: return unfilter<3>;
    case 4: return unfilter<4>;
    case 6: return unfilter<6>;
    default: return unfilter<8>;
  }
}

// Calls body(row, bytes) for the bytes of each row.
template <typename Body>
PngFault for_rows(const PngHeader& header, const std::uint8_t* data, Body body) {
  const std::vector<std::uint8_t> parts = join_png_parts(header, data);
  Inflater inflater(parts.empty() ? data + header.at[0] : parts.data(), header.packed, Frame::zlib);
  const std::size_t step = header.channels * header.depth / 8, bytes = header.width * step;
  const Unfilter decode = unfilter_of(step);
  std::vector<std::uint8_t> above(bytes), row(bytes);
  for (std::size_t y = 0; y < header.height; ++y) {
    const std::uint8_t* line = inflater.take(1 + bytes);
    if (!line) return PngFault::data;
    if (line[0] > kRowPaeth) return PngFault::filter;
    decode(line[0], line + 1, above.data(), row.data(), bytes);
    body(y, static_cast<const std::uint8_t*>(row.data()));
    row.swap(above);
  }
  return inflater.finish() ? PngFault::none : PngFault::data;
}

inline std::uint16_t wide_sample(const std::uint8_t* p) { return static_cast<std::uint16_t>(p[0] << 8 | p[1]); }

}  // namespace

bool has_dense_samples(const PngHeader& header) {
  return header.fault.empty() && !header.interlaced && (header.depth == 8 || header.depth == 16);
}

PngFault png_samples(const PngHeader& header, const std::uint8_t* data, std::uint8_t* out) {
  const std::size_t n = header.width * header.channels;
  return for_rows(header, data, [=](std::size_t y, const std::uint8_t* row) { std::memcpy(out + y * n, row, n); });
}

PngFault png_samples(const PngHeader& header, const std::uint8_t* data, std::uint16_t* out) {
  const std::size_t n = header.width * header.channels;
  return for_rows(header, data, [=](std::size_t y, const std::uint8_t* row) {
    for (std::size_t i = 0; i < n; ++i) out[y * n + i] = wide_sample(row + 2 * i);
  });
}

PngFault png_grey(const PngHeader& header, const std::uint8_t* data, double scale, bool zero_is_missing, float* out) {
  const std::size_t n = header.width;
  const float missing = zero_is_missing ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  return for_rows(header, data, [=](std::size_t y, const std::uint8_t* row) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint16_t value = wide_sample(row + 2 * i);
      out[y * n + i] = value ? static_cast<float>(value / scale) : missing;
    }
  });
}

PngFault png_flow(const PngHeader& header, const std::uint8_t* data, float* out) {
  const std::size_t n = header.width;
  constexpr float missing = std::numeric_limits<float>::quiet_NaN();
  return for_rows(header, data, [=](std::size_t y, const std::uint8_t* row) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint8_t* p = row + 6 * i;
      const bool valid = p[4] | p[5];
      float* to = out + 2 * (y * n + i);
      to[0] = valid ? static_cast<float>(wide_sample(p) - 32768) * (1.0f / 64) : missing;
      to[1] = valid ? static_cast<float>(wide_sample(p + 2) - 32768) * (1.0f / 64) : missing;
    }
  });
}

}  // namespace steelyard
