// Reads any bytes as Python source. Tokens must be in the table, and examples must be tidy rows.
#include <vector>

#include "input.hpp"
#include "labeltrees/python_source/examples.hpp"
#include "labeltrees/rows/csr.hpp"

using namespace labeltrees;
using fuzz::need;

namespace {

constexpr std::size_t hashed_features = std::size_t{1} << 30;

void check_tokens(std::string_view text, SourceEnd end) {
  TokenTable table;
  std::vector<TokenId> tokens;
  const TokeniseOutcome outcome = tokenise_python(text, end, table, tokens);
  need(outcome == TokeniseOutcome::complete || tokens.empty(), "a file gives all tokens or none");
  if (end == SourceEnd::of_typed) {
    need(outcome == TokeniseOutcome::complete || outcome == TokeniseOutcome::not_utf8,
         "what is being typed may be unfinished");
  }
  for (const TokenId token : tokens) {
    need(token >= 0 && static_cast<std::size_t>(token) < table.size(), "tokens are in the table");
  }
}

void check_examples(const PythonCorpus& corpus, const std::vector<std::int64_t>& positions) {
  const ExampleRows rows = corpus.rows(positions);
  const std::vector<float> ones(rows.indices.size(), 1.0f);
  need(rows.labels.size() == positions.size() &&
           rows.contexts.size() == context_tokens * positions.size(),
       "every example has a label and a context");
  need(is_tidy({rows.row_starts, rows.indices, ones}, hashed_features, false), "rows are tidy");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned n_taken = input.choose(64);
  const std::string_view text = input.text();
  check_tokens(text, SourceEnd::of_file);
  check_tokens(text, SourceEnd::of_typed);
  next_identifier_features(text);
  PythonCorpus corpus;
  corpus.add(text);
  corpus.add(text);
  check_examples(corpus, corpus.take_positions(n_taken));
  corpus.forget_taken();
  check_examples(corpus, corpus.take_positions(corpus.n_examples()));
  return 0;
}
