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

// With an argument, runs the tests that have it in their names.
int main(int n_arguments, char** arguments) {
  using namespace labeltrees::tests;
  const std::string part = n_arguments > 1 ? arguments[1] : "";
  int total = 0, failed = 0;
  for (const TestCase& test : all_tests()) {
    if (test.name.find(part) == std::string::npos) continue;
    ++total;
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
  std::printf("core: %d passed, %d failed\n", total - failed, failed);
  return failed == 0 && total > 0 ? 0 : 1;
}
