// Queries to refined trees. Each agrees with the whole distribution to the last bit.
#include <algorithm>
#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/refined/queries.hpp"

namespace labeltrees::refined_queries {
namespace {

constexpr std::size_t n_rows = 40, n_labels = 50, n_features = 10;

// fit: rerankers that read rows with a scale, and mixtures that trust them.
struct Learned {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  ConditionalLearning options = tests::conditional_learning;
  std::unique_ptr<RefinedTrees> model;
  std::vector<double> all = std::vector<double>(n_rows * n_labels);

  CsrView head() const { return {std::span(starts).first(n_rows + 1), indices, values}; }
  const Reading& reading() const { return options.reading; }

  Learned(std::size_t n_trees, std::size_t k, bool fit) {
    std::mt19937 random(1);
    std::vector<LabelId> labels;
    for (std::size_t r = 0; r < 500; ++r) {
      const std::size_t label = r < n_labels ? r : random() % n_labels;
      for (std::size_t f = 0; f < n_features; ++f) {
        if (f != label % n_features && random() % 2 == 0) continue;
        indices.push_back(static_cast<std::int32_t>(f));
        values.push_back(static_cast<float>(random() % 7) - 3 + (f == label % n_features ? 4 : 0));
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
      labels.push_back(static_cast<LabelId>(label));
    }
    options.reading.mixing = true;
    options.insertion = Insertion::random;
    Trees trees;
    for (std::size_t t = 0; t < n_trees; ++t) trees.push_back(std::make_shared<ConditionalTree>());
    model = std::make_unique<RefinedTrees>(trees, Shortlist{k, 0.05});
    const CsrView X{starts, indices, values};
    if (fit) {
      std::vector<LabelId> candidates(labels.size() * k);
      std::vector<double> p_trees(labels.size() * k);
      learn_trees(*model, X, labels, {}, {}, {candidates, p_trees}, options);
      fit_rerankers(*model, X, labels, {}, {}, {candidates, p_trees}, 1, options);
    } else {
      learn(*model, X, labels, {}, {}, {}, options);
    }
    all_probabilities(*model, head(), n_labels, reading(), all);
  }
};

std::vector<std::unique_ptr<Learned>> kinds() {
  std::vector<std::unique_ptr<Learned>> all;
  all.push_back(std::make_unique<Learned>(1, 4, false));
  all.push_back(std::make_unique<Learned>(1, 60, false));  // every label may be a candidate
  all.push_back(std::make_unique<Learned>(3, 8, true));
  return all;
}

}  // namespace

TEST(refined_probabilities_sum_to_one_and_name_labels_alike) {
  for (const auto& learned : kinds()) {
    std::vector<LabelId> labels(n_rows);
    for (std::size_t label = 0; label < n_labels; label += 7) {
      std::fill(labels.begin(), labels.end(), static_cast<LabelId>(label));
      for (const std::size_t n_threads : {1, 3}) {
        std::vector<double> p(n_rows);
        label_probabilities(*learned->model, learned->head(), labels, learned->reading(), p,
                            n_threads);
        for (std::size_t r = 0; r < n_rows; ++r) CHECK(p[r] == learned->all[r * n_labels + label]);
      }
    }
    for (std::size_t r = 0; r < n_rows; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < n_labels; ++i) sum += learned->all[r * n_labels + i];
      CHECK(std::fabs(sum - 1) < 1e-12);
    }
  }
}

TEST(the_refined_top_k_is_that_of_sorting_and_certified_beams_find_it) {
  for (const auto& learned : kinds()) {
    for (const std::size_t k : {std::size_t{1}, std::size_t{6}, n_labels}) {
      std::vector<LabelId> top(n_rows * k), beam(n_rows * k);
      std::vector<double> p(n_rows * k), p_beam(n_rows * k);
      top_labels(*learned->model, learned->head(), k, learned->reading(), top, p, 2);
      for (std::size_t r = 0; r < n_rows; ++r) {
        std::vector<double> sorted(
            learned->all.begin() + static_cast<std::ptrdiff_t>(r * n_labels),
            learned->all.begin() + static_cast<std::ptrdiff_t>((r + 1) * n_labels));
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        for (std::size_t i = 0; i < k; ++i) {
          CHECK(p[r * k + i] == sorted[i]);
          CHECK(p[r * k + i] ==
                learned->all[r * n_labels + static_cast<std::size_t>(top[r * k + i])]);
        }
      }
      for (const std::size_t width : {k, n_labels}) {
        std::vector<std::uint8_t> certified(n_rows);
        beam_labels(*learned->model, learned->head(), k, width, learned->reading(), beam, p_beam,
                    certified);
        for (std::size_t r = 0; r < n_rows; ++r) {
          CHECK(certified[r] == 1 || width < n_labels);
          for (std::size_t i = r * k; i < (r + 1) * k; ++i) {
            CHECK(certified[r] == 0 ? p_beam[i] <= p[i] : p_beam[i] == p[i]);
          }
        }
      }
    }
  }
}

TEST(refined_labels_above_a_threshold_are_all_and_only_those) {
  for (const auto& learned : kinds()) {
    for (const double threshold : {1e-9, 0.01, 0.3, 1.0}) {
      SparseLabels found;
      CHECK(labels_above(*learned->model, learned->head(), threshold, 0.5, n_rows * n_labels,
                         learned->reading(), found));
      std::size_t at = 0;
      for (std::size_t r = 0; r < n_rows; ++r) {
        for (std::size_t label = 0; label < n_labels; ++label) {
          const double p = 0.5 * learned->all[r * n_labels + label];
          if (p < threshold || at == found.labels.size()) {
            CHECK(p < threshold);
            continue;
          }
          CHECK(static_cast<std::size_t>(found.labels[at]) == label);
          CHECK(found.p[at++] == p);
        }
        CHECK(static_cast<std::size_t>(found.starts[r + 1]) == at);
      }
      CHECK(at == found.labels.size());
    }
    SparseLabels cut;
    CHECK(!labels_above(*learned->model, learned->head(), 1e-9, 1.0, 7, learned->reading(), cut));
  }
}

TEST(the_best_rows_of_a_refined_label_are_its_columns_largest) {
  const std::vector<LabelId> labels{49, 0, 33};
  for (const auto& learned : kinds()) {
    std::vector<std::int64_t> rows(labels.size() * 5);
    std::vector<double> p(rows.size());
    top_rows(*learned->model, learned->head(), labels, 5, learned->reading(), rows, p);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      std::vector<double> column;
      for (std::size_t r = 0; r < n_rows; ++r) {
        column.push_back(learned->all[r * n_labels + static_cast<std::size_t>(labels[i])]);
      }
      for (std::size_t j = 5 * i; j < 5 * i + 5; ++j) {
        CHECK(p[j] == column[static_cast<std::size_t>(rows[j])]);
      }
      std::sort(column.begin(), column.end(), std::greater<>());
      CHECK(std::equal(column.begin(), column.begin() + 5,
                       p.begin() + static_cast<std::ptrdiff_t>(5 * i)));
    }
  }
}

TEST(refined_draws_are_as_frequent_as_they_are_likely) {
  constexpr std::size_t n_draws = 2000;
  for (const auto& learned : kinds()) {
    const std::vector<std::int64_t> starts{0, learned->starts[1]};
    const CsrView one{starts, learned->indices, learned->values};
    std::vector<double> counts(n_labels);
    for (std::size_t i = 0; i < n_draws; ++i) {  // every part of the unit interval in turn
      const double u = (static_cast<double>(i) + 0.5) / n_draws;
      LabelId label = none;
      sample_labels(*learned->model, one, {&u, 1}, learned->reading(), {&label, 1});
      counts[static_cast<std::size_t>(label)] += 1.0 / n_draws;
    }
    // Each label has one interval, and in each of three trees one.
    for (std::size_t i = 0; i < n_labels; ++i) {
      CHECK(std::fabs(counts[i] - learned->all[i]) < 4.0 / n_draws + 1e-9);
    }
    for (const double u : {0.0, std::nextafter(1.0, 0.0)}) {
      LabelId label = none;
      sample_labels(*learned->model, one, {&u, 1}, learned->reading(), {&label, 1});
      CHECK(label != none && learned->all[static_cast<std::size_t>(label)] > 0);
    }
  }
}

TEST(a_reported_refinement_adds_up) {
  for (const auto& learned : kinds()) {
    std::size_t n_candidates = 0;
    for (std::size_t label = 0; label < n_labels; ++label) {
      const SparseRow row = learned->head().row(3);
      const RefinementReport report =
          report_refinement(*learned->model, row, static_cast<LabelId>(label), learned->reading());
      CHECK(report.q == learned->all[3 * n_labels + label]);
      if (!report.is_candidate) {
        CHECK(report.weights.empty());
        continue;
      }
      ++n_candidates;
      PreparedRow read;
      read.assign(row, learned->model->rerankers().reading(learned->reading()));
      double m = report.of_trees;
      for (std::size_t j = 0; j < read.size(); ++j) {
        m += static_cast<double>(report.weights[j]) * read.values[j];
      }
      CHECK(std::fabs(m - report.m) < 1e-4);
    }
    CHECK(n_candidates > 0 && n_candidates <= learned->model->n_candidates());
  }
}

TEST(refined_trees_predict_rows_without_features_and_of_one_or_two_labels) {
  for (const LabelId n : {1, 2, 3, 9}) {
    std::vector<std::int64_t> starts{0};
    std::vector<LabelId> labels;
    for (LabelId label = 0; label < 3 * n; ++label) {
      starts.push_back(0);
      labels.push_back(label % n);
    }
    const CsrView X{starts, {}, {}};
    ConditionalLearning options = tests::conditional_learning;
    options.reading.bias = 0;
    RefinedTrees model(Trees{std::make_shared<ConditionalTree>()}, {2, 0.05});
    learn(model, X, labels, {}, {}, {}, options);
    const auto k = static_cast<std::size_t>(n), n_all = labels.size() * k;
    std::vector<double> all(n_all), p(n_all), p_beam(n_all);
    std::vector<LabelId> top(n_all), beam(n_all);
    std::vector<std::uint8_t> certified(labels.size());
    all_probabilities(model, X, k, options.reading, all);
    top_labels(model, X, k, options.reading, top, p, 1);
    beam_labels(model, X, k, k, options.reading, beam, p_beam, certified);
    CHECK(p == p_beam && top == beam);
    for (std::size_t i = 0; i < k; ++i) CHECK(p[i] == all[static_cast<std::size_t>(top[i])]);
    for (const std::uint8_t each : certified) CHECK(each == 1);
  }
}

TEST(refined_trees_without_labels_draw_and_list_nothing) {
  const RefinedTrees model(Trees{std::make_shared<ConditionalTree>()}, {4, 0.05});
  const std::vector<std::int64_t> starts{0, 0};
  const CsrView X{starts, {}, {}};
  const std::vector<double> uniforms{0.5};
  std::vector<LabelId> labels{7};
  sample_labels(model, X, uniforms, tests::reading, labels);
  CHECK(labels[0] == none);
  SparseLabels found;
  CHECK(labels_above(model, X, 0.1, 1.0, 9, tests::reading, found));
  CHECK(found.labels.empty() && found.starts.size() == 2);
  std::vector<double> p{7};
  labels[0] = 0;
  label_probabilities(model, X, labels, tests::reading, p, 1);
  CHECK(p[0] == 0);
}

}  // namespace labeltrees::refined_queries
