#include "labeltrees/python_source/word_characters.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace labeltrees {
namespace {

// Ascending code point * 4 + class; each entry holds up to the next.
constexpr std::uint32_t class_changes[] = {
#include "word_characters.inc"
};

constexpr WordClass look_up(char32_t character) noexcept {
  const auto key = static_cast<std::uint32_t>(character) * 4 + 3;
  const auto* after = std::upper_bound(std::begin(class_changes), std::end(class_changes), key);
  return static_cast<WordClass>(*(after - 1) & 3);
}

constexpr std::array<WordClass, 128> ascii_classes = [] {
  std::array<WordClass, 128> classes{};
  for (char32_t c = 0; c < 128; ++c) classes[c] = look_up(c);
  return classes;
}();

constexpr std::uint8_t byte_at(std::string_view bytes, std::size_t i) noexcept {
  return static_cast<std::uint8_t>(bytes[i]);
}

// 1 to 4 from a character's first byte; 0 if no character starts so.
constexpr std::size_t sequence_length(std::uint8_t lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // a continuation, or a two-byte form of ASCII
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

// The second byte alone decides overlong forms, surrogates and values above U+10FFFF.
constexpr bool second_byte_fits(std::uint8_t lead, std::uint8_t second) noexcept {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second < 0xa0;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second < 0x90;
    default:
      return true;
  }
}

constexpr bool is_continuation(std::uint8_t byte) noexcept { return (byte & 0xc0) == 0x80; }

}  // namespace

WordClass word_class(char32_t character) noexcept {
  return character < 128 ? ascii_classes[character] : look_up(character);
}

bool is_utf8(std::string_view bytes) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080ULL;
  for (std::size_t i = 0; i < bytes.size();) {
    std::uint64_t word;
    if (bytes.size() - i >= 8 && (std::memcpy(&word, bytes.data() + i, 8), !(word & high_bits))) {
      i += 8;
      continue;
    }
    const std::uint8_t lead = byte_at(bytes, i);
    const std::size_t length = sequence_length(lead);
    if (length == 0 || bytes.size() - i < length) return false;
    if (length > 1 && !second_byte_fits(lead, byte_at(bytes, i + 1))) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if (!is_continuation(byte_at(bytes, i + k))) return false;
    }
    i += length;
  }
  return true;
}

DecodedCharacter decode_utf8(std::string_view bytes) noexcept {
  const std::uint8_t lead = byte_at(bytes, 0);
  const std::size_t length = sequence_length(lead);
  if (length == 1) return {lead, 1};
  char32_t value = lead & (0x7fU >> length);
  for (std::size_t k = 1; k < length; ++k) value = (value << 6) | (byte_at(bytes, k) & 0x3fU);
  return {value, static_cast<std::uint8_t>(length)};
}

bool is_identifier(std::string_view word) noexcept {
  if (word.empty()) return false;
  WordClass needed = WordClass::identifier;
  for (std::size_t i = 0; i < word.size();) {
    const DecodedCharacter character = decode_utf8(word.substr(i));
    if (word_class(character.value) < needed) return false;
    needed = WordClass::within;
    i += character.n_bytes;
  }
  return true;
}

}  // namespace labeltrees
