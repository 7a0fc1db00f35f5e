// A small frame for tests: TEST(name) { CHECK(...); EQUAL(a, b); THROWS(...); }. Expected values are calculated by
// hand.
#pragma once

#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace steelyard::tests {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all() {
  static std::vector<Test> tests;
  return tests;
}
inline int& failures() {
  static int count = 0;
  return count;
}
struct Added {
  Added(const char* name, void (*run)()) { all().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  ++failures();
}

template <typename A, typename B>
void equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (a == b) return;
  std::ostringstream out;
  out.precision(17);
  out << text << ": " << a << " and not " << b;
  fail(file, line, out.str());
}

template <typename Call>
void throws(const char* file, int line, const char* text, Call call) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return;
  }
  fail(file, line, std::string(text) + " does not throw");
}

}  // namespace steelyard::tests

#define TEST(name)                                                       \
  static void test_##name();                                             \
  static const steelyard::tests::Added added_##name(#name, test_##name); \
  static void test_##name()
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) steelyard::tests::fail(__FILE__, __LINE__, #condition); \
  } while (false)
#define EQUAL(a, b) steelyard::tests::equal(__FILE__, __LINE__, #a, a, b)
#define THROWS(...) steelyard::tests::throws(__FILE__, __LINE__, #__VA_ARGS__, [&] { __VA_ARGS__; })
