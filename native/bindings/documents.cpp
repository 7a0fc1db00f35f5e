// Matching of the blocks of pages with the pieces of replies, for Python.
#include <cmath>
#include <vector>

#include "arrays.hpp"
#include "documents/runs.hpp"
#include "support/pool.hpp"

namespace steelyard::documents_binding {
namespace {

using Points = In1<std::uint32_t>;
using Ends = In1<std::int64_t>;

constexpr std::size_t kMostGroups = std::size_t{1} << 23;
constexpr std::size_t kLongest = std::size_t{1} << 20;

documents::Texts texts_of(const Points& symbols, const Ends& ends, const Points& glue) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < ends.shape(0); ++i) {
    const std::int64_t end = ends.data()[i];
    require(end >= last && end <= static_cast<std::int64_t>(symbols.shape(0)), "the ends of the texts must rise");
    require(static_cast<std::size_t>(end - last) <= kLongest, "a text has more than 1,048,576 symbols");
    last = end;
  }
  require(static_cast<std::size_t>(last) == symbols.shape(0), "the last text must end with the symbols");
  require(glue.shape(0) == ends.shape(0), "there must be a glue for each text");
  return {view(symbols), view(ends), view(glue)};
}

void check_pages(const Ends& pages, std::size_t texts) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < pages.shape(0); ++i) {
    require(pages.data()[i] >= last, "the ends of the pages must rise");
    last = pages.data()[i];
  }
  require(static_cast<std::size_t>(last) == texts, "the last page must end with the texts");
}

Out<std::int64_t> match_runs(Points blocks, Ends block_ends, Points block_glue, Ends block_pages, Points pieces,
                             Ends piece_ends, Points piece_glue, Ends piece_pages, double stretch, double slack,
                             double share, long threads) {
  const documents::Texts left = texts_of(blocks, block_ends, block_glue);
  const documents::Texts right = texts_of(pieces, piece_ends, piece_glue);
  check_pages(block_pages, block_ends.shape(0));
  check_pages(piece_pages, piece_ends.shape(0));
  require(block_pages.shape(0) == piece_pages.shape(0), "both sides must have the same pages");
  require(std::isfinite(stretch) && std::isfinite(slack) && std::isfinite(share), "limits must be finite");
  require(stretch >= 1 && stretch <= 16 && slack >= 0 && slack <= 4096 && share >= 0 && share <= 1,
          "limits are out of range");
  const documents::RunLimits limits{stretch, slack, share};
  const std::size_t pages = block_pages.shape(0);
  const auto from = [](const Ends& ends, std::size_t page) {
    return page ? static_cast<std::size_t>(ends.data()[page - 1]) : 0;
  };
  for (std::size_t page = 0; page < pages; ++page) {
    const std::size_t m = static_cast<std::size_t>(block_pages.data()[page]) - from(block_pages, page);
    const std::size_t n = static_cast<std::size_t>(piece_pages.data()[page]) - from(piece_pages, page);
    require(n == 0 || m <= kMostGroups / n, "a page has more than 8,388,608 pairs of blocks and pieces");
  }
  std::vector<std::vector<documents::Match>> found(pages);
  std::size_t total = 0;
  {
    nb::gil_scoped_release release;
    parallel_for(pages, thread_count(threads), [&](std::size_t page) {
      documents::match_runs(left, from(block_pages, page), static_cast<std::size_t>(block_pages.data()[page]), right,
                            from(piece_pages, page), static_cast<std::size_t>(piece_pages.data()[page]), limits,
                            found[page]);
    });
    for (const auto& matches : found) total += matches.size();
  }
  std::int64_t* out;
  auto result = make_raw<std::int64_t>({total, std::size_t{6}}, out);
  for (const auto& matches : found) {
    for (const documents::Match& m : matches) {
      for (std::int64_t value : {m.first_block, m.last_block, m.first_piece, m.last_piece, m.edits, m.longer}) {
        *out++ = value;
      }
    }
  }
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("match_runs", &match_runs, nb::arg("blocks").noconvert(), nb::arg("block_ends").noconvert(),
        nb::arg("block_glue").noconvert(), nb::arg("block_pages").noconvert(), nb::arg("pieces").noconvert(),
        nb::arg("piece_ends").noconvert(), nb::arg("piece_glue").noconvert(), nb::arg("piece_pages").noconvert(),
        nb::arg("stretch"), nb::arg("slack"), nb::arg("share"), nb::arg("threads") = 0,
        "Disjoint matches of runs of blocks and runs of pieces on each page: first and last block, first and last "
        "piece, edits, and the longer length.");
}

}  // namespace steelyard::documents_binding
