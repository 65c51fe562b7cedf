#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/conditional/search.hpp"

using namespace labeltrees;

namespace {

constexpr std::size_t n_rows = 50, n_labels = 70, n_features = 10;

struct Learned {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  ConditionalLearning options = tests::conditional_learning;
  ConditionalTree model;
  std::vector<double> all = std::vector<double>(n_rows * n_labels);

  CsrView head() const { return {std::span(starts).first(n_rows + 1), indices, values}; }

  Learned() {
    std::mt19937 random(1);
    std::vector<LabelId> labels;
    for (std::size_t r = 0; r < 500; ++r) {
      for (std::size_t f = 0; f < n_features; ++f) {
        if (random() % 2 == 0) continue;
        indices.push_back(static_cast<std::int32_t>(f));
        values.push_back(static_cast<float>(random() % 7) - 3);
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
      labels.push_back(static_cast<LabelId>(r < n_labels ? r : random() % n_labels));
    }
    learn(model, {starts, indices, values}, labels, {}, {}, {}, options);
    all_probabilities(model, head(), n_labels, options.reading, all);
  }
};

}  // namespace

TEST(a_full_beam_finds_what_the_exact_search_finds) {
  const Learned learned;
  for (const std::size_t width : {std::size_t{4}, n_labels}) {
    std::vector<LabelId> exact(n_rows * 4), beam(n_rows * 4);
    std::vector<double> p_exact(n_rows * 4), p_beam(n_rows * 4);
    std::vector<std::uint8_t> certified(n_rows);
    const Reading& reading = learned.options.reading;
    top_labels(learned.model, learned.head(), 4, reading, exact, p_exact, 1);
    beam_labels(learned.model, learned.head(), 4, width, reading, beam, p_beam, certified);
    for (std::size_t r = 0; r < n_rows; ++r) {
      CHECK(certified[r] == 1 || width < n_labels);
      if (certified[r] == 0) continue;
      for (std::size_t i = 4 * r; i < 4 * r + 4; ++i) {
        CHECK(exact[i] == beam[i]);
        CHECK(p_exact[i] == p_beam[i]);
      }
    }
  }
}

TEST(labels_above_a_threshold_are_all_and_only_those) {
  const Learned learned;
  for (const double threshold : {1e-9, 0.01, 0.3, 1.0}) {
    SparseLabels found;
    CHECK(labels_above(learned.model, learned.head(), threshold, 0.5, n_rows * n_labels,
                       learned.options.reading, found));
    std::size_t at = 0;
    for (std::size_t r = 0; r < n_rows; ++r) {
      for (std::size_t label = 0; label < n_labels; ++label) {
        const double p = 0.5 * learned.all[r * n_labels + label];
        if (p < threshold) continue;
        CHECK(static_cast<std::size_t>(found.labels[at]) == label);
        CHECK(found.p[at++] == p);
      }
      CHECK(static_cast<std::size_t>(found.starts[r + 1]) == at);
    }
    CHECK(at == found.labels.size());
  }
  SparseLabels cut;
  CHECK(!labels_above(learned.model, learned.head(), 1e-9, 1.0, 7, learned.options.reading, cut));
}

TEST(the_best_rows_of_a_label_are_its_columns_largest) {
  const Learned learned;
  const std::vector<LabelId> labels{69, 0, 33};
  std::vector<std::int64_t> rows(labels.size() * 5);
  std::vector<double> p(rows.size());
  top_rows(learned.model, learned.head(), labels, 5, learned.options.reading, rows, p);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::size_t likelier = 0;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double p_row = learned.all[r * n_labels + static_cast<std::size_t>(labels[i])];
      for (std::size_t j = 5 * i; j < 5 * i + 5; ++j) {
        CHECK(rows[j] != static_cast<std::int64_t>(r) || p[j] == p_row);
      }
      if (p_row > p[5 * i + 4]) ++likelier;
    }
    CHECK(likelier == 4);
  }
}

TEST(the_ends_of_the_unit_interval_draw_the_outer_leaves) {
  const Learned learned;
  const LabelTree& tree = learned.model.tree();
  const double largest = std::nextafter(1.0, 0.0);
  for (const double u : {0.0, largest}) {
    const std::vector<double> uniforms(n_rows, u);
    std::vector<LabelId> labels(n_rows);
    sample_labels(learned.model, learned.head(), uniforms, learned.options.reading, labels);
    NodeId node = 0;
    while (!tree.is_leaf(node)) node = tree.first_child(node) + (u == 0.0 ? 0 : 1);
    for (const LabelId label : labels) CHECK(label == tree.label(node));
  }
}

TEST(a_reported_path_multiplies_to_the_labels_probability) {
  const Learned learned;
  for (std::size_t label = 0; label < n_labels; ++label) {
    const PathReport report = report_path(learned.model, learned.head().row(3),
                                          static_cast<LabelId>(label), learned.options.reading);
    double p = 1;
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
      p *= report.turns[i] == 1 ? report.p_nodes[i] : 1.0 - report.p_nodes[i];
      float margin = 0;
      for (std::size_t k = 0; k < report.features.size(); ++k) {
        margin += report.values[k] * report.weights[i * report.features.size() + k];
      }
      CHECK(margin == report.margins[i]);
    }
    CHECK(p == learned.all[3 * n_labels + label]);
  }
}

TEST(an_empty_tree_draws_and_lists_nothing) {
  const ConditionalTree model;
  const std::vector<std::int64_t> starts{0, 0};
  const CsrView X{starts, {}, {}};
  const std::vector<double> uniforms{0.5};
  std::vector<LabelId> labels{7};
  sample_labels(model, X, uniforms, tests::reading, labels);
  CHECK(labels[0] == none);
  SparseLabels found;
  CHECK(labels_above(model, X, 0.1, 1.0, 9, tests::reading, found));
  CHECK(found.labels.empty() && found.starts.size() == 2);
}
