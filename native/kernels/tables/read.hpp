// What trees and grids share: cells by the rules of a reading, and numbers for distinct texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tables/html.hpp"
#include "tables/tables.hpp"

namespace steelyard::tables {

using Symbols = std::vector<std::uint32_t>;

struct SymbolsHash {
  std::size_t operator()(const Symbols& symbols) const {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (std::uint32_t s : symbols) hash = (hash ^ s) * 0x100000001B3u;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

// Distinct rows of symbols, one after the other, with a number for each.
class Distinct {
 public:
  std::uint32_t number(const Symbols& symbols);
  std::size_t size() const { return end.size(); }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(end[i]) - begin(i); }
  std::size_t begin(std::size_t i) const { return i ? static_cast<std::size_t>(end[i - 1]) : 0; }
  View<std::uint32_t> row(std::size_t i) const { return View<std::uint32_t>(symbol).subspan(begin(i), length(i)); }

  std::vector<std::uint32_t> symbol;
  std::vector<std::int64_t> end;

 private:
  std::unordered_map<Symbols, std::uint32_t, SymbolsHash> numbers_;
};

// A tag as a token: behind all code points, `<b>` and `</b>`.
constexpr std::uint32_t kFirstToken = 0x110000;
inline std::uint32_t tag_token(std::uint32_t tag, bool closing) { return kFirstToken + 2 * tag + closing; }

bool is_white(std::uint32_t point);

// The cells of a table by the clean rules; `texts` fills their texts, with tags as tokens where `tokens` says so.
Cells clean_cells(const Document& document, const Names& names, std::int32_t table, bool tokens);

// The cells of all rows of a document as the published code of GriTS reads them.
Cells published_cells(const Document& document);

// The cell that covers each place of the grid, -1 where none does. The last one counts where there are several.
std::vector<std::int32_t> cover(const Cells& cells);

}  // namespace steelyard::tables
