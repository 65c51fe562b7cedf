#include "lexemes.hpp"

#include "labeltrees/python_source/word_characters.hpp"

namespace labeltrees {
namespace {

bool is_binary_digit(char c) { return c == '0' || c == '1'; }
bool is_octal_digit(char c) { return c >= '0' && c <= '7'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_quote(char c) { return c == '\'' || c == '"'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// A newline, which is part of no token here, stands for the end of the line.
char character(std::string_view line, std::size_t at) { return at < line.size() ? line[at] : '\n'; }

// _?[digit] as often as it goes.
template <typename IsDigit>
std::size_t digits_end(std::string_view line, std::size_t at, IsDigit is_one) {
  for (;;) {
    const std::size_t digit = at + (character(line, at) == '_');
    if (!is_one(character(line, digit))) return at;
    at = digit + 1;
  }
}

std::size_t exponent_end(std::string_view line, std::size_t at) {
  if (lower(character(line, at)) != 'e') return at;
  const char sign = character(line, at + 1);
  const std::size_t digit = at + (sign == '+' || sign == '-' ? 2 : 1);
  return is_digit(character(line, digit)) ? digits_end(line, digit + 1, is_digit) : at;
}

std::size_t integer_end(std::string_view line, std::size_t at) {
  if (line[at] != '0') return digits_end(line, at + 1, is_digit);
  const char base = lower(character(line, at + 1));
  std::size_t end = at + 2;
  if (base == 'x') end = digits_end(line, end, is_hex_digit);
  if (base == 'o') end = digits_end(line, end, is_octal_digit);
  if (base == 'b') end = digits_end(line, end, is_binary_digit);
  if (end > at + 2) return end;
  return digits_end(line, at + 1, [](char c) { return c == '0'; });
}

}  // namespace

std::size_t number_end(std::string_view line, std::size_t at) {
  const std::size_t whole_end = line[at] == '.' ? at : digits_end(line, at + 1, is_digit);
  std::size_t end = whole_end;
  if (character(line, end) == '.') {
    ++end;
    if (is_digit(character(line, end))) end = digits_end(line, end + 1, is_digit);
  }
  end = exponent_end(line, end);
  if (lower(character(line, end)) == 'j') return end + 1;
  return end > whole_end ? end : integer_end(line, at);
}

std::size_t word_end(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    const DecodedCharacter decoded = decode_utf8(line.substr(at));
    if (word_class(decoded.value) == WordClass::outside) break;
    at += decoded.n_bytes;
  }
  return at;
}

std::size_t operator_end(std::string_view line, std::size_t at) {
  constexpr std::string_view alone = "()[]{},;~", doubled = "*/<>", with_equals = "+-%&|^@=:";
  const char c = line[at], second = character(line, at + 1), third = character(line, at + 2);
  if (alone.find(c) != npos) return at + 1;
  if (c == '.') return second == '.' && third == '.' ? at + 3 : at + 1;
  if (c == '!') return second == '=' ? at + 2 : at;
  if (c == '-' && second == '>') return at + 2;
  if (doubled.find(c) != npos && second == c) return third == '=' ? at + 3 : at + 2;
  if (doubled.find(c) == npos && with_equals.find(c) == npos) return at;
  return second == '=' ? at + 2 : at + 1;
}

std::size_t string_quote(std::string_view line, std::size_t at) {
  const char first = lower(character(line, at));
  if (is_quote(first)) return at;
  if (first != 'b' && first != 'r' && first != 'u' && first != 'f') return npos;
  const char second = lower(character(line, at + 1));
  if (is_quote(second)) return at + 1;
  const bool both = (first == 'r' && (second == 'b' || second == 'f')) ||
                    (second == 'r' && (first == 'b' || first == 'f'));
  return both && is_quote(character(line, at + 2)) ? at + 2 : npos;
}

std::size_t string_end(std::string_view line, std::size_t at, char quote, bool triple) {
  for (; at < line.size(); ++at) {
    if (line[at] == '\\') {
      if (character(line, at + 1) == '\n') return npos;
      ++at;
    } else if (line[at] == quote) {
      if (!triple) return at + 1;
      if (character(line, at + 1) == quote && character(line, at + 2) == quote) return at + 3;
    }
  }
  return npos;
}

}  // namespace labeltrees
