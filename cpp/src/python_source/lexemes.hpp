// Functions that find where the tokens of one line of Python source end. Each takes a place in the
// line and returns one. They do not read past the line and keep no state.
#pragma once

#include <cstddef>
#include <string_view>

namespace labeltrees {

inline constexpr std::size_t npos = std::string_view::npos;

inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Precondition: the text from `at` begins with a digit, or with a point and a digit.
std::size_t number_end(std::string_view line, std::size_t at);

// `at` itself if no word (a run of characters that \w matches) starts there.
std::size_t word_end(std::string_view line, std::size_t at);

// `at` itself if no operator starts there.
std::size_t operator_end(std::string_view line, std::size_t at);

// The place of the opening quote of a string that starts at `at`, or npos. It may be preceded by b,
// r, u, f, br or fr in any order and case.
std::size_t string_quote(std::string_view line, std::size_t at);

// The place past the quotes that close a string whose content continues at `at`; npos if they are
// not on this line. A backslash takes the character after it, unless that is the line's end.
std::size_t string_end(std::string_view line, std::size_t at, char quote, bool triple);

}  // namespace labeltrees
