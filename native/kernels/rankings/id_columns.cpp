#include "rankings/id_columns.hpp"

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

}  // namespace steelyard
