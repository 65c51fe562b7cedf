#include <algorithm>
#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/lom/node_distribution.hpp"
#include "labeltrees/lom/queries.hpp"

using namespace labeltrees;

namespace {

struct Examples {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  CsrView rows() const { return {starts, indices, values}; }
};

Examples noisy_examples(std::size_t n_rows, std::uint32_t n_labels) {
  std::mt19937 random(5);
  Examples examples;
  for (std::size_t r = 0; r < n_rows; ++r) {
    const auto label = static_cast<LabelId>(std::min(random() % n_labels, random() % n_labels));
    for (std::int32_t f = 0; f < 8; ++f) {
      if (random() % 3 == 0) continue;
      examples.indices.push_back(8 * f + (random() % 4 == 0 ? 0 : label % (f + 2)));
      examples.values.push_back(1);
    }
    examples.starts.push_back(static_cast<std::int64_t>(examples.indices.size()));
    examples.labels.push_back(label);
  }
  return examples;
}

LomLearning greedy(double max_splits) {
  LomLearning options = tests::lom_learning;
  options.max_splits = max_splits;
  options.splits_per_label = 0;
  options.swap_resistance = 1;
  return options;
}

}  // namespace

TEST(ledgers_forget_closed_books_only) {
  Ledgers ledgers;
  const std::uint32_t one = ledgers.open(), other = ledgers.open();
  for (LabelId label = 0; label < 500; ++label) {
    ledgers.obtain(one, label).count = 1;
    ledgers.obtain(other, label).count = 2;
  }
  ledgers.close(one);
  for (LabelId label = 500; label < 5000; ++label) ledgers.obtain(other, label).count = 2;
  CHECK(ledgers.find(one, 3) == nullptr);
  CHECK(ledgers.count(other, 4999) == 2 && ledgers.count(other, 5000) == 0);
  std::size_t n = 0;
  ledgers.for_labels(other, [&](LabelId) { ++n; });
  CHECK(n == 5000 && ledgers.sorted_entries().size() == 5000);
  const std::vector<std::uint8_t> open{1, 1, 1, 1};
  const std::vector<float> number{1};
  const auto saved = [&](std::size_t n_open, std::uint32_t part) {
    const std::vector<std::uint64_t> keys{Ledgers::key(part, 7)};
    return Ledgers(std::span(open).first(n_open), keys, number, number).sorted_entries().size();
  };
  CHECK(saved(3, 1) == 1 && saved(3, 2) == 1 && saved(3, 3) == 1);
  CHECK_THROWS(saved(3, 4), TreeError);
  CHECK_THROWS(saved(4, 1), TreeError);
}

TEST(recycling_keeps_a_tree_and_every_query_agrees) {
  const Examples examples = noisy_examples(3000, 40);
  LomTree model;
  const LomLearning options = greedy(9);
  learn(model, examples.rows(), examples.labels, {}, {}, {}, options);
  CHECK(model.n_splits() == 9 && model.n_recyclings() > 0);
  const std::size_t n = 200;
  const CsrView X{std::span(examples.starts).first(n + 1), examples.indices, examples.values};
  std::vector<double> all(n * 40), named(n), p(n * 40);
  std::vector<LabelId> top(n * 40);
  all_probabilities(model, X, 40, options.reading, all);
  label_probabilities(model, X, examples.labels, options.reading, named);
  top_labels(model, X, 40, options.reading, top, p);
  for (std::size_t r = 0; r < n; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      sum += all[r * 40 + i];
      CHECK(top[r * 40 + i] == none ||
            p[r * 40 + i] == all[r * 40 + static_cast<std::size_t>(top[r * 40 + i])]);
    }
    CHECK(std::fabs(sum - 1) < 1e-12);
    CHECK(std::is_sorted(p.begin() + static_cast<std::ptrdiff_t>(r * 40),
                         p.begin() + static_cast<std::ptrdiff_t>(r * 40 + 40), std::greater<>()));
    CHECK(named[r] == all[r * 40 + static_cast<std::size_t>(examples.labels[r])]);
  }
}

TEST(the_heaviest_leaf_is_split_until_the_limit) {
  const Examples examples = noisy_examples(600, 12);
  for (const bool training_path_only : {false, true}) {
    LomTree model;
    LomLearning options = greedy(9);
    options.training_path_only = training_path_only;
    fit_heaviest(model, examples.rows(), examples.labels, {}, {}, 2, options);
    CHECK(model.n_splits() == 9 && model.n_recyclings() == 0 && model.total_weight() == 600);
    for (NodeId id = 0; id < static_cast<NodeId>(model.n_nodes()); ++id) {
      const LomNode& here = model.node(id);
      if (here.left == none) continue;
      CHECK(model.node(here.left).weight + model.node(here.right).weight == here.weight);
    }
    learn(model, examples.rows(), examples.labels, {}, {}, {}, options);
    CHECK(model.total_weight() == 1200 && model.n_rounds() == 1);
    options.again = true;
    learn(model, examples.rows(), examples.labels, {}, {}, {}, options);
    CHECK(model.again() == 600 && model.n_rounds() == 1.5);
  }
}

TEST(a_lom_tree_that_does_not_fit_together_is_refused) {
  const Examples examples = noisy_examples(300, 10);
  LomTree model;
  learn(model, examples.rows(), examples.labels, {}, {}, {}, greedy(5));
  std::vector<std::uint8_t> open(model.ledgers().n_parts(), 1);
  const auto restored = [&](const LomArrays& arrays, NodeId root) {
    return LomTree(arrays, root, model.used_slots(), model.masses(), Ledgers(open, {}, {}, {}), {},
                   {}, {}, BackOff(), 0)
        .n_nodes();
  };
  LomArrays arrays = model.arrays();
  std::fill(arrays.weight.begin(), arrays.weight.end(), 0.0);  // as the ledgers are empty
  std::fill(arrays.n_labels.begin(), arrays.n_labels.end(), 0u);
  CHECK(restored(arrays, model.root()) == 11);
  CHECK_THROWS(restored(arrays, 99), TreeError);
  arrays.left[static_cast<std::size_t>(model.root())] = model.root();
  CHECK_THROWS(restored(arrays, model.root()), TreeError);
}

TEST(a_saved_tree_whose_histograms_are_not_its_nodes_is_refused) {
  const Examples examples = noisy_examples(300, 6);
  LomTree model;
  learn(model, examples.rows(), examples.labels, {}, {}, {}, greedy(5));
  std::vector<std::uint8_t> open;
  for (std::uint32_t part = 1; part <= model.ledgers().n_parts(); ++part) {
    open.push_back(model.ledgers().is_open(part) ? 1 : 0);
  }
  std::vector<std::uint64_t> keys;
  std::vector<float> counts, means;
  for (const SavedEntry& entry : model.ledgers().sorted_entries()) {
    keys.push_back(entry.key);
    counts.push_back(entry.count);
    means.push_back(entry.mean);
  }
  const auto restored = [&](const LomArrays& arrays, std::size_t n_entries) {
    Ledgers ledgers(open, std::span(keys).first(n_entries), std::span(counts).first(n_entries),
                    std::span(means).first(n_entries));
    const LomTree again(arrays, model.root(), model.used_slots(), model.masses(),
                        std::move(ledgers), {}, {}, {}, model.trust(), 0);
  };
  const LomArrays sound = model.arrays();
  restored(sound, keys.size());
  CHECK_THROWS(restored(sound, 0), TreeError);  // labels, and no ledger that has one
  for (std::size_t node = 0; node < sound.weight.size(); ++node) {
    LomArrays arrays = sound;
    arrays.weight[node] = 0;
    CHECK_THROWS(restored(arrays, keys.size()), TreeError);
    arrays = sound;
    ++arrays.n_labels[node];
    CHECK_THROWS(restored(arrays, keys.size()), TreeError);
    arrays = sound;
    arrays.weight[node] = 1e200;
    CHECK_THROWS(restored(arrays, keys.size()), TreeError);
  }
}
