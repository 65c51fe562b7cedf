#include <chrono>
#include <cstdio>
#include <exception>

#include "check.hpp"

namespace labeltrees::tests {

namespace {
int failures_in_test = 0;
}

constexpr double slow_seconds = 3;  // a test that takes longer is named

std::vector<TestCase>& all_tests() {
  static std::vector<TestCase> tests;
  return tests;
}

void fail(const char* expression, const char* file, int line) {
  ++failures_in_test;
  std::printf("%s:%d: not so: %s\n", file, line, expression);
}

}  // namespace labeltrees::tests

int main() {
  using namespace labeltrees::tests;
  int failed = 0;
  for (const TestCase& test : all_tests()) {
    failures_in_test = 0;
    const auto started = std::chrono::steady_clock::now();
    try {
      test.body();
    } catch (const std::exception& error) {
      fail(error.what(), test.name.c_str(), 0);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    if (took.count() > slow_seconds) std::printf("%5.1f s %s\n", took.count(), test.name.c_str());
    if (failures_in_test > 0) {
      ++failed;
      std::printf("FAILED %s\n", test.name.c_str());
    }
  }
  const int total = static_cast<int>(all_tests().size());
  std::printf("core: %d passed, %d failed\n", total - failed, failed);
  return failed == 0 && total > 0 ? 0 : 1;
}
