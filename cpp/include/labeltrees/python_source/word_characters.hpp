// Which characters make up the words of Python source, as Unicode 14 (CPython 3.11) has them,
// and the UTF-8 they are written in.
#pragma once

#include <cstdint>
#include <string_view>

namespace labeltrees {

enum class WordClass : std::uint8_t {
  outside,     // ends a word
  word_only,   // \w in a regular expression, but in no identifier
  within,      // may follow the first character of an identifier
  identifier,  // may start an identifier
};

// O(log table) for characters above ASCII, O(1) below.
WordClass word_class(char32_t character) noexcept;

// Returns whether the bytes are UTF-8 as Python's strict decoder defines it: shortest forms only,
// no surrogates, no code point above U+10FFFF. O(length).
bool is_utf8(std::string_view bytes) noexcept;

struct DecodedCharacter {
  char32_t value;
  std::uint8_t n_bytes;
};

// The character that starts at bytes[0]. Precondition: bytes is not empty, starts a character,
// and is UTF-8.
DecodedCharacter decode_utf8(std::string_view bytes) noexcept;

// Whether str.isidentifier() holds for the word. Keywords are identifiers. Precondition: the bytes
// are UTF-8, and ASCII or characters that are not outside a word (a few symbols, such as the
// estimated sign, may start an identifier but are in no word).
bool is_identifier(std::string_view word) noexcept;

}  // namespace labeltrees
