// Bindings of packed files: PNG pictures of labels, and gzip. Checks, arrays and the interpreter's lock.
#include <algorithm>
#include <tuple>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "maps/pairs.hpp"
#include "maps/png_file.hpp"
#include "maps/png_pixels.hpp"

namespace steelyard::packed_binding {
namespace {

constexpr std::size_t kMostPixels = std::size_t{1} << 28;
using AnyResult = Result<nb::ndarray<nb::numpy, nb::c_contig>>;  // of whole numbers as wide as they need

const std::uint8_t* bytes_of(const nb::bytes& data) { return reinterpret_cast<const std::uint8_t*>(data.c_str()); }

void require_no_fault(PngFault fault) {
  require(fault != PngFault::data, "the data are not those of the picture");
  require(fault != PngFault::filter, "a row has a filter that does not exist");
  require(fault != PngFault::alpha, "a pixel is transparent");
}

// A PNG in memory whose chunks have been looked at.
class PngFile {
 public:
  explicit PngFile(nb::bytes data) : data_(data), header_(read_png_header(bytes_of(data), data.size())) {}

  const PngHeader& header() const { return header_; }
  PngReader reader() const { return PngReader(header_, bytes_of(data_)); }

  void require_readable() const {
    require(header_.fault.empty() && header_.plain, "the file is not one that is read here");
    require(header_.height > 0 && header_.width > 0 && header_.height <= kMostPixels / header_.width,
            "the size is out of range");
  }

  AnyResult map() const {
    require_readable();
    if (header_.channels > 1) return filled<std::uint32_t>();
    return header_.depth == 16 ? filled<std::uint16_t>() : filled<std::uint8_t>();
  }

  // The bytes of all rows, whatever they mean.
  Out<std::uint8_t> rows() const {
    require(header_.fault.empty() && !interlaced(), "the file is not one that is read here");
    require(header_.height > 0 && header_.width > 0 && header_.height <= kMostPixels / header_.width,
            "the size is out of range");
    std::uint8_t* out;
    auto result = make_raw<std::uint8_t>({header_.height, png_row_bytes(header_)}, out);
    PngFault fault;
    {
      nb::gil_scoped_release release;
      fault = read_png_rows(header_, bytes_of(data_), out);
    }
    require_no_fault(fault);
    return result;
  }

  bool interlaced() const { return header_.interlaced; }

 private:
  template <typename T>
  nb::object filled() const {
    T* out;
    auto result = make_raw<T>({header_.height, header_.width}, out);
    PngFault fault = PngFault::none;
    {
      nb::gil_scoped_release release;
      PngReader reader = this->reader();
      for (std::size_t y = 0; y < header_.height; ++y, out += header_.width) {
        fault = reader.next();
        if (fault != PngFault::none) break;
        std::size_t x = 0;
        for (const PixelRun& run : reader.runs()) {
          std::fill(out + x, out + run.end, static_cast<T>(run.value));
          x = run.end;
        }
      }
      if (fault == PngFault::none) fault = reader.finish();
    }
    require_no_fault(fault);
    return nb::cast(result);
  }

  nb::bytes data_;
  PngHeader header_;
};

// Row by row, so that neither picture is ever whole in memory.
auto png_cells(const PngFile& a, const PngFile& b) {
  a.require_readable();
  b.require_readable();
  const std::size_t height = a.header().height;
  require(b.header().height == height && b.header().width == a.header().width, "the pictures are of different sizes");
  MapCells cells;
  PngFault fault = PngFault::none;
  {
    nb::gil_scoped_release release;
    PngReader first = a.reader(), second = b.reader();
    PairCounter counter;
    for (std::size_t y = 0; y < height && fault == PngFault::none; ++y) {
      fault = first.next();
      if (fault == PngFault::none) fault = second.next();
      if (fault == PngFault::none) count_runs(first.runs(), second.runs(), counter);
    }
    if (fault == PngFault::none) fault = first.finish();
    if (fault == PngFault::none) fault = second.finish();
    counter.into(cells);
  }
  require_no_fault(fault);
  return std::make_tuple(array_of(cells.a), array_of(cells.b), array_of(cells.count));
}

Out<std::uint8_t> gunzip(nb::bytes data, std::size_t most) {
  Buffer<std::uint8_t> all;
  bool whole = true;
  {
    nb::gil_scoped_release release;
    Inflater inflater(bytes_of(data), data.size(), Frame::gzip);
    for (std::size_t size = 1; size && whole;) {
      const std::uint8_t* piece = inflater.take_some(size);
      whole = size <= most - all.size();
      if (whole && size) all.append(piece, size);
    }
    whole = whole && inflater.finish();
  }
  require(whole, "the data are damaged, or more than are wanted");
  return release(all);
}

}  // namespace

void bind(nb::module_& m) {
  nb::class_<PngFile>(m, "PngFile", "A PNG in memory: what its chunks say, and its pixels.")
      .def(nb::init<nb::bytes>(), nb::arg("data"))
      .def_prop_ro(
          "fault", [](const PngFile& f) { return f.header().fault; }, "What is wrong with its chunks, or ''.")
      .def_prop_ro("height", [](const PngFile& f) { return f.header().height; })
      .def_prop_ro("width", [](const PngFile& f) { return f.header().width; })
      .def_prop_ro("channels", [](const PngFile& f) { return f.header().channels; })
      .def_prop_ro(
          "plain", [](const PngFile& f) { return f.header().plain; }, "Whether its pixels are read here.")
      .def_prop_ro("depth", [](const PngFile& f) { return f.header().depth; })
      .def_prop_ro("interlaced", &PngFile::interlaced)
      .def("rows", &PngFile::rows, "The bytes of all rows, as they are packed in the file.")
      .def("map", &PngFile::map, "All pixels: whole numbers, colours as r + 256 g + 65536 b.");
  m.def("png_cells", &png_cells, nb::arg("a"), nb::arg("b"), "As `map_cells` of the pixels of two files.");
  m.def("gunzip", &gunzip, nb::arg("data"), nb::arg("most"),
        "The bytes of a gzip file, of which there are at most `most`.");
}

}  // namespace steelyard::packed_binding
