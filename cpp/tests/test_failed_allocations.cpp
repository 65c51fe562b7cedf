// Every allocation of `learn` fails in turn. Afterwards the model equals one that learned the rows
// before the failing row. It can be saved and loaded, and continues to the same final state.
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "check.hpp"
#include "failing_allocator.hpp"
#include "labeltrees/baselines/one_against_all.hpp"
#include "labeltrees/conditional/pecoc_tree.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/filter/tree.hpp"
#include "labeltrees/lom/queries.hpp"
#include "labeltrees/lom/tree.hpp"
#include "labeltrees/multilabel/tree.hpp"
#include "labeltrees/refined/refined_trees.hpp"
#include "labeltrees/self_terminating/tree.hpp"
#include "labeltrees/tree/clustering.hpp"
#include "options.hpp"

namespace labeltrees::failed_allocations {
namespace {

constexpr std::size_t n_labels = 240;

// Rows of which the first `n_known` are learned before anything fails.
struct Rows {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<LabelId> labels;
  std::size_t n_known;

  Rows(std::size_t known, std::size_t more) : n_known(known) {
    std::mt19937 random(1);
    for (std::size_t r = 0; r < known + more; ++r) {
      std::int32_t feature = 0;
      for (int k = 0; k < 6; ++k) {
        feature += static_cast<std::int32_t>(1 + random() % 40);
        indices.push_back(feature);
        values.push_back(static_cast<float>(1 + random() % 5));
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
      labels.push_back(static_cast<LabelId>(r < known ? random() % 60 : 40 + random() % 200));
    }
  }

  std::size_t size() const { return labels.size(); }
  CsrView view() const { return {starts, indices, values}; }
  std::vector<std::int64_t> order(std::size_t begin, std::size_t end) const {
    std::vector<std::int64_t> rows;
    for (std::size_t r = begin; r < end; ++r) rows.push_back(static_cast<std::int64_t>(r));
    return rows;
  }
};

// A model's state as bytes; lines of zeros are skipped.
class State {
 public:
  template <typename T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  template <typename T>
  void add_all(const T& values) {
    add(std::size(values));
    for (const auto& value : values) add(value);
  }
  template <typename Table>
  void add_lines(const Table& table) {
    const auto lines = table.sorted_lines();
    CHECK(lines.size() == table.size());
    for (const auto* line : lines) {
      auto zeros = std::decay_t<decltype(*line)>{};
      zeros.key = line->key;
      if (std::memcmp(&zeros, line, sizeof zeros) != 0) add(*line);
    }
  }
  bool operator==(const State&) const = default;

 private:
  std::vector<char> bytes_;
};

struct SavedLines {
  std::vector<std::uint64_t> keys;
  std::vector<float> weights, sums;

  explicit SavedLines(const WeightTable& table) {
    for (const WeightLine* line : table.sorted_lines()) {
      keys.push_back(line->key);
      for (std::size_t slot = 0; slot < block_size; ++slot) {
        weights.push_back(line->weight(slot));
        sums.push_back(line->sum(slot));
      }
    }
  }
};

struct Conditional {
  using Model = ConditionalTree;
  static std::unique_ptr<Model> make() { return std::make_unique<Model>(); }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    ConditionalLearning options = tests::conditional_learning;
    options.reading.mixing = true;
    learn(model, rows.view(), rows.labels, {}, order, {}, options);
  }
  static double n_learned(const Model& model) { return model.mass(0); }
  static State state(const Model& model) {
    model.tree().validate();
    State state;
    state.add_all(model.tree().parents());
    state.add_all(model.tree().labels());
    state.add_all(model.masses());
    for (std::size_t i = 0; i < model.tree().n_nodes(); ++i) {
      state.add(model.place(static_cast<NodeId>(i)));
      state.add(model.shallowest(static_cast<NodeId>(i)));
    }
    state.add(model.mixtures());
    state.add_lines(model.table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    std::vector<CountedLine> lines;
    for (const CountedLine* line : model.table().sorted_lines()) lines.push_back(*line);
    std::vector<float> mixtures;
    for (const Mixture& m : model.mixtures()) mixtures.insert(mixtures.end(), m.begin(), m.end());
    return std::make_unique<Model>(
        LabelTree::restore(model.tree().parents(), model.tree().labels(), n_labels), model.masses(),
        lines, mixtures);
  }
};

struct Refined {
  using Model = RefinedTrees;
  static constexpr Shortlist shortlist{4, 0.05};
  static std::unique_ptr<Model> make() {
    return std::make_unique<Model>(Trees{std::make_shared<ConditionalTree>()}, shortlist);
  }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    ConditionalLearning options = tests::conditional_learning;
    options.reading.mixing = true;
    learn(model, rows.view(), rows.labels, {}, order, {}, options);
  }
  static double n_learned(const Model& model) { return model.first().mass(0); }
  static State state(const Model& model) {
    State state = Conditional::state(model.first());
    state.add(model.rerankers().mixtures());
    state.add_lines(model.rerankers().table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    std::vector<PairLine> lines;
    for (const PairLine* line : model.rerankers().table().sorted_lines()) lines.push_back(*line);
    std::vector<float> mixtures;
    for (const Mixture& m : model.rerankers().mixtures()) {
      mixtures.insert(mixtures.end(), m.begin(), m.end());
    }
    return std::make_unique<Model>(Trees{Conditional::reload(model.first())}, shortlist, lines,
                                   mixtures, model.rerankers().scale(), n_labels);
  }
};

// Every row has two labels, mostly new ones at first, so that roots come on top.
struct Multilabel {
  using Model = MultilabelTree;
  static constexpr Shortlist shortlist{4, 0.01};
  static std::unique_ptr<Model> make() { return std::make_unique<Model>(WideTree(), shortlist); }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    MultilabelLearning options{tests::learning, 0.3};
    options.reading.mixing = true;
    std::vector<std::int64_t> starts{0};
    std::vector<LabelId> labels;
    for (const LabelId label : rows.labels) {
      labels.insert(labels.end(), {label, label + 250});
      starts.push_back(static_cast<std::int64_t>(labels.size()));
    }
    const std::vector<float> relevance(labels.size(), 1.0f);
    learn(model, rows.view(), {starts, labels, relevance}, {}, order, {}, options);
  }
  static double n_learned(const Model& model) { return model.mass_of_rows(); }
  static State state(const Model& model) {
    State state;
    state.add_all(model.masses());
    state.add_all(model.tree().parents());
    state.add(model.mixtures());
    state.add_lines(model.table());
    state.add(model.rerankers().mixtures());
    state.add_lines(model.rerankers().table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    std::vector<CountedLine> lines;
    for (const CountedLine* line : model.table().sorted_lines()) lines.push_back(*line);
    std::vector<PairLine> pairs;
    for (const PairLine* line : model.rerankers().table().sorted_lines()) pairs.push_back(*line);
    const auto flat = [](const Mixtures& mixtures) {
      std::vector<float> values;
      for (const Mixture& m : mixtures) values.insert(values.end(), m.begin(), m.end());
      return values;
    };
    std::vector<double> mass = model.masses();
    mass.push_back(model.mass_of_rows());
    const WideTree& tree = model.tree();
    return std::make_unique<Model>(
        WideTree::restore(tree.parents(), tree.slots(), tree.labels(), 1000), shortlist, mass,
        lines, flat(model.mixtures()), pairs, flat(model.rerankers().mixtures()));
  }
};

struct Batches : Conditional {
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    ConditionalLearning options = tests::conditional_learning;
    options.reading.mixing = true;
    options.n_threads = 4;
    learn(model, rows.view(), rows.labels, {}, order, {}, options);
  }
};

struct RefinedBatches : Refined {
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    ConditionalLearning options = tests::conditional_learning;
    options.reading.mixing = true;
    options.n_threads = 3;
    learn(model, rows.view(), rows.labels, {}, order, {}, options);
  }
};

struct Filter : Conditional {
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    learn_tournament(model, rows.view(), rows.labels, {}, order, {}, tests::conditional_learning);
  }
};

struct Pecoc {
  using Model = PecocTree;
  static std::unique_ptr<Model> make() {
    const LabelTree tree = random_tree(n_labels, 8, 1);
    return std::make_unique<Model>(tree, std::vector<double>(tree.n_nodes()),
                                   std::span<const std::uint64_t>{}, std::span<const float>{},
                                   std::span<const float>{});
  }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    learn(model, rows.view(), rows.labels, {}, order, {}, tests::learning);
  }
  static double n_learned(const Model& model) { return model.masses()[0]; }
  static State state(const Model& model) {
    State state;
    state.add_all(model.masses());
    state.add_lines(model.table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    const SavedLines lines(model.table());
    return std::make_unique<Model>(model.tree(), model.masses(), lines.keys, lines.weights,
                                   lines.sums);
  }
};

struct OneAgainst {
  using Model = OneAgainstAll;
  static std::unique_ptr<Model> make() { return std::make_unique<Model>(); }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    learn(model, rows.view(), rows.labels, {}, order, {}, tests::learning);
  }
  static double n_learned(const Model& model) {
    double sum = 0;
    for (const double mass : model.masses()) sum += mass;
    return sum;
  }
  static State state(const Model& model) {
    State state;
    state.add_all(model.masses());
    state.add_lines(model.table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    const SavedLines lines(model.table());
    return std::make_unique<Model>(model.masses(), lines.keys, lines.weights, lines.sums);
  }
};

struct Lom {
  using Model = LomTree;
  static std::unique_ptr<Model> make() { return std::make_unique<Model>(); }
  static void update(Model& model, const Rows& rows, std::span<const std::int64_t> order) {
    LomLearning options = tests::lom_learning;
    options.splits_per_label = 0;
    options.max_splits = 100;  // the limit is reached, and leaves are recycled
    learn(model, rows.view(), rows.labels, {}, order, {}, options);
  }
  static double n_learned(const Model& model) { return model.total_weight(); }
  static State state(const Model& model) {
    State state;
    const LomArrays a = model.arrays();
    for (const auto* ids : {&a.parent, &a.left, &a.right}) state.add_all(*ids);
    for (const auto* numbers :
         {&a.ledger, &a.block, &a.leaf_labels, &a.n_labels, &a.n_recycled, &a.split_number}) {
      state.add_all(*numbers);
    }
    state.add_all(a.slot);
    for (const auto* sums : {&a.least, &a.weight, &model.masses()}) state.add_all(*sums);
    for (const auto* means : {&a.leaf_top, &a.top, &a.mean, &a.mean_weight}) state.add_all(*means);
    state.add(model.root());
    state.add(model.n_recyclings());
    state.add_all(model.used_slots());
    for (const SavedEntry& entry : model.ledgers().sorted_entries()) {
      state.add(entry.key);
      state.add(entry.count);
      state.add(entry.mean);
    }
    state.add_all(model.trust().reached());
    state.add_all(model.trust().drawn());
    state.add_lines(model.table());
    return state;
  }
  static std::unique_ptr<Model> reload(const Model& model) {
    const Ledgers& ledgers = model.ledgers();
    std::vector<std::uint8_t> open;
    for (std::uint32_t p = 1; p <= ledgers.n_parts(); ++p) open.push_back(ledgers.is_open(p));
    std::vector<std::uint64_t> keys;
    std::vector<float> counts, means;
    for (const SavedEntry& entry : ledgers.sorted_entries()) {
      keys.push_back(entry.key);
      counts.push_back(entry.count);
      means.push_back(entry.mean);
    }
    const SavedLines lines(model.table());
    return std::make_unique<Model>(model.arrays(), model.root(), model.used_slots(), model.masses(),
                                   Ledgers(open, keys, counts, means), lines.keys, lines.weights,
                                   lines.sums, model.trust(), model.again());
  }
};

template <typename Method>
void fail_each_allocation(const Rows& rows, long most) {
  const auto update = [&](auto& model, std::size_t begin, std::size_t end) {
    // An empty order would be all rows.
    if (begin < end) Method::update(model, rows, rows.order(begin, end));
  };
  const auto known = rows.order(0, rows.n_known), more = rows.order(rows.n_known, rows.size());
  std::map<std::size_t, State> states;  // by number of rows, all at the first attempt
  const auto state_after = [&](std::size_t n) -> const State& {
    if (const auto found = states.find(n); found != states.end()) return found->second;
    const auto model = Method::make();
    Method::update(*model, rows, known);
    update(*model, rows.n_known, n);
    return states[n] = Method::state(*model);
  };
  const auto counted = Method::make();
  Method::update(*counted, rows, known);
  const long n = tests::count_allocations([&] { Method::update(*counted, rows, more); });
  long n_failed = 0;
  const long step = std::max(1L, n / most);
  for (long k = 0; k < n; k += step) {
    const auto model = Method::make();
    Method::update(*model, rows, known);
    if (!tests::runs_out_of_memory(k, k / step % 2 == 1,
                                   [&] { Method::update(*model, rows, more); })) {
      CHECK(Method::state(*model) == state_after(rows.size()));
      continue;
    }
    ++n_failed;
    const auto n_learned = static_cast<std::size_t>(Method::n_learned(*model));
    CHECK(n_learned >= rows.n_known && n_learned <= rows.size());
    CHECK(Method::state(*model) == state_after(n_learned));
    const auto twin = Method::reload(*model);
    CHECK(Method::state(*twin) == state_after(n_learned));
    update(*model, n_learned, rows.size());
    CHECK(Method::state(*model) == state_after(rows.size()));
  }
  CHECK(n_failed > 0);
}

// A kernel that returns a new result either throws bad_alloc, or gives the same result.
template <typename Kernel>
void fail_each_allocation_of(Kernel kernel, long most) {
  const auto expected = kernel();
  const long n = tests::count_allocations(kernel);
  long n_failed = 0;
  const long step = std::max(1L, n / most);
  for (long k = 0; k < n; k += step) {
    const bool failed =
        tests::runs_out_of_memory(k, k / step % 2 == 1, [&] { CHECK(kernel() == expected); });
    n_failed += failed ? 1 : 0;
  }
  CHECK(n_failed > 0);
}

}  // namespace

TEST(a_conditional_tree_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<Conditional>(Rows(100, 80), 150);
}

TEST(a_conditional_tree_without_memory_is_as_after_its_last_batch) {
  fail_each_allocation<Batches>(Rows(100, 300), 60);
}

TEST(a_refined_tree_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<Refined>(Rows(100, 80), 150);
}
TEST(learning_label_sets_survives_any_failed_allocation) {
  fail_each_allocation<Multilabel>(Rows(40, 60), 150);
}

TEST(a_refined_tree_without_memory_is_as_after_its_last_batch) {
  fail_each_allocation<RefinedBatches>(Rows(100, 300), 60);
}

TEST(fitting_rerankers_without_memory_throws) {
  const Rows rows(150, 0);
  const std::size_t k = 4;
  ConditionalLearning options = tests::conditional_learning;
  const auto model = Refined::make();
  std::vector<LabelId> candidates(rows.size() * k);
  std::vector<double> p_trees(rows.size() * k);
  const Proposals proposals{candidates, p_trees};
  learn_trees(*model, rows.view(), rows.labels, {}, {}, proposals, options);
  fail_each_allocation_of(
      [&] {
        fit_rerankers(*model, rows.view(), rows.labels, {}, {}, proposals, 1, options);
        return Refined::state(*model);
      },
      60);
}

TEST(a_filter_tree_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<Filter>(Rows(100, 80), 150);
}

TEST(a_pecoc_tree_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<Pecoc>(Rows(50, 40), 150);
}

TEST(one_against_all_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<OneAgainst>(Rows(20, 20), 150);
}

TEST(a_lom_tree_without_memory_is_as_after_its_last_row) {
  fail_each_allocation<Lom>(Rows(100, 150), 150);
}

TEST(clustering_without_memory_throws) {
  const Rows rows(300, 0);
  fail_each_allocation_of(
      [&] {
        const Centroids centroids = label_centroids(rows.view(), rows.labels, {}, 60);
        return kmeans_tree(centroids.view(), {},
                           {.arity = 2, .seed = 0, .by_mass = false, .max_leaf = 1, .n_workers = 3})
            .labels();
      },
      100);
}

TEST(growing_a_self_terminating_tree_without_memory_throws) {
  const Rows rows(60, 0);
  const std::vector<double> root(60, 1.0 / 60);
  fail_each_allocation_of(
      [&] {
        Workers workers(3);
        const BinnedColumns columns = bin_columns(rows.view(), 255, workers);
        return grow(columns, {{}, rows.labels, {}}, root,
                    {{0.5}, 0.5, 0.0, Norm::l1, Criterion::gini, true, 3})
            .threshold;
      },
      30);
}

TEST(training_an_extreme_regressor_without_memory_throws) {
  const Rows rows(150, 0);
  const PreparedRows X = prepare_rows(rows.view());
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> rows_of_labels;
  for (LabelId label = 0; label < 60; ++label) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows.labels[r] == label) rows_of_labels.push_back(static_cast<std::int32_t>(r));
    }
    starts.push_back(static_cast<std::int64_t>(rows_of_labels.size()));
  }
  const std::vector<float> relevance(rows_of_labels.size(), 1.0f);
  const std::vector<std::int32_t> held(rows.size(), none);
  const LabelTree tree = random_tree(60, 4, 1);
  fail_each_allocation_of(
      [&] {
        std::vector<TrainedNodes> parts;
        parts.push_back(train_nodes(
            tree, inner_nodes(tree), X, {starts, rows_of_labels, relevance}, held,
            {NodeLoss::logistic, 1.0f, 0.0f, false, 5, 0.1, 0.01f, 0.0f, 10.0, 1, 3, rows.size()}));
        return join_nodes(tree, std::move(parts), 0).weights.values;
      },
      50);
}

}  // namespace labeltrees::failed_allocations
