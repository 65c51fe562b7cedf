#include <algorithm>
#include <random>
#include <string>

#include "../check.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/python_source/examples.hpp"

using namespace labeltrees;

namespace {

using Features = std::vector<std::int32_t>;

Features row_of(const ExampleRows& rows, std::size_t row) {
  return {rows.indices.begin() + rows.row_starts[row],
          rows.indices.begin() + rows.row_starts[row + 1]};
}

Features sorted(Features features) {
  std::sort(features.begin(), features.end());
  return features;
}

std::int32_t feature(std::uint64_t kind, std::initializer_list<const char*> texts) {
  for (const char* text : texts) kind = combine_hashes(kind, hash_bytes(text));
  return feature_of_hash(kind);
}

std::string some_source(int n_lines) {
  std::string source;
  for (int i = 0; i < n_lines; ++i) {
    source += "name" + std::to_string(i) + " = f(a, b" + std::to_string(i % 7) + ") + 1\n";
  }
  return source;
}

}  // namespace

TEST(an_example_sees_places_pairs_and_recent_identifiers) {
  PythonCorpus corpus;
  CHECK(corpus.add("a = b\nf(a, a.c)\n") == TokeniseOutcome::complete);
  CHECK(corpus.n_examples() == 2);  // a = b <nl> f ( a , [a] . [c]
  const ExampleRows rows = corpus.rows(corpus.take_positions(2));
  CHECK(corpus.table().text(rows.labels[0]) == "a" && corpus.table().text(rows.labels[1]) == "c");
  CHECK(row_of(rows, 0) == sorted({feature(1, {","}), feature(2, {"a"}), feature(3, {"("}),
                                   feature(4, {"f"}), feature(5, {"<nl>"}), feature(6, {"b"}),
                                   feature(7, {"a", ","}), feature(8, {"(", "a", ","}),
                                   feature(9, {"a"}), feature(9, {"b"}), feature(9, {"f"})}));
}

TEST(typed_text_has_the_features_of_the_example_that_follows_it) {
  PythonCorpus corpus;
  const std::string before = "import os\nfor name in os.listdir(";
  corpus.add(before + "path):\n    pass\n");
  const std::vector<std::int64_t> positions = corpus.take_positions(100);
  const ExampleRows rows = corpus.rows(positions);
  bool found = false;
  for (std::size_t row = 0; row < positions.size(); ++row) {
    if (corpus.table().text(rows.labels[row]) != "path") continue;
    found = true;
    CHECK(row_of(rows, row) == next_identifier_features(before));
  }
  CHECK(found);
  CHECK(next_identifier_features("").empty());
  std::vector<std::int32_t> named;
  for (const auto& [column, name] : next_identifier_names("x = f(x, ")) named.push_back(column);
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  CHECK(named == next_identifier_features("x = f(x, "));
  CHECK((next_identifier_features("x") == sorted({feature(1, {"x"}), feature(9, {"x"})})));
}

TEST(no_example_sees_another_file) {
  const std::string source = some_source(3);
  PythonCorpus alone, after;
  alone.add(source);
  after.add("z = 1\n");
  after.add("(");  // skipped
  after.add(source);
  const ExampleRows expected = alone.rows(alone.take_positions(1000));
  const ExampleRows got = after.rows(after.take_positions(1000));
  CHECK(got.indices == expected.indices && got.row_starts == expected.row_starts);
}

TEST(forgetting_rows_that_were_taken_changes_no_later_row) {
  PythonCorpus whole, forgetful;
  for (const int n_lines : {30, 1, 80, 2}) {
    whole.add(some_source(n_lines));
    forgetful.add(some_source(n_lines));
  }
  const ExampleRows expected = whole.rows(whole.take_positions(100000));
  const std::size_t n_tokens = forgetful.tokens().size();
  Features indices;
  while (forgetful.n_examples() > 0) {
    const ExampleRows rows = forgetful.rows(forgetful.take_positions(17));
    indices.insert(indices.end(), rows.indices.begin(), rows.indices.end());
    forgetful.forget_taken();
    CHECK(forgetful.tokens().size() < n_tokens);
  }
  CHECK(indices == expected.indices);
  CHECK(forgetful.tokens().empty());
}

TEST(rows_are_increasing_and_at_most_32_long) {
  PythonCorpus corpus;
  std::string source;
  for (int i = 0; i < 40; ++i) source += "n" + std::to_string(i) + " ";
  corpus.add(source);
  const ExampleRows rows = corpus.rows(corpus.take_positions(100));
  for (std::size_t row = 0; row < rows.labels.size(); ++row) {
    const Features features = row_of(rows, row);
    CHECK(features.size() == std::min<std::size_t>(16 + row, max_context_features));
    for (std::size_t i = 1; i < features.size(); ++i) CHECK(features[i - 1] < features[i]);
  }
}
