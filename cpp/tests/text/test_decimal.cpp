// parse_decimal gives the nearest double, or reports that there is no number.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../check.hpp"
#include "labeltrees/text/decimal.hpp"

using namespace labeltrees;

namespace {

// The number that all of the text is; NaN if it is none.
double number(const std::string& text) {
  double value;
  const char* const end = text.data() + text.size();
  return parse_decimal(text.data(), end, value) == end ? value : std::nan("");
}

}  // namespace

TEST(decimals_by_hand) {
  CHECK(number("0.073495") == 0.073495 && number("-12") == -12 && number("+5.") == 5);
  CHECK(number(".5") == 0.5 && number("1e3") == 1000 && number("2.5E-2") == 0.025);
  CHECK(std::signbit(number("-0")) && number("-0") == 0);
  CHECK(number("9007199254740993") == 9007199254740992.0);  // 2^53 + 1 rounds to even
  CHECK(number("0.00000000000000000000000000000000000000000001") == 1e-44);
}

TEST(numbers_too_large_are_infinite_and_too_small_are_zero) {
  CHECK(std::isinf(number("1e999")) && std::isinf(number("-1e999999999999999999999")));
  CHECK(number("1e-999") == 0 && number("1e-999999999999999999999") == 0);
  CHECK(number("0." + std::string(400, '0') + "1e50") == 0);
  CHECK(number("0." + std::string(400, '0') + "1e401") == 1);
  CHECK(number(std::string(400, '0')) == 0 && std::isinf(number(std::string(400, '9'))));
  CHECK(number("5e-324") == 5e-324);
}

TEST(text_that_is_not_a_decimal_is_refused) {
  for (const char* text :
       {"", "-", ".", "e5", "nan", "inf", "0x10", "1e", "1e+", "1_0", "1,5", "--1"}) {
    CHECK(std::isnan(number(text)));
  }
}

TEST(random_decimals_agree_with_the_standard_library) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    char text[64];
    const double value =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 250);
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(random() % 21) + 1, value);
    CHECK(number(text) == std::strtod(text, nullptr));
  }
}
