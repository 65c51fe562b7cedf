#include "labeltrees/text/decimal.hpp"

#include <charconv>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <system_error>
#include <version>

namespace labeltrees {
namespace {

// The power of ten just above the number: 0 for 0.5, 3 for 123, -2 for 0.001. Saturates.
std::int64_t order_of(const char* at, const char* end) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 100;
  std::int64_t order = 0;
  bool seen = false, point = false;
  for (; at != end && *at != 'e' && *at != 'E'; ++at) {
    if (*at == '.') {
      point = true;
    } else if (seen || *at != '0') {
      seen = true;
      if (!point) ++order;
    } else if (point) {
      --order;
    }
  }
  if (at == end) return order;
  ++at;
  const bool down = *at == '-';
  if (*at == '-' || *at == '+') ++at;
  std::int64_t shift = 0;
  for (; at != end; ++at) shift = shift < far ? shift * 10 + (*at - '0') : shift;
  return down ? order - shift : order + shift;
}

}  // namespace

double parse_long_decimal(const char* begin, const char* end) {
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const bool in_range = std::from_chars(begin, end, value).ec != std::errc::result_out_of_range;
#else
  // The standard library has no std::from_chars for double: slower, as exact.
  std::istringstream text(std::string(begin, end));
  text.imbue(std::locale::classic());
  const bool in_range = static_cast<bool>(text >> value);
#endif
  if (in_range) return value;
  // Too small is 0, or what a stream has read of it and called out of range.
  return order_of(begin, end) > 0 ? std::numeric_limits<double>::infinity() : value;
}

}  // namespace labeltrees
