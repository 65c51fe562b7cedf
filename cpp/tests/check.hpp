// A test program without a framework: CHECK counts, run_tests reports.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace labeltrees::tests {

struct TestCase {
  std::string name;
  std::function<void()> body;
};

std::vector<TestCase>& all_tests();
void fail(const char* expression, const char* file, int line);

struct Register {
  Register(std::string name, std::function<void()> body) {
    all_tests().push_back({std::move(name), std::move(body)});
  }
};

}  // namespace labeltrees::tests

#define TEST(name)                                                        \
  static void name();                                                     \
  static const labeltrees::tests::Register register_##name{#name, &name}; \
  static void name()
#define CHECK(expression) \
  ((expression) ? (void)0 : labeltrees::tests::fail(#expression, __FILE__, __LINE__))
#define CHECK_THROWS(expression, Error)                                                      \
  do {                                                                                       \
    bool thrown = false;                                                                     \
    try {                                                                                    \
      (void)(expression);                                                                    \
    } catch (const Error&) {                                                                 \
      thrown = true;                                                                         \
    }                                                                                        \
    if (!thrown) labeltrees::tests::fail(#expression " throws " #Error, __FILE__, __LINE__); \
  } while (false)
