#include "rankings/id_columns.hpp"

#include <vector>

#include "support/checks.hpp"

namespace steelyard {

std::size_t find_ids(View<std::uint8_t> text, View<std::int64_t> offsets, std::uint64_t* place, std::uint64_t* key) {
  const std::size_t n = offsets.size() - 1, bytes = text.size();
  const char* data = reinterpret_cast<const char*>(text.data());
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t begin = offsets[i], end = offsets[i + 1];
    require(0 <= begin && begin <= end && static_cast<std::uint64_t>(end) <= bytes,
            "the offsets must rise and stay inside the text");
    while (begin < end && is_blank(data[begin])) ++begin;
    while (begin < end && is_blank(data[end - 1])) --end;
    const auto size = static_cast<std::size_t>(end - begin);
    if (size == 0 || size > kLongestId) return i;
    place[i] = make_place(static_cast<std::size_t>(begin), size);
    key[i] = text_key(data + begin, size);
  }
  return n;
}

Texts make_texts(View<std::uint8_t> text, View<std::uint64_t> place, View<std::uint64_t> key) {
  require(place.size() == key.size(), "one key is expected for each id");
  require(inside(place.data(), place.size(), text.size()), "an id lies outside the text");
  return {reinterpret_cast<const char*>(text.data()), place.data(), key.data()};
}

void text_runs(const Texts& texts, std::size_t n, Buffer<std::int64_t>& rows) {
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || texts.key[i] != texts.key[i - 1] || texts[i] != texts[i - 1]) {
      rows.push(static_cast<std::int64_t>(i));
    }
  }
}

void text_codes(const Texts& texts, std::size_t n, std::int64_t* code, Buffer<std::int64_t>& first) {
  std::vector<std::int64_t> table(64, -1);
  for (std::size_t i = 0; i < n; ++i) {
    if (2 * first.size() >= table.size()) {
      table.assign(4 * table.size(), -1);
      for (std::size_t c = 0; c < first.size(); ++c) {
        std::size_t slot = texts.key[static_cast<std::size_t>(first[c])] & (table.size() - 1);
        while (table[slot] >= 0) slot = (slot + 1) & (table.size() - 1);
        table[slot] = static_cast<std::int64_t>(c);
      }
    }
    std::size_t slot = texts.key[i] & (table.size() - 1);
    while (table[slot] >= 0) {
      const auto row = static_cast<std::size_t>(first[static_cast<std::size_t>(table[slot])]);
      if (texts.key[row] == texts.key[i] && texts[row] == texts[i]) break;
      slot = (slot + 1) & (table.size() - 1);
    }
    if (table[slot] < 0) {
      table[slot] = static_cast<std::int64_t>(first.size());
      first.push(static_cast<std::int64_t>(i));
    }
    code[i] = table[slot];
  }
}

}  // namespace steelyard
