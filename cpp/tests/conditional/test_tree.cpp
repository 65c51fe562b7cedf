#include <algorithm>
#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"

using namespace labeltrees;

namespace {

struct Stream {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  CsrView view() const { return {starts, indices, values}; }
};

Stream random_stream(unsigned seed, int n_rows, int n_labels) {
  std::mt19937 random(seed);
  Stream stream;
  for (int r = 0; r < n_rows; ++r) {
    for (std::int32_t f = 0; f < 20; ++f) {
      if (random() % 3 != 0) continue;
      stream.indices.push_back(f);
      stream.values.push_back(static_cast<float>(random() % 7) - 3);
    }
    stream.starts.push_back(static_cast<std::int64_t>(stream.indices.size()));
    stream.labels.push_back(static_cast<LabelId>(random() % static_cast<unsigned>(n_labels)));
  }
  return stream;
}

}  // namespace

TEST(probabilities_sum_to_one_and_every_query_agrees) {
  for (const Insertion insertion : {Insertion::objective, Insertion::random}) {
    const Stream stream = random_stream(1, 600, 90);
    ConditionalLearning options = tests::conditional_learning;
    options.insertion = insertion;
    ConditionalTree model;
    learn(model, stream.view(), stream.labels, {}, {}, {}, options);
    model.tree().validate();
    const std::size_t n = stream.labels.size(), n_labels = model.tree().n_labels();
    std::vector<double> all(n * 90), named(n), top_p(n * 3);
    std::vector<LabelId> top(n * 3);
    all_probabilities(model, stream.view(), 90, options.reading, all);
    label_probabilities(model, stream.view(), stream.labels, options.reading, named, 1);
    top_labels(model, stream.view(), 3, options.reading, top, top_p, 1);
    CHECK(n_labels == 90);
    for (std::size_t r = 0; r < n; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < 90; ++i) sum += all[r * 90 + i];
      CHECK(std::fabs(sum - 1) < 1e-12);
      CHECK(named[r] == all[r * 90 + static_cast<std::size_t>(stream.labels[r])]);
      CHECK(top_p[r * 3] == all[r * 90 + static_cast<std::size_t>(top[r * 3])]);
      CHECK(top_p[r * 3] >= top_p[r * 3 + 1] && top_p[r * 3 + 1] >= top_p[r * 3 + 2]);
    }
  }
}

TEST(a_restored_state_continues_as_if_nothing_had_happened) {
  const Stream stream = random_stream(2, 400, 60);
  ConditionalLearning options = tests::conditional_learning;
  options.reading.mixing = true;
  ConditionalTree model;
  learn(model, stream.view(), stream.labels, {}, {}, {}, options);
  std::vector<CountedLine> lines;
  for (const CountedLine* line : model.table().sorted_lines()) lines.push_back(*line);
  std::vector<float> mixtures;
  for (const Mixture& m : model.mixtures()) mixtures.insert(mixtures.end(), m.begin(), m.end());
  ConditionalTree twin(model.tree(), model.masses(), lines, mixtures);
  const Stream more = random_stream(3, 300, 100);
  std::vector<double> p(300), p_twin(300);
  learn(model, more.view(), more.labels, {}, {}, {p, {}, {}, {}}, options);
  learn(twin, more.view(), more.labels, {}, {}, {p_twin, {}, {}, {}}, options);
  CHECK(p == p_twin);
  CHECK(model.tree().parents() == twin.tree().parents());
  CHECK(model.masses() == twin.masses());
  CHECK_THROWS(ConditionalTree(model.tree(), {}, lines, mixtures), TreeError);
  CHECK_THROWS(ConditionalTree(twin.tree(), twin.masses(), lines, {}), TreeError);
  lines[0].key = 0;
  CHECK_THROWS(ConditionalTree(twin.tree(), twin.masses(), lines, mixtures), TreeError);
}

TEST(trees_with_more_than_two_children_are_refused) {
  const std::vector<LabelId> labels{0, 1, 2};
  const LabelTree tree = balanced_tree(labels, 3);
  const std::vector<double> mass(tree.n_nodes(), 1.0);
  const std::vector<float> mixtures(n_mixtures * n_mixed, 0.0f);
  CHECK_THROWS(ConditionalTree(tree, mass, {}, mixtures), TreeError);
}

TEST(an_empty_tree_predicts_nothing) {
  const ConditionalTree model;
  TopSearch search;
  Found found{7, 7.0};
  CHECK(search.run(model, PreparedRow{}, tests::reading, {&found, 1}) == 0);
}

TEST(weights_that_run_away_stop_learning) {
  ConditionalLearning options = tests::conditional_learning;
  options.optimizer = Optimizer::sgd;
  options.reading.loss = Loss::squared;
  options.reading.normalize = false;
  options.learning_rate = 1e5f;
  const Stream stream = random_stream(4, 500, 5);
  ConditionalTree model;
  CHECK_THROWS(learn(model, stream.view(), stream.labels, {}, {}, {}, options), Diverged);
}

TEST(a_sum_keeps_ten_bits_of_fraction) {
  CountedLine line;
  CHECK(line.sum(3) == 0.0f);
  for (const float value : {1.0f, 0.3f, 1e-9f, 123456.0f}) {
    line.set_sum(3, value);
    CHECK(std::fabs(line.sum(3) - value) <= value / 2048);
    line.set_sum(3, line.sum(3));
    CHECK(std::fabs(line.sum(3) - value) <= value / 2048);
  }
  line.set_sum(3, 1e30f);
  CHECK(line.sum(3) > 1.6e7f && std::isfinite(line.sum(3)));
  line.set_sum(3, 1e-30f);
  CHECK(line.sum(3) == 0.0f);
}

TEST(counts_fade_and_end_at_sixty) {
  for (const bool side : {false, true}) {
    const auto same = [&](Counts c) { return side ? right_count(c) : left_count(c); };
    const auto other = [&](Counts c) { return side ? left_count(c) : right_count(c); };
    Counts counts = 0;
    for (int i = 0; i < 1000; ++i) {
      counts = count_example(counts, side);
      CHECK(same(counts) <= 60);
    }
    for (int i = 0; i < 10; ++i) counts = count_example(counts, !side);
    CHECK(same(counts) == 2 && other(counts) == 10);
  }
}

TEST(the_depth_bound_is_that_of_theorem_7) {
  CHECK(std::fabs(depth_bound(1024, 1.0) - 12) < 1e-9);
  CHECK(std::isinf(depth_bound(10, 0.0)));
  CHECK(std::isinf(depth_bound(10, 1e-9)));
  CHECK(std::fabs(balance_share(0.5) - 1 / (1 + 0.5)) < 1e-12);
}

TEST(threads_change_nothing_but_the_time) {
  for (const bool mixing : {false, true}) {
    const Stream stream = random_stream(5, 3000, 400);
    ConditionalLearning options = tests::conditional_learning;
    options.reading.mixing = mixing;
    options.n_threads = 2;
    std::vector<double> p(3000), again(3000), p_top(3000);
    std::vector<std::uint8_t> is_new(3000);
    std::vector<LabelId> top(3000);
    ConditionalTree model, twin;
    learn(model, stream.view(), stream.labels, {}, {}, {p, is_new, top, p_top}, options);
    options.n_threads = 5;
    learn(twin, stream.view(), stream.labels, {}, {}, {again, {}, {}, {}}, options);
    CHECK(p == again && model.masses() == twin.masses());
    CHECK(model.tree().parents() == twin.tree().parents());
    model.tree().validate();
    CHECK(std::count(is_new.begin(), is_new.end(), 1) ==
          static_cast<std::ptrdiff_t>(model.tree().n_labels()));
    // the first batch, predicted by an empty model
    CHECK(std::count(top.begin(), top.end(), none) == 64);
    const auto lines = model.table().sorted_lines(), twins = twin.table().sorted_lines();
    CHECK(lines.size() == twins.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(lines[i]->key == twins[i]->key && lines[i]->weight == twins[i]->weight);
      CHECK(lines[i]->sum_code == twins[i]->sum_code && lines[i]->counts == twins[i]->counts);
    }
    std::vector<double> one(3000), three(3000);
    label_probabilities(model, stream.view(), stream.labels, options.reading, one, 1);
    label_probabilities(model, stream.view(), stream.labels, options.reading, three, 3);
    CHECK(one == three);
  }
}

TEST(without_mixing_and_new_labels_batches_are_the_rows_in_turn) {
  const Stream stream = random_stream(6, 1500, 50);
  ConditionalLearning options = tests::conditional_learning;
  ConditionalTree model, twin;
  learn(model, stream.view(), stream.labels, {}, {}, {}, options);
  learn(twin, stream.view(), stream.labels, {}, {}, {}, options);
  std::vector<double> p(1500), batched(1500);
  learn(model, stream.view(), stream.labels, {}, {}, {p, {}, {}, {}}, options);
  options.n_threads = 3;
  learn(twin, stream.view(), stream.labels, {}, {}, {batched, {}, {}, {}}, options);
  for (std::size_t r = 0; r < p.size(); ++r) CHECK(std::fabs(p[r] - batched[r]) <= 1e-12);
  const auto lines = model.table().sorted_lines(), twins = twin.table().sorted_lines();
  CHECK(lines.size() == twins.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]->weight == twins[i]->weight);
}

TEST(rows_without_features_grow_the_tree_too) {
  Stream stream;
  for (LabelId label = 0; label < 40; ++label) {
    for (int twice = 0; twice < 2; ++twice) {
      stream.starts.push_back(0);
      stream.labels.push_back(label);
    }
  }
  for (const std::size_t n_threads : {1, 2}) {
    ConditionalLearning options = tests::conditional_learning;
    options.reading.bias = 0;
    options.n_threads = n_threads;
    ConditionalTree model;
    learn(model, stream.view(), stream.labels, {}, {}, {}, options);
    CHECK(model.tree().n_labels() == 40 && model.table().size() == 0);
  }
}

TEST(two_features_that_share_a_line_step_one_after_the_other) {
  CountedLine line;
  PreparedRow row;
  row.features = {1, 2};
  row.values = {1.0f, 2.0f};
  const std::vector<CountedLine*> lines{&line, &line};
  step_lines(lines, row, 3, 1.0f, tests::learning);
  CHECK(line.sum(3) == 5.0f);
  CHECK(std::abs(line.weight[3] + 1.0f + 2.0f / std::sqrt(5.0f)) < 1e-6f);
}
