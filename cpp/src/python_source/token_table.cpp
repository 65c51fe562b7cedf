#include "labeltrees/python_source/token_table.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/keyed_hash.hpp"
#include "labeltrees/platform/room.hpp"
#include "labeltrees/python_source/word_characters.hpp"

namespace labeltrees {
namespace {

constexpr TokenId empty_slot = -1;
constexpr std::size_t first_capacity = 256;

}  // namespace

TokenTable::TokenTable() : starts_{0}, slots_(first_capacity, empty_slot) {
  for (const char* mark : {"<num>", "<str>", "<nl>", "<ind>", "<ded>", "<file>"}) intern(mark);
}

// The token's slot, or the empty one where it belongs. The hash is keyed, because the author of the
// source knows the tokens' hashes.
std::size_t TokenTable::slot_of(std::string_view token_text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = keyed_hash(token_text, process_secret) & mask;;
       slot = (slot + 1) & mask) {
    const TokenId token = slots_[slot];
    if (token == empty_slot || text(token) == token_text) return slot;
  }
}

TokenId TokenTable::intern(std::string_view token_text) {
  const std::size_t found = slot_of(token_text);
  if (slots_[found] != empty_slot) return slots_[found];
  if (size() >= static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    throw std::length_error("a token table holds at most 2^31 - 1 tokens");
  }
  make_room(starts_, 1);
  make_room(hashes_, 1);
  make_room(identifiers_, 1);
  if (2 * (size() + 1) > slots_.size()) grow();
  const bool is_word = labeltrees::is_identifier(token_text);
  texts_.append(token_text);  // from here on nothing throws
  starts_.push_back(texts_.size());
  hashes_.push_back(hash_bytes(token_text));
  identifiers_.push_back(is_word);
  const auto token = static_cast<TokenId>(size() - 1);
  slots_[slot_of(token_text)] = token;
  return token;
}

void TokenTable::grow() {
  std::vector<TokenId> before(2 * slots_.size(), empty_slot);
  std::swap(before, slots_);
  for (std::size_t i = 0; i < size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    slots_[slot_of(text(token))] = token;
  }
}

}  // namespace labeltrees
