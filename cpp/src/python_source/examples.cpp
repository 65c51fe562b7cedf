#include "labeltrees/python_source/examples.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "labeltrees/platform/hash.hpp"

namespace labeltrees {
namespace {

constexpr std::size_t n_tokens_before = 8;
constexpr std::size_t n_places = 6;
constexpr std::size_t n_recent = 24;
static_assert(n_places + 2 + n_recent == max_context_features);

// Kinds 1 .. n_places are the places; each kind hashes the same token differently.
constexpr std::uint64_t bigram_kind = n_places + 1;
constexpr std::uint64_t trigram_kind = n_places + 2;
constexpr std::uint64_t recent_kind = n_places + 3;

// Calls take(hash, kind, k) for each feature of a place; the last token that is part of it is k
// back.
template <class Take>
void visit_features(const TokenTable& table, std::span<const TokenId> tokens, std::size_t position,
                    Take take) {
  std::array<std::uint64_t, 3> last{};
  for (std::size_t k = 1; k <= std::min(n_recent, position); ++k) {
    const TokenId token = tokens[position - k];
    if (token == id_of(TokenMark::file_break)) break;
    const std::uint64_t hash = table.hash(token);
    if (k <= last.size()) last[k - 1] = hash;
    if (k <= n_places) take(combine_hashes(k, hash), k, k);
    if (k == 2) take(combine_hashes(combine_hashes(bigram_kind, last[1]), last[0]), bigram_kind, k);
    if (k == 3) {
      const std::uint64_t first_two = combine_hashes(combine_hashes(trigram_kind, hash), last[1]);
      take(combine_hashes(first_two, last[0]), trigram_kind, k);
    }
    if (table.is_identifier(token)) take(combine_hashes(recent_kind, hash), recent_kind, k);
  }
}

}  // namespace

std::size_t context_features(const TokenTable& table, std::span<const TokenId> tokens,
                             std::size_t position, std::int32_t* features) {
  std::int32_t* end = features;
  visit_features(table, tokens, position, [&](std::uint64_t hash, std::uint64_t, std::size_t) {
    *end++ = feature_of_hash(hash);
  });
  std::sort(features, end);
  return static_cast<std::size_t>(std::unique(features, end) - features);
}

std::vector<std::int32_t> next_identifier_features(std::string_view source) {
  TokenTable table;
  std::vector<TokenId> tokens;
  tokenise_python(source, SourceEnd::of_typed, table, tokens);
  std::vector<std::int32_t> features(max_context_features);
  features.resize(context_features(table, tokens, tokens.size(), features.data()));
  return features;
}

std::vector<std::pair<std::int32_t, std::string>> next_identifier_names(std::string_view source) {
  TokenTable table;
  std::vector<TokenId> tokens;
  tokenise_python(source, SourceEnd::of_typed, table, tokens);
  std::vector<std::pair<std::int32_t, std::string>> names;
  const auto text = [&](std::size_t k) {
    return std::string(table.text(tokens[tokens.size() - k]));
  };
  const auto take = [&](std::uint64_t hash, std::uint64_t kind, std::size_t k) {
    std::string name;
    if (kind == recent_kind) {
      name = text(k).append(" nearby");
    } else if (kind == bigram_kind || kind == trigram_kind) {
      name = text(k);
      for (std::size_t next = k - 1; next > 0; --next) name.append(" ").append(text(next));
    } else {
      name = text(k);
      if (k == 1) {
        name += " just before";
      } else {
        name.append(" ").append(std::to_string(k)).append(" back");
      }
    }
    names.emplace_back(feature_of_hash(hash), std::move(name));
  };
  visit_features(table, tokens, tokens.size(), take);
  return names;
}

TokeniseOutcome PythonCorpus::add(std::string_view source) {
  const std::size_t begin = tokens_.size();
  const TokeniseOutcome outcome = tokenise_python(source, SourceEnd::of_file, table_, tokens_);
  if (outcome != TokeniseOutcome::complete) return outcome;
  for (std::size_t i = begin + n_tokens_before; i < tokens_.size(); ++i) {
    if (table_.is_identifier(tokens_[i])) positions_.push_back(static_cast<std::int64_t>(i));
  }
  tokens_.push_back(id_of(TokenMark::file_break));
  return outcome;
}

std::vector<std::int64_t> PythonCorpus::take_positions(std::size_t n) {
  if (n >= positions_.size()) return std::exchange(positions_, {});
  const auto end = positions_.begin() + static_cast<std::ptrdiff_t>(n);
  std::vector<std::int64_t> taken(positions_.begin(), end);
  positions_.erase(positions_.begin(), end);
  return taken;
}

ExampleRows PythonCorpus::rows(std::span<const std::int64_t> positions) const {
  constexpr std::size_t usual_features = 20;
  ExampleRows rows;
  rows.row_starts.reserve(positions.size() + 1);
  rows.labels.reserve(positions.size());
  rows.contexts.reserve(positions.size() * context_tokens);
  rows.indices.reserve(positions.size() * usual_features);
  std::array<std::int32_t, max_context_features> features;
  for (const std::int64_t place : positions) {
    const auto position = static_cast<std::size_t>(place);
    const std::size_t n = context_features(table_, tokens_, position, features.data());
    rows.indices.insert(rows.indices.end(), features.begin(),
                        features.begin() + static_cast<std::ptrdiff_t>(n));
    rows.row_starts.push_back(static_cast<std::int64_t>(rows.indices.size()));
    rows.labels.push_back(tokens_[position]);
    for (std::size_t k = context_tokens; k > 0; --k) {
      rows.contexts.push_back(position >= k ? tokens_[position - k] : id_of(TokenMark::file_break));
    }
  }
  return rows;
}

void PythonCorpus::forget_taken() {
  if (positions_.empty()) {
    tokens_.clear();
    return;
  }
  const auto first = static_cast<std::size_t>(positions_.front());
  const std::size_t n_free = first - std::min(first, n_recent);
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(n_free));
  for (std::int64_t& position : positions_) position -= static_cast<std::int64_t>(n_free);
}

}  // namespace labeltrees
