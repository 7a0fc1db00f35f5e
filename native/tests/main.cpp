// Runs every test, and says which set of instructions was chosen.
#include <cstdio>
#include <exception>

#include "check.hpp"
#include "wide/wide.hpp"

int main() {
  using namespace steelyard::tests;
  for (const Test& test : all()) {
    const int before = failures();
    try {
      test.run();
    } catch (const std::exception& error) {
      fail(test.name, 0, std::string("throws ") + error.what());
    }
    if (failures() > before) std::fprintf(stderr, "FAILED %s\n", test.name);
  }
  std::printf("%zu tests, %d failures, %s\n", all().size(), failures(), steelyard::wide_kernels().name);
  return failures() > 0 || all().empty();
}
