// Similarity in windows: see similarity.hpp.
#include "images/similarity.hpp"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

namespace steelyard {
namespace {

constexpr std::size_t kPlanes = 4;  // x, y, x² + y², xy

// The row or column that stands at a place, which may lie outside; -1 for zeros.
std::ptrdiff_t source_place(std::ptrdiff_t at, std::size_t size, Edges edges) {
  const auto n = static_cast<std::ptrdiff_t>(size);
  if (at >= 0 && at < n) return at;
  if (edges == Edges::mirror) return at < 0 ? -at : 2 * (n - 1) - at;
  if (edges == Edges::replicate) return at < 0 ? 0 : n - 1;
  return -1;
}

// The four planes of a row of one channel, one after the other.
template <typename T, typename A>
void put_products(const T* x, const T* y, std::size_t width, std::size_t channels, A* out) {
  A *first = out, *second = out + width, *squares = out + 2 * width, *products = out + 3 * width;
  for (std::size_t j = 0; j < width; ++j) {
    const A a = static_cast<A>(x[j * channels]), b = static_cast<A>(y[j * channels]);
    first[j] = a;
    second[j] = b;
    squares[j] = a * a + b * b;
    products[j] = a * b;
  }
}

// Adds up equal distances from the middle first: half the products.
void weigh_rows(const double* const* rows, const double* taps, std::size_t n, std::size_t width,
                double* __restrict out) {
  if (n == 11) {
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3], *e = rows[4], *f = rows[5], *g = rows[6],
                 *h = rows[7], *i = rows[8], *k = rows[9], *l = rows[10];
    const double t0 = taps[0], t1 = taps[1], t2 = taps[2], t3 = taps[3], t4 = taps[4], t5 = taps[5];
    for (std::size_t j = 0; j < width; ++j) {
      out[j] = t5 * f[j] + t4 * (e[j] + g[j]) + t3 * (d[j] + h[j]) + t2 * (c[j] + i[j]) + t1 * (b[j] + k[j]) +
               t0 * (a[j] + l[j]);
    }
    return;
  }
  const std::size_t half = n / 2;
  if (n % 2) {
    for (std::size_t j = 0; j < width; ++j) out[j] = taps[half] * rows[half][j];
  } else {
    std::fill(out, out + width, 0.0);
  }
  for (std::size_t t = half; t-- > 0;) {
    const double *low = rows[t], *high = rows[n - 1 - t], w = taps[t];
    for (std::size_t j = 0; j < width; ++j) out[j] += w * (low[j] + high[j]);
  }
}

// A row of results from sums: the index and the contrast.
void put_index(const WindowJob& job, const double* product, const double* squares, const double* variance,
               const double* covariance, std::size_t width, double* __restrict index, double* __restrict cs) {
  const double c1 = job.c1, c2 = job.c2;
  if (job.index == Index::universal) {
    for (std::size_t j = 0; j < width; ++j) {
      const double a = product[j], b = squares[j], v = variance[j] + job.eps, c = covariance[j];
      double value = 1;
      if (job.eps > 0) {
        value = 4 * a * c / (b * v);
      } else if (v == 0 && b != 0) {
        value = 2 * a / b;
      } else if (v * b != 0) {
        value = 4 * c * a / (v * b);
      }
      index[j] = value;
      cs[j] = value;
    }
    return;
  }
  if (!job.contrast && !job.positive) {
    for (std::size_t j = 0; j < width; ++j) {
      index[j] = ((2 * product[j] + c1) * (2 * covariance[j] + c2)) / ((squares[j] + c1) * (variance[j] + c2));
    }
    return;
  }
  for (std::size_t j = 0; j < width; ++j) {
    const double ratio = (2 * covariance[j] + c2) / (variance[j] + c2);
    cs[j] = job.positive ? std::max(ratio, 0.0) : ratio;
    index[j] = (2 * product[j] + c1) / (squares[j] + c1) * cs[j];
  }
}

// In four lanes, so that the order of additions is the same everywhere.
double sum_of(const double* values, std::size_t n) {
  double lanes[4] = {0, 0, 0, 0};
  std::size_t j = 0;
  for (; j + 4 <= n; j += 4) {
    for (std::size_t l = 0; l < 4; ++l) lanes[l] += values[j + l];
  }
  for (; j < n; ++j) lanes[0] += values[j];
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Puts rows of results together.
class Results {
 public:
  Results(const WindowJob& job, double* map) : job_(job), map_(map), parts_(6 * job.columns()) {}

  double* part(std::size_t number) { return parts_.data() + number * job_.columns(); }

  // Places from `first` on in a row.
  void put_row(std::size_t row, std::size_t first, std::size_t width) {
    put_index(job_, part(0), part(1), part(2), part(3), width, part(4), part(5));
    index_ += sum_of(part(4), width);
    if (job_.contrast) contrast_ += sum_of(part(5), width);
    if (!map_) return;
    double* to = map_ + row * job_.columns() + first;
    const double share = 1.0 / static_cast<double>(job_.channels);
    for (std::size_t j = 0; j < width; ++j) to[j] += share * part(4)[j];
  }

  void finish(double* out) {
    const double n = static_cast<double>(job_.rows()) * static_cast<double>(job_.columns());
    out[0] = index_ / n;
    out[1] = contrast_ / n;
  }

 private:
  const WindowJob& job_;
  double* map_;
  std::vector<double> parts_;
  double index_ = 0, contrast_ = 0;
};

// A filtered row with what stands beyond its ends.
template <typename A>
void put_edges(const WindowJob& job, const A* from, A* to) {
  const std::size_t radius = job.edges == Edges::inner ? 0 : job.taps.size() / 2;
  std::copy(from, from + job.width, to + radius);
  for (std::size_t k = 1; k <= radius; ++k) {
    const auto before = source_place(-static_cast<std::ptrdiff_t>(k), job.width, job.edges);
    const auto after = source_place(static_cast<std::ptrdiff_t>(job.width + k) - 1, job.width, job.edges);
    to[radius - k] = before < 0 ? A{0} : from[before];
    to[radius + job.width + k - 1] = after < 0 ? A{0} : from[after];
  }
}

// The products of the columns of a strip, which may lie outside the picture.
template <typename T>
void put_strip(const WindowJob& job, const T* x, const T* y, std::ptrdiff_t first, std::size_t wide, double* out) {
  const auto width = static_cast<std::ptrdiff_t>(job.width), last = first + static_cast<std::ptrdiff_t>(wide);
  const std::ptrdiff_t low = std::max<std::ptrdiff_t>(first, 0), high = std::min(last, width);
  const auto step = static_cast<std::ptrdiff_t>(job.channels);
  double *firsts = out, *seconds = out + wide, *squares = out + 2 * wide, *products = out + 3 * wide;
  for (std::ptrdiff_t place = low; place < high; ++place) {
    const double a = static_cast<double>(x[place * step]), b = static_cast<double>(y[place * step]);
    const std::ptrdiff_t j = place - first;
    firsts[j] = a;
    seconds[j] = b;
    squares[j] = a * a + b * b;
    products[j] = a * b;
  }
  auto put = [&](std::ptrdiff_t place) {
    const std::ptrdiff_t source = source_place(place, job.width, job.edges), j = place - first;
    const double a = source < 0 ? 0 : static_cast<double>(x[source * step]);
    const double b = source < 0 ? 0 : static_cast<double>(y[source * step]);
    firsts[j] = a;
    seconds[j] = b;
    squares[j] = a * a + b * b;
    products[j] = a * b;
  };
  for (std::ptrdiff_t place = first; place < low; ++place) put(place);
  for (std::ptrdiff_t place = high; place < last; ++place) put(place);
}

constexpr std::size_t kStrip = 128;  // columns of results: the rows of a window stay in the nearest cache

template <typename T>
void weighed_channel(const WindowJob& job, const T* x, const T* y, double* out, double* map) {
  const std::size_t n = job.taps.size(), radius = job.edges == Edges::inner ? 0 : n / 2;
  std::vector<double> ring(n * kPlanes * (kStrip + n)), zeros(kPlanes * (kStrip + n), 0.0),
      filtered(kPlanes * (kStrip + n)), across(kPlanes * kStrip);
  std::vector<const double*> rows(n), shifted(n);
  Results results(job, map);
  for (std::size_t first = 0; first < job.columns(); first += kStrip) {
    const std::size_t columns = std::min(kStrip, job.columns() - first), wide = columns + n - 1, line = kPlanes * wide;
    const auto left = static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(radius);
    std::size_t ready = 0;  // rows of the picture that are in the ring, or were
    for (std::size_t i = 0; i < job.rows(); ++i) {
      const std::size_t last = std::min(job.height, i + n - radius);
      for (; ready < last; ++ready) {
        const std::size_t at = ready * job.width * job.channels;
        put_strip(job, x + at, y + at, left, wide, ring.data() + ready % n * line);
      }
      for (std::size_t k = 0; k < n; ++k) {
        const auto place = static_cast<std::ptrdiff_t>(i + k) - static_cast<std::ptrdiff_t>(radius);
        const auto row = source_place(place, job.height, job.edges);
        rows[k] = row < 0 ? zeros.data() : ring.data() + static_cast<std::size_t>(row) % n * line;
      }
      weigh_rows(rows.data(), job.taps.data(), n, line, filtered.data());
      for (std::size_t p = 0; p < kPlanes; ++p) {
        for (std::size_t k = 0; k < n; ++k) shifted[k] = filtered.data() + p * wide + k;
        weigh_rows(shifted.data(), job.taps.data(), n, columns, across.data() + p * columns);
      }
      const double *mx = across.data(), *my = mx + columns, *q = my + columns, *c = q + columns;
      double *product = results.part(0), *squares = results.part(1), *variance = results.part(2),
             *covariance = results.part(3);
      for (std::size_t j = 0; j < columns; ++j) {
        product[j] = mx[j] * my[j];
        squares[j] = mx[j] * mx[j] + my[j] * my[j];
        variance[j] = job.correction * (q[j] - squares[j]);
        covariance[j] = job.correction * (c[j] - product[j]);
      }
      results.put_row(i, first, columns);
    }
  }
  results.finish(out);
}

// Sums of n neighbours: those of 1, 2, 4 ... are added up as the bits of n say.
template <typename A>
void add_neighbours(A* from, std::size_t wide, std::size_t n, std::size_t columns, A* out) {
  std::fill(out, out + columns, A{0});
  std::size_t at = 0;
  for (std::size_t size = 1; size <= n; size *= 2) {
    if (n & size) {
      const A* part = from + at;
      for (std::size_t j = 0; j < columns; ++j) out[j] += part[j];
      at += size;
    }
    if (2 * size <= n) {
      const std::size_t length = wide + 1 - 2 * size;
      for (std::size_t j = 0; j < length; ++j) from[j] += from[j + size];
    }
  }
}

template <typename T, typename A>
void uniform_channel(const WindowJob& job, const T* x, const T* y, double* out, double* map) {
  const std::size_t n = job.taps.size(), width = job.width, line = kPlanes * width, columns = job.columns();
  const std::size_t radius = job.edges == Edges::inner ? 0 : n / 2, wide = width + 2 * radius;
  std::vector<A> sums(line, A{0}), row(line), padded(wide), across(kPlanes * columns);
  Results results(job, map);
  auto add = [&](std::ptrdiff_t place, bool enters) {
    const auto source = source_place(place, job.height, job.edges);
    if (source < 0) return;
    const std::size_t at = static_cast<std::size_t>(source) * width * job.channels;
    put_products(x + at, y + at, width, job.channels, row.data());
    if (enters) {
      for (std::size_t j = 0; j < line; ++j) sums[j] += row[j];
    } else {
      for (std::size_t j = 0; j < line; ++j) sums[j] -= row[j];
    }
  };
  const auto start = -static_cast<std::ptrdiff_t>(radius), length = static_cast<std::ptrdiff_t>(n);
  for (std::ptrdiff_t k = 0; k + 1 < length; ++k) add(start + k, true);
  const double count = static_cast<double>(n * n), share = 1.0 / (count * count), scale = job.correction * share;
  for (std::size_t i = 0; i < job.rows(); ++i) {
    const auto top = start + static_cast<std::ptrdiff_t>(i);
    add(top + length - 1, true);
    for (std::size_t p = 0; p < kPlanes; ++p) {
      put_edges(job, sums.data() + p * width, padded.data());
      add_neighbours(padded.data(), wide, n, columns, across.data() + p * columns);
    }
    const A *sx = across.data(), *sy = sx + columns, *q = sy + columns, *c = q + columns;
    double *product = results.part(0), *squares = results.part(1), *variance = results.part(2),
           *covariance = results.part(3);
    for (std::size_t j = 0; j < columns; ++j) {
      const double a = static_cast<double>(sx[j]), b = static_cast<double>(sy[j]), ab = a * b, both = a * a + b * b;
      product[j] = ab * share;
      squares[j] = both * share;
      variance[j] = (count * static_cast<double>(q[j]) - both) * scale;
      covariance[j] = (count * static_cast<double>(c[j]) - ab) * scale;
    }
    results.put_row(i, 0, columns);
    add(top, false);
  }
  results.finish(out);
}

}  // namespace

template <typename T>
void window_similarity(const WindowJob& job, const T* x, const T* y, double* out, double* map) {
  for (std::size_t c = 0; c < job.channels; ++c) {
    double* to = out + 2 * c;
    if constexpr (std::is_integral_v<T>) {
      if (job.uniform) {
        using A = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;
        uniform_channel<T, A>(job, x + c, y + c, to, map);
        continue;
      }
    }
    weighed_channel<T>(job, x + c, y + c, to, map);
  }
}

template <typename T>
void halve_picture(const T* from, std::size_t height, std::size_t width, std::size_t channels, double* to) {
  const std::size_t line = width * channels;
  for (std::size_t i = 0; i < height / 2; ++i) {
    const T *upper = from + 2 * i * line, *lower = upper + line;
    for (std::size_t j = 0; j < width / 2; ++j) {
      for (std::size_t c = 0; c < channels; ++c, ++to) {
        const std::size_t a = 2 * j * channels + c, b = a + channels;
        *to = 0.25 * ((static_cast<double>(upper[a]) + static_cast<double>(upper[b])) +
                      (static_cast<double>(lower[a]) + static_cast<double>(lower[b])));
      }
    }
  }
}

namespace {

// Sums over bytes one after the other, in forms that compilers turn into instructions for products of pairs and for
// distances of bytes. A block of 2^15 squares of at most 255² stays below 2^31.
void byte_errors(const std::uint8_t* x, const std::uint8_t* y, std::size_t size, std::int64_t* out) {
  constexpr std::size_t block = 1 << 15;
  for (std::size_t first = 0; first < size; first += block) {
    const std::size_t last = std::min(size, first + block);
    std::int32_t squares = 0;
    for (std::size_t i = first; i < last; ++i) {
      const auto d = static_cast<std::int16_t>(x[i] - y[i]);
      squares += d * d;
    }
    std::uint32_t sizes = 0;
    for (std::size_t i = first; i < last; ++i) sizes += static_cast<std::uint32_t>(std::abs(x[i] - y[i]));
    out[0] += squares;
    out[1] += sizes;
  }
}

}  // namespace

template <typename T>
void picture_errors(const T* x, const T* y, std::size_t pixels, std::size_t channels, std::int64_t* out) {
  std::fill(out, out + 2 * channels, 0);
  if constexpr (sizeof(T) == 1) {
    if (channels == 1) return byte_errors(x, y, pixels, out);
  }
  // Blocks whose sums of squares stay below 2^32 for bytes: 2^16 values of at most 255².
  using Sum = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>;
  using Wide = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;
  constexpr std::size_t block = 1 << 15;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t first = 0; first < pixels; first += block) {
      const std::size_t last = std::min(pixels, first + block);
      Sum squares = 0, sizes = 0;
      for (std::size_t i = first; i < last; ++i) {
        const Wide d = static_cast<Wide>(x[i * channels + c]) - static_cast<Wide>(y[i * channels + c]);
        squares += static_cast<Sum>(d * d);
        sizes += static_cast<Sum>(d < 0 ? -d : d);
      }
      out[2 * c] += static_cast<std::int64_t>(squares);
      out[2 * c + 1] += static_cast<std::int64_t>(sizes);
    }
  }
}

template void window_similarity(const WindowJob&, const std::uint8_t*, const std::uint8_t*, double*, double*);
template void window_similarity(const WindowJob&, const std::uint16_t*, const std::uint16_t*, double*, double*);
template void window_similarity(const WindowJob&, const double*, const double*, double*, double*);
template void halve_picture(const std::uint8_t*, std::size_t, std::size_t, std::size_t, double*);
template void halve_picture(const std::uint16_t*, std::size_t, std::size_t, std::size_t, double*);
template void halve_picture(const double*, std::size_t, std::size_t, std::size_t, double*);
template void picture_errors(const std::uint8_t*, const std::uint8_t*, std::size_t, std::size_t, std::int64_t*);
template void picture_errors(const std::uint16_t*, const std::uint16_t*, std::size_t, std::size_t, std::int64_t*);

}  // namespace steelyard
