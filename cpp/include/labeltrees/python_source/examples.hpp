// Next-identifier examples from Python source. The task is to predict which identifier follows the
// tokens before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "labeltrees/python_source/tokens.hpp"

namespace labeltrees {

// Tokens kept beside each row, for callers that need the context and not its features.
inline constexpr std::size_t context_tokens = 3;

// Rows as in CsrView with every value 1, the token each row is to predict, and the last
// context_tokens tokens before it, the nearest last.
struct ExampleRows {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> indices;  // strictly increasing within a row
  std::vector<TokenId> labels;
  std::vector<TokenId> contexts;  // context_tokens a row
};

inline constexpr std::size_t max_context_features = 32;

// Writes the features of the place `position` in tokens, the hashes of
//   (k, token k places back)        k = 1 .. 6
//   (last two tokens), (last three tokens)
//   (identifier)                    each distinct one among the last 24 tokens
// hashed separately by kind, modulo hashed_width. Tokens before the start or before a file_break
// are ignored. Features are increasing, without duplicates. Returns their number. Preconditions:
// position <= tokens.size(), and features has space for max_context_features.
std::size_t context_features(const TokenTable& table, std::span<const TokenId> tokens,
                             std::size_t position, std::int32_t* features);

// The features of the place after a text that is still being typed; see SourceEnd::of_typed.
// Precondition: the source is UTF-8, else the row is empty. O(length).
std::vector<std::int32_t> next_identifier_features(std::string_view source);

// The names of those features, for explanations, the nearest tokens first. A recent identifier is
// listed as often as it occurs. Same precondition. O(length).
std::vector<std::pair<std::int32_t, std::string>> next_identifier_names(std::string_view source);

// The tokens of many files, and the places in them that are examples: every identifier (keywords
// are identifiers here) with at least 8 tokens of its file before it. Memory: 4 bytes a token, 8
// bytes a place not yet taken, and the table of distinct tokens.
//
// Only one thread may write at a time; any number of threads may read.
class PythonCorpus {
 public:
  // Appends a file's tokens and examples; on any outcome but complete, none.
  TokeniseOutcome add(std::string_view source);

  const TokenTable& table() const noexcept { return table_; }
  std::span<const TokenId> tokens() const noexcept { return tokens_; }
  // Examples added and not taken.
  std::size_t n_examples() const noexcept { return positions_.size(); }

  // Removes and returns the places of the first n examples (all, if there are fewer), in order.
  std::vector<std::int64_t> take_positions(std::size_t n);
  // One row for each place, in the order given. Precondition: each is below tokens().size().
  // O(places * 32 log 32).
  ExampleRows rows(std::span<const std::int64_t> positions) const;
  // Frees the tokens that no example still to be taken needs; places taken before are void.
  void forget_taken();

 private:
  TokenTable table_;
  std::vector<TokenId> tokens_;  // files, each followed by a file_break
  std::vector<std::int64_t> positions_;
};

}  // namespace labeltrees
