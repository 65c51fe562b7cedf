// Every model learns a fixed stream. A digest of the bits of its predictions must equal the
// recorded one. If another compiler, processor or system gives another digest, it learns another
// model.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "labelled_rows.hpp"
#include "labeltrees/baselines/ndcg_trees.hpp"
#include "labeltrees/baselines/one_against_all.hpp"
#include "labeltrees/baselines/one_vs_rest.hpp"
#include "labeltrees/conditional/pecoc_tree.hpp"
#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/extreme/search.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/filter/tree.hpp"
#include "labeltrees/lom/queries.hpp"
#include "labeltrees/multilabel/queries.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/python_source/examples.hpp"
#include "labeltrees/refined/queries.hpp"
#include "labeltrees/self_terminating/tree.hpp"
#include "labeltrees/text/formats.hpp"
#include "labeltrees/tree/clustering.hpp"
#include "options.hpp"

namespace labeltrees::same_answers {
namespace {

constexpr std::size_t n_labels = 50, n_features = 400, n_rows = 600;

// Numbers in [0, 1), the same everywhere.
class Numbers {
 public:
  double next() { return static_cast<double>(mix_bits(++n_drawn_ * 77) >> 11) * 0x1p-53; }
  std::int32_t below(std::size_t n) {
    return static_cast<std::int32_t>(next() * static_cast<double>(n));
  }

 private:
  std::uint64_t n_drawn_ = 0;
};

// Each label has a few typical features; frequent labels come first.
struct Stream : tests::LabelledRows {
  Stream() {
    Numbers numbers;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double u = numbers.next();
      const auto label = static_cast<LabelId>(u * u * n_labels);
      std::int32_t feature = 0;
      for (std::int32_t k = 0; k < 6; ++k) {
        feature += 1 + (k % 2 == 0 ? (label * (k + 7)) % 50 : numbers.below(50));
        add_entry(feature, static_cast<float>(0.1 + numbers.next()));
      }
      end_row(label);
    }
  }
};

const Stream& stream() {
  static const Stream rows;
  return rows;
}

// Each row has its label and the next one.
const OwnedRows& rows_of_labels() {
  static const OwnedRows by_label = [] {
    OwnedRows lists;
    for (LabelId label = 0; label < static_cast<LabelId>(n_labels); ++label) {
      for (std::size_t r = 0; r < n_rows; ++r) {
        const LabelId own = stream().labels[r];
        if (own != label && (own + 1) % static_cast<LabelId>(n_labels) != label) continue;
        lists.indices.push_back(static_cast<std::int32_t>(r));
        lists.values.push_back(own == label ? 1.0f : 0.5f);
      }
      lists.row_starts.push_back(static_cast<std::int64_t>(lists.indices.size()));
    }
    return lists;
  }();
  return by_label;
}

// The transpose: the labels of each row, with their relevance.
OwnedRows labels_of_rows() {
  OwnedRows lists;
  for (const LabelId own : stream().labels) {
    const LabelId other = (own + 1) % static_cast<LabelId>(n_labels);
    lists.indices.insert(lists.indices.end(), {std::min(own, other), std::max(own, other)});
    lists.values.insert(lists.values.end(), {own < other ? 1.0f : 0.5f, own < other ? 0.5f : 1.0f});
    lists.row_starts.push_back(static_cast<std::int64_t>(lists.indices.size()));
  }
  return lists;
}

class Digest {
 public:
  void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
  void add(float x) { add(std::uint64_t{std::bit_cast<std::uint32_t>(x)}); }
  void add(std::uint64_t x) { value_ = combine_hashes(value_, x); }
  void add(std::int64_t x) { add(static_cast<std::uint64_t>(x)); }
  void add(std::int32_t x) { add(static_cast<std::int64_t>(x)); }
  void add(std::uint32_t x) { add(std::uint64_t{x}); }
  void add(std::uint16_t x) { add(std::uint64_t{x}); }
  void add(std::uint8_t x) { add(std::uint64_t{x}); }
  template <typename Values>
  void add_all(const Values& values) {
    add(static_cast<std::uint64_t>(std::size(values)));
    for (const auto& value : values) add(value);
  }
  // Prints the digest if it differs.
  bool is(std::uint64_t expected, const char* what) const {
    if (value_ == expected) return true;
    std::printf("%s: 0x%016llxu\n", what, static_cast<unsigned long long>(value_));
    return false;
  }

 private:
  std::uint64_t value_ = 0;
};

constexpr std::size_t n_queried = 100;

CsrView queried() {
  const CsrView rows = stream().view();
  return {rows.row_starts.first(n_queried + 1), rows.indices, rows.values};
}

ConditionalLearning conditional_learning(std::size_t n_threads) {
  ConditionalLearning options = tests::conditional_learning;
  options.reading.mixing = true;
  options.n_threads = n_threads;
  return options;
}

// The predictions during learning, the probability of every label and the three most likely.
template <typename Learn, typename All, typename Top>
Digest digest_of(Learn learn, All all, Top top) {
  Digest digest;
  std::vector<double> predicted(n_rows), p(n_queried * n_labels), p_top(3 * n_queried);
  std::vector<LabelId> labels(3 * n_queried);
  learn(Prediction{predicted, {}, {}, {}});
  all(p);
  top(labels, p_top);
  digest.add_all(predicted);
  digest.add_all(p);
  digest.add_all(labels);
  digest.add_all(p_top);
  return digest;
}

Digest conditional_digest(std::size_t n_threads) {
  ConditionalTree model;
  const ConditionalLearning options = conditional_learning(n_threads);
  const Reading& reading = options.reading;
  return digest_of(
      [&](const Prediction& f) {
        learn(model, stream().view(), stream().labels, {}, {}, f, options);
      },
      [&](auto& p) { all_probabilities(model, queried(), n_labels, reading, p); },
      [&](auto& labels, auto& p) { top_labels(model, queried(), 3, reading, labels, p, 1); });
}

Digest refined_digest(std::size_t n_threads) {
  RefinedTrees model(Trees{std::make_shared<ConditionalTree>()}, Shortlist{4, 0.01});
  const ConditionalLearning options = conditional_learning(n_threads);
  const Reading& reading = options.reading;
  return digest_of(
      [&](const Prediction& f) {
        learn(model, stream().view(), stream().labels, {}, {}, f, options);
      },
      [&](auto& p) { all_probabilities(model, queried(), n_labels, reading, p); },
      [&](auto& labels, auto& p) { top_labels(model, queried(), 3, reading, labels, p, 1); });
}

RelevanceTraining relevance_training(NodeLoss loss) {
  return {loss, 1.0f, 0.5f, false, 20, 0.1, 0.01f, 0.0f, 10.0, 1, 2, n_rows};
}

Digest relevance_digest(NodeLoss loss) {
  const PreparedRows X = prepare_rows(stream().view());
  const LabelTree tree = random_tree(n_labels, 8, 1);
  const std::vector<std::int32_t> held(n_rows, none);
  std::vector<TrainedNodes> parts;
  parts.push_back(train_nodes(tree, inner_nodes(tree), X, rows_of_labels().view(), held,
                              relevance_training(loss)));
  const TrainedRelevance trained = join_nodes(tree, std::move(parts), 0);
  const OwnedSiblingWeights& w = trained.weights;
  Digest digest;
  digest.add_all(w.features);
  digest.add_all(w.columns);
  digest.add_all(w.values);
  digest.add_all(w.biases);
  RelevanceForest forest{
      {{&tree,
        {w.features, w.feature_rows, w.row_parents, w.row_starts, w.columns, w.values, w.biases},
        trained.reach,
        nullptr}},
      loss,
      n_labels,
      0.5};
  ForestQuery query(forest);
  std::vector<double> p(n_labels);
  for (std::size_t r = 0; r < n_queried; ++r) {
    query.start(queried().row(r), none);
    query.all(p);
    digest.add_all(p);
    for (const ScoredLabel& found : query.top(3, RelevanceSearch::beam, 10)) digest.add(found.p);
  }
  return digest;
}

}  // namespace

TEST(a_conditional_tree_predicts_the_same_everywhere) {
  CHECK(conditional_digest(1).is(0x727b8d6fb76f9fe7u, "conditional"));
}

TEST(threads_learn_a_conditional_tree_that_predicts_the_same_everywhere) {
  CHECK(conditional_digest(3).is(0xf28664d15a29c1bbu, "conditional, threads"));
}

TEST(refined_trees_predict_the_same_everywhere) {
  CHECK(refined_digest(1).is(0xffe23ba95f5efc97u, "refined"));
  CHECK(refined_digest(2).is(0x44872babec7cb5fdu, "refined, threads"));
}

TEST(a_filter_tree_predicts_the_same_everywhere) {
  ConditionalTree model;
  const ConditionalLearning& options = tests::conditional_learning;
  const Digest digest = digest_of(
      [&](const Prediction& f) {
        learn_tournament(model, stream().view(), stream().labels, {}, {}, f, options);
      },
      [&](auto& p) { tournament_all(model, queried(), n_labels, options.reading, p); },
      [&](auto& l, auto& p) { tournament_top(model, queried(), 3, options.reading, l, p); });
  CHECK(digest.is(0x5c1a093e31734febu, "filter"));
}

TEST(a_pecoc_tree_predicts_the_same_everywhere) {
  const LabelTree tree = random_tree(n_labels, 8, 1);
  PecocTree model(tree, std::vector<double>(tree.n_nodes()), std::span<const std::uint64_t>{},
                  std::span<const float>{}, std::span<const float>{});
  const Reading& reading = tests::reading;
  const Digest digest = digest_of(
      [&](const Prediction& f) {
        learn(model, stream().view(), stream().labels, {}, {}, f, tests::learning);
      },
      [&](auto& p) { all_probabilities(model, queried(), n_labels, reading, p); },
      [&](auto& labels, auto& p) { top_labels(model, queried(), 3, reading, labels, p); });
  CHECK(digest.is(0x5e9c4fe0327ddaabu, "pecoc"));
}

TEST(a_lom_tree_predicts_the_same_everywhere) {
  LomTree model;
  LomLearning options = tests::lom_learning;
  options.splits_per_label = 0;
  options.max_splits = 40;
  const Digest digest = digest_of(
      [&](const Prediction& f) {
        learn(model, stream().view(), stream().labels, {}, {}, f, options);
      },
      [&](auto& p) { all_probabilities(model, queried(), n_labels, tests::reading, p); },
      [&](auto& labels, auto& p) { top_labels(model, queried(), 3, tests::reading, labels, p); });
  CHECK(digest.is(0x09af7db2a0e354fau, "lom"));
}

TEST(one_against_all_predicts_the_same_everywhere) {
  OneAgainstAll model;
  const Digest digest = digest_of(
      [&](const Prediction& f) {
        learn(model, stream().view(), stream().labels, {}, {}, f, tests::learning);
      },
      [&](auto& p) { all_probabilities(model, queried(), n_labels, tests::reading, p); },
      [&](auto& labels, auto& p) { top_labels(model, queried(), 3, tests::reading, labels, p); });
  CHECK(digest.is(0xb7b531948461b0afu, "one against all"));
}

TEST(a_multilabel_tree_predicts_the_same_everywhere) {
  MultilabelTree model(WideTree(), Shortlist{4, 0.01});
  MultilabelLearning options{tests::learning, 0.3};
  options.reading.mixing = true;
  const OwnedRows sets = labels_of_rows();
  learn(model, stream().view(), {sets.row_starts, sets.indices, sets.values}, {}, {}, {}, options);
  std::vector<double> p(n_queried * n_labels), p_top(3 * n_queried);
  std::vector<LabelId> labels(3 * n_queried);
  all_probabilities(model, queried(), n_labels, options.reading, p);
  top_labels(model, queried(), 3, options.reading, labels, p_top, 1);
  Digest digest;
  digest.add_all(p);
  digest.add_all(labels);
  digest.add_all(p_top);
  CHECK(digest.is(0x5ecf3be983fa3360u, "multilabel"));
}

TEST(a_self_terminating_tree_predicts_the_same_everywhere) {
  for (const Criterion criterion : {Criterion::entropy, Criterion::gini}) {
    Workers workers(2);
    const BinnedColumns columns = bin_columns(stream().view(), 20, workers);
    const std::vector<double> root(n_labels, 1.0 / n_labels);
    const SelfTerminatingTree tree = grow(columns, {{}, stream().labels, {}}, root,
                                          {{2.0}, 0.5, 0.0, Norm::l1, criterion, true, 2});
    Digest digest;
    digest.add_all(tree.feature);
    digest.add_all(tree.threshold);
    digest.add_all(tree.gain);
    std::vector<double> p(n_labels);
    for (const NodeId leaf : find_leaves(tree, queried())) {
      distribution_at(tree, leaf, p);
      digest.add_all(p);
    }
    const bool is_entropy = criterion == Criterion::entropy;
    CHECK(is_entropy ? digest.is(0xcfeb66a3c3d7972eu, "entropy")
                     : digest.is(0x1be234bae42f696au, "gini"));
  }
}

TEST(extreme_regressors_predict_the_same_everywhere) {
  CHECK(relevance_digest(NodeLoss::logistic).is(0x5d4de7556f5a6b58u, "extreme, logistic"));
  CHECK(relevance_digest(NodeLoss::hinge).is(0x857ad5a10aa4794eu, "extreme, hinge"));
}

TEST(clustering_and_linear_baselines_predict_the_same_everywhere) {
  const CsrView X = stream().view();
  const Centroids centroids = label_centroids(X, stream().labels, {}, n_labels);
  Digest digest;
  digest.add_all(
      kmeans_tree(centroids.view(), {},
                  {.arity = 2, .seed = 0, .by_mass = false, .max_leaf = 1, .n_workers = 2})
          .labels());
  const OwnedRows sets = labels_of_rows();
  const OneVsRestProblem problem{X, n_features, sets.view(), n_labels};
  for (const OneVsRestWeights& found :
       {train_ridge(problem, {NodeLoss::hinge, 1.0f, 20, 0.01, 0.01f, 1}, 2),
        train_lasso(problem, {1.0f, 20, 0.01}, 2)}) {
    digest.add_all(found.labels);
    digest.add_all(found.values);
    digest.add_all(found.biases);
  }
  const NdcgTrees trees = grow_ndcg_trees(X, n_features, sets.view(), n_labels, {.n_trees = 2});
  digest.add_all(trees.left);
  digest.add_all(trees.weights);
  digest.add_all(trees.relevances);
  CHECK(digest.is(0xdcda01c3cbd73fc6u, "baselines"));
}

TEST(text_is_read_as_everywhere) {
  PythonCorpus corpus;
  corpus.add("def größe(wert, naïve=1.5e-3):\n    return [wert * naïve for _ in 'äöü']\n");
  const ExampleRows rows = corpus.rows(corpus.take_positions(100));
  Digest digest;
  digest.add_all(rows.indices);
  digest.add_all(rows.labels);
  const std::string text = "a |w größe:0.1 x:3.4028235e38 é\n'b |w x:1e-45 größe |v größe:-7.25\n";
  const ParsedRows parsed = parse_vw({text, 0, 1, 10}, {LabelLists::never, LabelKind::names});
  digest.add_all(parsed.indices);
  digest.add_all(parsed.values);
  CHECK(digest.is(0xf8979f195d212483u, "text"));
}

}  // namespace labeltrees::same_answers
