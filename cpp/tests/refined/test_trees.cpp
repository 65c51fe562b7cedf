// Refined trees: learning, restored states, limits, proposals and the fit of rerankers.
#include <algorithm>
#include <cmath>
#include <random>

#include "../check.hpp"
#include "../options.hpp"
#include "labeltrees/refined/queries.hpp"
#include "labeltrees/refined/refined_trees.hpp"

namespace labeltrees::refined_trees {
namespace {

struct Stream {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;

  // Two of a row's features depend on its label.
  Stream(unsigned seed, int n_rows, int n_labels) {
    std::mt19937 random(seed);
    for (int r = 0; r < n_rows; ++r) {
      const auto label = static_cast<LabelId>(random() % static_cast<unsigned>(n_labels));
      const std::int32_t own = label % 10, also = 10 + label / 10 % 10;
      for (std::int32_t f = 0; f < 40; ++f) {
        if (f != own && f != also && random() % 8 != 0) continue;
        indices.push_back(f);
        values.push_back(static_cast<float>(1 + random() % 3));
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
      labels.push_back(label);
    }
  }
  std::size_t size() const { return labels.size(); }
  CsrView view() const { return {starts, indices, values}; }
};

ConditionalLearning options_of(bool mixing = true) {
  ConditionalLearning options = tests::conditional_learning;
  options.reading.mixing = mixing;
  return options;
}

Trees fresh_trees(std::size_t n_trees) {
  Trees trees;
  for (std::size_t t = 0; t < n_trees; ++t) trees.push_back(std::make_shared<ConditionalTree>());
  return trees;
}

Shortlist shortlist(std::size_t most) { return {most, 0.05}; }

std::vector<PairLine> lines_of(const RefinedTrees& model) {
  std::vector<PairLine> lines;
  for (const PairLine* line : model.rerankers().table().sorted_lines()) lines.push_back(*line);
  return lines;
}

std::vector<float> flat(const Mixtures& mixtures) {
  std::vector<float> all;
  for (const Mixture& m : mixtures) all.insert(all.end(), m.begin(), m.end());
  return all;
}

std::shared_ptr<ConditionalTree> copy_of(const ConditionalTree& tree) {
  std::vector<CountedLine> lines;
  for (const CountedLine* line : tree.table().sorted_lines()) lines.push_back(*line);
  return std::make_shared<ConditionalTree>(tree.tree(), tree.masses(), lines,
                                           flat(tree.mixtures()));
}

double log_loss(const std::vector<double>& p, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < p.size(); ++i) sum -= std::log(p[i]);
  return sum / static_cast<double>(p.size() - first);
}

}  // namespace

TEST(refined_trees_predict_better_than_the_plain_tree) {
  const Stream stream(1, 4000, 60);
  RefinedTrees model(fresh_trees(1), shortlist(8));
  ConditionalTree plain;
  std::vector<double> p(stream.size()), p_plain(stream.size());
  learn(model, stream.view(), stream.labels, {}, {}, {p, {}, {}, {}}, options_of());
  learn(plain, stream.view(), stream.labels, {}, {}, {p_plain, {}, {}, {}}, options_of());
  CHECK(log_loss(p, 2000) < 0.95 * log_loss(p_plain, 2000));
  CHECK(model.masses() == plain.masses());  // the tree itself learns as it always does
}

TEST(predictions_while_learning_are_those_made_before_each_row) {
  const Stream stream(2, 200, 12);
  for (const std::size_t n_trees : {1, 2}) {
    RefinedTrees model(fresh_trees(n_trees), shortlist(3)),
        twin(fresh_trees(n_trees), shortlist(3));
    const ConditionalLearning options = options_of();
    std::vector<double> p(stream.size()), p_top(stream.size());
    std::vector<LabelId> top(stream.size());
    std::vector<std::uint8_t> is_new(stream.size());
    learn(model, stream.view(), stream.labels, {}, {}, {p, is_new, top, p_top}, options);
    for (std::size_t r = 0; r < stream.size(); ++r) {
      const std::vector<std::int64_t> order{static_cast<std::int64_t>(r)};
      const CsrView one{std::span(stream.starts).subspan(r, 2), stream.indices, stream.values};
      double p_label = 0, of_top = 0;
      label_probabilities(twin, one, {&stream.labels[r], 1}, options.reading, {&p_label, 1}, 1);
      CHECK(p_label == p[r] && (p_label == 0) == (is_new[r] == 1));
      if (top[r] != none) {
        label_probabilities(twin, one, {&top[r], 1}, options.reading, {&of_top, 1}, 1);
      }
      CHECK(of_top == p_top[r]);
      learn(twin, stream.view(), stream.labels, {}, order, {}, options);
    }
  }
}

TEST(threads_change_nothing_of_refined_trees_but_the_time) {
  const Stream stream(12, 2500, 200);
  ConditionalLearning options = options_of();
  const auto learned = [&](std::size_t n_threads, std::vector<double>& p) {
    auto model = std::make_unique<RefinedTrees>(fresh_trees(1), shortlist(4));
    std::vector<std::uint8_t> is_new(stream.size());
    std::vector<LabelId> top(stream.size());
    std::vector<double> p_top(stream.size());
    p.resize(stream.size());
    options.n_threads = n_threads;
    learn(*model, stream.view(), stream.labels, {}, {}, {p, is_new, top, p_top}, options);
    CHECK(std::count(is_new.begin(), is_new.end(), 1) ==
          static_cast<std::ptrdiff_t>(model->tree().n_labels()));
    CHECK(std::count(top.begin(), top.end(), none) == (n_threads == 1 ? 1 : 64));
    return model;
  };
  std::vector<double> p, p_twin, p_alone;
  const auto model = learned(2, p), twin = learned(5, p_twin), alone = learned(1, p_alone);
  CHECK(p == p_twin && model->masses() == twin->masses());
  CHECK(flat(model->rerankers().mixtures()) == flat(twin->rerankers().mixtures()));
  const std::vector<PairLine> lines = lines_of(*model), twins = lines_of(*twin);
  CHECK(lines.size() == twins.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].key == twins[i].key && lines[i].weight == twins[i].weight);
    CHECK(lines[i].sum_code == twins[i].sum_code && lines[i].counts == twins[i].counts);
  }
  std::vector<double> known, known_alone;
  for (std::size_t r = 1500; r < stream.size(); ++r) {
    known.push_back(std::max(p[r], 1e-9));
    known_alone.push_back(std::max(p_alone[r], 1e-9));
  }
  CHECK(log_loss(known, 0) < log_loss(known_alone, 0) + 0.1);
}

TEST(restored_refined_trees_continue_as_if_nothing_had_happened) {
  const Stream stream(3, 400, 60), more(4, 300, 100);
  for (const std::size_t n_trees : {1, 3}) {
    RefinedTrees model(fresh_trees(n_trees), shortlist(4));
    ConditionalLearning options = options_of();
    options.insertion = Insertion::random;
    learn(model, stream.view(), stream.labels, {}, {}, {}, options);
    Trees copies;
    for (const auto& tree : model.trees()) copies.push_back(copy_of(*tree));
    RefinedTrees twin(copies, shortlist(4), lines_of(model), flat(model.rerankers().mixtures()),
                      0.0f, 60);
    std::vector<double> p(more.size()), p_twin(more.size());
    learn(model, more.view(), more.labels, {}, {}, {p, {}, {}, {}}, options);
    learn(twin, more.view(), more.labels, {}, {}, {p_twin, {}, {}, {}}, options);
    CHECK(p == p_twin);
    CHECK(model.rerankers().mixtures() == twin.rerankers().mixtures());
    CHECK(lines_of(model).size() == lines_of(twin).size());
  }
}

TEST(states_of_rerankers_that_do_not_fit_are_refused) {
  const Stream stream(5, 200, 20);
  RefinedTrees model(fresh_trees(1), shortlist(4));
  learn(model, stream.view(), stream.labels, {}, {}, {}, options_of());
  const std::vector<PairLine> lines = lines_of(model);
  const std::vector<float> mixtures = flat(model.rerankers().mixtures());
  CHECK(lines.size() > 2);
  Rerankers(lines, mixtures, 0.5f, 20);
  CHECK_THROWS(Rerankers(lines, std::span(mixtures).first(7), 0.0f, 20), TreeError);
  CHECK_THROWS(Rerankers(lines, mixtures, -1.0f, 20), TreeError);
  CHECK_THROWS(Rerankers(lines, mixtures, INFINITY, 20), TreeError);
  CHECK_THROWS(Rerankers(lines, mixtures, 0.0f, 5), TreeError);  // a label past the last
  std::vector<PairLine> wrong = lines;
  std::swap(wrong[0], wrong[1]);
  CHECK_THROWS(Rerankers(wrong, mixtures, 0.0f, 20), TreeError);
  wrong = lines;
  wrong[1].weight = NAN;
  CHECK_THROWS(Rerankers(wrong, mixtures, 0.0f, 20), TreeError);
  wrong = lines;
  wrong[0].key = 7;  // block 0 names no label
  CHECK_THROWS(Rerankers(wrong, mixtures, 0.0f, 20), TreeError);
  std::vector<float> infinite = mixtures;
  infinite[3] = INFINITY;
  CHECK_THROWS(Rerankers(lines, infinite, 0.0f, 20), TreeError);
}

TEST(refined_trees_stay_within_their_bytes) {
  Stream stream(6, 2500, 40);
  std::mt19937 random(6);
  for (std::int32_t& index : stream.indices) {
    if (index >= 20) index = index * 5000 + static_cast<std::int32_t>(random() % 5000);
  }
  for (const std::size_t n_trees : {1, 2}) {
    RefinedTrees model(fresh_trees(n_trees), shortlist(4));
    const std::size_t limit = model.least_bytes();
    model.limit_bytes(limit);
    std::vector<double> p(stream.size());
    learn(model, stream.view(), stream.labels, {}, {}, {p, {}, {}, {}}, options_of());
    CHECK(model.n_bytes() <= limit);
    CHECK(std::all_of(p.begin() + 1000, p.end(), [](double each) { return each > 0; }));
    std::vector<LabelId> candidates(stream.size() * 4);
    std::vector<double> p_trees(stream.size() * 4);
    RefinedTrees fitted(fresh_trees(n_trees), shortlist(4));
    fitted.limit_bytes(limit);
    const Proposals proposals{candidates, p_trees};
    learn_trees(fitted, stream.view(), stream.labels, {}, {}, proposals, options_of());
    fit_rerankers(fitted, stream.view(), stream.labels, {}, {}, proposals, 1, options_of());
    CHECK(fitted.n_bytes() <= limit);
  }
}

TEST(proposals_of_fresh_trees_match_their_probabilities_and_sum_to_at_most_one) {
  const Stream stream(7, 300, 30);
  const std::size_t k = 5;
  RefinedTrees model(fresh_trees(2), shortlist(k));
  std::vector<LabelId> candidates(stream.size() * k);
  std::vector<double> p_trees(stream.size() * k);
  std::vector<float> weights(stream.size(), 1.0f);
  weights[200] = 0;
  learn_trees(model, stream.view(), stream.labels, weights, {}, {candidates, p_trees},
              options_of());
  CHECK(model.rerankers().table().size() == 0);
  for (std::size_t r = 0; r < stream.size(); ++r) {
    double sum = 0;
    bool ended = false;
    for (std::size_t c = r * k; c < (r + 1) * k; ++c) {
      ended = ended || candidates[c] == none;
      CHECK((candidates[c] == none) == ended && (p_trees[c] == 0) == ended);
      CHECK(c == r * k || p_trees[c] <= p_trees[c - 1]);
      sum += p_trees[c];
    }
    CHECK(sum <= 1 + 1e-12);
    if (r == 0 || r == 200) CHECK(candidates[r * k] == none);
  }
}

TEST(fitted_rerankers_are_better_than_none_on_other_rows) {
  const Stream stream(8, 2000, 40), other(9, 800, 40);
  RefinedTrees model(fresh_trees(1), shortlist(8));
  std::vector<LabelId> candidates(stream.size() * 8);
  std::vector<double> p_trees(stream.size() * 8), p(other.size()), p_tree(other.size());
  const Proposals proposals{candidates, p_trees};
  const ConditionalLearning options = options_of();
  learn_trees(model, stream.view(), stream.labels, {}, {}, proposals, options);
  const RerankerChoice choice =
      fit_rerankers(model, stream.view(), stream.labels, {}, {}, proposals, 1, options);
  CHECK(choice.n_passes >= 1 && choice.n_passes <= 16 && choice.of_rerankers > 0);
  CHECK(model.rerankers().scale() > 0);
  label_probabilities(model, other.view(), other.labels, options.reading, p, 1);
  label_probabilities(model.first(), other.view(), other.labels, options.reading, p_tree, 1);
  CHECK(log_loss(p, 0) < log_loss(p_tree, 0));
  // Once more is the same.
  const std::vector<float> mixtures = flat(model.rerankers().mixtures());
  fit_rerankers(model, stream.view(), stream.labels, {}, {}, proposals, 1, options);
  CHECK(flat(model.rerankers().mixtures()) == mixtures);
}

TEST(rerankers_of_too_few_rows_to_hold_some_out_learn_nothing) {
  const Stream stream(10, 4, 4);
  RefinedTrees model(fresh_trees(1), shortlist(2));
  std::vector<LabelId> candidates(8);
  std::vector<double> p_trees(8);
  const Proposals proposals{candidates, p_trees};
  learn_trees(model, stream.view(), stream.labels, {}, {}, proposals, options_of());
  const RerankerChoice choice =
      fit_rerankers(model, stream.view(), stream.labels, {}, {}, proposals, 1, options_of());
  CHECK(choice.n_passes == 0 && model.rerankers().table().size() == 0);
}

TEST(a_row_too_large_for_refined_trees_changes_nothing) {
  Stream stream(11, 300, 8);
  ConditionalLearning options = options_of();
  options.reading.normalize = false;
  RefinedTrees model(fresh_trees(1), shortlist(4));
  learn(model, stream.view(), stream.labels, {}, {}, {}, options);
  const std::vector<double> masses = model.masses();
  const std::vector<float> mixtures = flat(model.rerankers().mixtures());
  const std::size_t n_lines = lines_of(model).size();
  const std::vector<std::int64_t> starts{0, 1};
  const std::vector<std::int32_t> indices{3};
  const std::vector<float> values{1e30f};
  const std::vector<LabelId> labels{2};
  CHECK_THROWS(learn(model, CsrView{starts, indices, values}, labels, {}, {}, {}, options),
               Diverged);
  CHECK(model.masses() == masses && flat(model.rerankers().mixtures()) == mixtures);
  CHECK(lines_of(model).size() == n_lines);
}

}  // namespace labeltrees::refined_trees
