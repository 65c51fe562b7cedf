// The distinct tokens of a body of source code, each with a number and a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {

using TokenId = std::int32_t;

// Tokens that stand for a class of texts or for none; every table starts with them.
enum class TokenMark : TokenId { number, string, newline, indent, dedent, file_break };

constexpr TokenId id_of(TokenMark mark) noexcept { return static_cast<TokenId>(mark); }

// Ids are dense and in first-seen order. Memory: the texts, and about 30 bytes a token.
// Not safe for writing from two threads; any number of threads may read.
class TokenTable {
 public:
  TokenTable();

  // The token's id, a new one if the text is new. Amortised O(length). Throws std::length_error
  // at 2^31 - 1 tokens.
  TokenId intern(std::string_view text);

  std::size_t size() const noexcept { return hashes_.size(); }
  std::string_view text(TokenId token) const noexcept {
    const std::size_t begin = starts_[index(token)];
    return std::string_view(texts_).substr(begin, starts_[index(token) + 1] - begin);
  }
  // hash_bytes of the text: the same in every table.
  std::uint64_t hash(TokenId token) const noexcept { return hashes_[index(token)]; }
  // Whether str.isidentifier() holds for the text.
  bool is_identifier(TokenId token) const noexcept { return identifiers_[index(token)] != 0; }

 private:
  std::size_t slot_of(std::string_view text) const noexcept;
  void grow();

  std::string texts_;
  std::vector<std::size_t> starts_;  // text of token t: starts_[t] .. starts_[t + 1]
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint8_t> identifiers_;
  std::vector<TokenId> slots_;  // open addressing; a power of two, at most half full
};

}  // namespace labeltrees
