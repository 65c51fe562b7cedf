// Against the C library in long double, where that has at least 64 bits, over dense grids; then the
// ends of the range, and that functions do not fall where they change from one piece to the next.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../check.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/hash.hpp"

using namespace labeltrees;

namespace {

constexpr bool has_more_digits = std::numeric_limits<long double>::digits >= 64;

// How far `got` is from `right`, in units in the last place.
template <typename Number>
double ulps(Number got, long double right) {
  using Range = std::numeric_limits<Number>;
  int exponent = Range::min_exponent;
  if (right != 0) std::frexp(right, &exponent);
  exponent = std::max(exponent, Range::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - Range::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - right) / unit);
}

// Calls check(x) for n numbers spread over [low, high].
template <typename Check>
void over(double low, double high, int n, Check check) {
  for (int i = 0; i < n; ++i) {
    const double share = static_cast<double>(mix_bits(static_cast<std::uint64_t>(i)) >> 11);
    check(low + (high - low) * (share * 0x1p-53));
  }
}

// The numbers just below and above x, nearest first.
template <typename Check>
void around(double x, Check check) {
  double below = x, above = x;
  check(x);
  for (int i = 0; i < 200; ++i) {
    below = std::nextafter(below, -std::numeric_limits<double>::infinity());
    above = std::nextafter(above, std::numeric_limits<double>::infinity());
    check(below);
    check(above);
  }
}

// Whether f(x) never falls over the 400 numbers around x.
template <typename Function>
bool grows_around(double x, Function f) {
  for (int i = 0; i < 200; ++i) x = std::nextafter(x, -std::numeric_limits<double>::infinity());
  for (int i = 0; i < 400; ++i) {
    const double next = std::nextafter(x, std::numeric_limits<double>::infinity());
    if (f(next) < f(x)) return false;
    x = next;
  }
  return true;
}

const double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();
const double least = std::numeric_limits<double>::denorm_min();
const double most = std::numeric_limits<double>::max();

}  // namespace

TEST(exponentials_are_right_to_a_unit_in_the_last_place) {
  if (!has_more_digits) return;
  const auto check = [](double x) {
    const double most_ulps = x > -708 ? 0.6 : 1.0;  // denormal results are rounded twice
    CHECK(ulps(elementary::exp(x), std::exp(static_cast<long double>(x))) < most_ulps);
    CHECK(ulps(elementary::exp2(x), std::exp2(static_cast<long double>(x))) < 0.6);
  };
  over(-2, 2, 20'000, check);
  over(-745, 709, 20'000, check);
  for (int k = -40; k <= 40; ++k) around((k + 0.5) * elementary::ln_2, check);
  over(-104, 88.7, 20'000, [](double x) {
    const auto narrow = static_cast<float>(x);
    CHECK(ulps(elementary::exp(narrow), std::exp(static_cast<long double>(narrow))) < 0.52);
  });
}

TEST(logarithms_are_right_to_units_in_the_last_place) {
  if (!has_more_digits) return;
  const auto check = [](double x) {
    CHECK(ulps(elementary::log(x), std::log(static_cast<long double>(x))) < 1.0);
    CHECK(ulps(elementary::log2(x), std::log2(static_cast<long double>(x))) < 2.0);
  };
  over(0.4, 2.5, 20'000, check);
  over(-1074, 1023, 20'000, [&](double x) { check(std::exp2(x)); });
  around(1.0, check);
  around(0x1.6a09e667f3bcdp-1, check);
  around(std::numeric_limits<double>::min(), check);
  over(-149, 127, 20'000, [](double x) {
    const auto narrow = static_cast<float>(std::exp2(x));
    CHECK(ulps(elementary::log(narrow), std::log(static_cast<long double>(narrow))) < 0.52);
  });
  over(-40, 0, 20'000, [](double x) {
    for (const double y : {-std::exp2(x), std::exp2(x)}) {
      if (y == -1) continue;
      CHECK(ulps(elementary::log1p(y), std::log1p(static_cast<long double>(y))) < 2.0);
    }
  });
}

TEST(powers_are_as_accurate_as_their_logarithm) {
  if (!has_more_digits) return;
  over(-30, 30, 5'000, [](double x) {
    const double base = std::exp2(x);
    for (const double y : {0.25, 0.4, 0.5, 0.75, 0.99}) {
      const double bound = 2.0 * (1 + std::fabs(y * std::log(base)));
      const auto right = std::pow(static_cast<long double>(base), static_cast<long double>(y));
      CHECK(ulps(elementary::pow(base, y), right) < bound);
    }
  });
  over(0, 1, 5'000, [](double x) {
    const auto base = static_cast<float>(x);
    const auto right = std::pow(static_cast<long double>(base), 0.75L);
    CHECK(ulps(elementary::pow(base, 0.75f), right) < 0.52);
  });
}

TEST(elementary_functions_are_right_at_the_ends) {
  namespace e = elementary;
  CHECK(e::exp(0.0) == 1 && e::exp(0.0f) == 1 && e::exp2(0.0) == 1);
  CHECK(e::exp(-inf) == 0 && e::exp(-1e300) == 0 && e::exp(inf) == inf && e::exp(1e300) == inf);
  CHECK(e::exp(709.7) < inf && e::exp(709.8) == inf && e::exp(-745.0) == least);
  CHECK(e::exp(-746.0) == 0 && std::isnan(e::exp(nan_)));
  CHECK(e::exp(static_cast<float>(-inf)) == 0 && e::exp(-104.0f) == 0);
  CHECK(std::isinf(e::exp(89.0f)) && std::isinf(e::exp(static_cast<float>(inf))));
  CHECK(e::exp(-103.0f) > 0 && std::isfinite(e::exp(88.7f)));
  CHECK(std::isnan(e::exp(static_cast<float>(nan_))));
  CHECK(e::log(1.0) == 0 && e::log(1.0f) == 0 && e::log2(1.0) == 0 && e::log1p(0.0) == 0);
  CHECK(e::log(0.0) == -inf && e::log(-0.0) == -inf && e::log(0.0f) == -inf);
  CHECK(e::log(inf) == inf && e::log2(inf) == inf && e::log1p(inf) == inf);
  CHECK(std::isnan(e::log(-1.0)) && std::isnan(e::log(-inf)) && std::isnan(e::log(nan_)));
  CHECK(std::isnan(e::log(-1.0f)) && std::isnan(e::log(static_cast<float>(nan_))));
  CHECK(e::log1p(-1.0) == -inf && std::isnan(e::log1p(-1.5)) && std::isnan(e::log1p(nan_)));
  CHECK(e::log1p(1e-300) == 1e-300 && e::log1p(-least) == -least);
  CHECK(std::fabs(e::log(least) + 744.4400719213812) < 1e-12);
  CHECK(std::fabs(e::log(most) - 709.782712893384) < 1e-12);
  for (int k = -1074; k <= 1023; ++k) {
    CHECK(e::log2(std::ldexp(1.0, k)) == k);
    CHECK(e::exp2(static_cast<double>(k)) == std::ldexp(1.0, k));
  }
  CHECK(e::exp2(-1081.0) == 0 && e::exp2(1024.0) == inf && e::exp2(-inf) == 0);
  CHECK(e::pow(0.0, 0.5) == 0 && e::pow(0.0, 0.0) == 1 && e::pow(3.7, 0.0) == 1);
  CHECK(e::pow(3.7, 1.0) == 3.7 && e::pow(1.0, 0.3) == 1 && e::pow(0.0f, 0.75f) == 0);
  CHECK(e::pow(1.0f, 0.75f) == 1);
}

TEST(elementary_functions_do_not_fall_where_their_pieces_meet) {
  const auto exp = [](double x) { return elementary::exp(x); };
  const auto log = [](double x) { return elementary::log(x); };
  for (int k = -1000; k <= 1000; k += 50) {
    CHECK(grows_around((k + 0.5) * elementary::ln_2, exp));
    CHECK(grows_around(std::ldexp(0x1.6a09e667f3bcdp-1, k), log));
  }
  CHECK(grows_around(1.0, log) && grows_around(0.0, exp));
  CHECK(grows_around(std::numeric_limits<double>::min(), log));
}

TEST(elementary_functions_have_the_bits_they_had) {
  // For numbers from the whole range. Other bits would mean that models learned on another machine
  // differ.
  std::uint64_t digest = 0;
  const auto add = [&](double y) {
    digest = combine_hashes(digest, std::bit_cast<std::uint64_t>(y));
  };
  over(-700, 700, 5'000, [&](double x) {
    add(elementary::exp(x));
    add(elementary::exp2(x));
    add(elementary::exp(static_cast<float>(x / 8)));
    const double y = std::ldexp(1.0 + std::fabs(x) / 701, static_cast<int>(x));
    add(elementary::log(y));
    add(elementary::log2(y));
    add(elementary::log1p(y));
    add(elementary::log(static_cast<float>(std::fabs(x))));
    add(elementary::pow(y, 0.4));
  });
  CHECK(digest == 0x82a0493b40904629u);
}
