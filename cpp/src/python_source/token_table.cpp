#include "labeltrees/python_source/token_table.hpp"

#include <limits>
#include <stdexcept>

#include "labeltrees/machine/hash.hpp"
#include "labeltrees/python_source/word_characters.hpp"

namespace labeltrees {
namespace {

constexpr TokenId empty_slot = -1;
constexpr std::size_t first_capacity = 256;

}  // namespace

TokenTable::TokenTable() : starts_{0}, slots_(first_capacity, empty_slot) {
  for (const char* mark : {"<num>", "<str>", "<nl>", "<ind>", "<ded>", "<file>"}) intern(mark);
}

std::size_t TokenTable::slot_of(std::string_view token_text, std::uint64_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const TokenId token = slots_[slot];
    if (token == empty_slot) return slot;
    if (hashes_[index(token)] == hash && text(token) == token_text) return slot;
  }
}

TokenId TokenTable::intern(std::string_view token_text) {
  const std::uint64_t hash = hash_bytes(token_text);
  const std::size_t slot = slot_of(token_text, hash);
  if (slots_[slot] != empty_slot) return slots_[slot];
  if (size() >= static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    throw std::length_error("a token table holds at most 2^31 - 1 tokens");
  }
  const auto token = static_cast<TokenId>(size());
  texts_.append(token_text);
  starts_.push_back(texts_.size());
  hashes_.push_back(hash);
  identifiers_.push_back(labeltrees::is_identifier(token_text));
  slots_[slot] = token;
  if (2 * size() > slots_.size()) grow();
  return token;
}

void TokenTable::grow() {
  slots_.assign(2 * slots_.size(), empty_slot);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t token = 0; token < size(); ++token) {
    std::size_t slot = hashes_[token] & mask;
    while (slots_[slot] != empty_slot) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<TokenId>(token);
  }
}

}  // namespace labeltrees
