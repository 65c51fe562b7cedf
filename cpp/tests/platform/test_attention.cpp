#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <vector>

#include "../check.hpp"
#include "../labelled_rows.hpp"
#include "../options.hpp"
#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/extreme/labelwise.hpp"
#include "labeltrees/extreme/training.hpp"
#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/workers.hpp"
#include "labeltrees/self_terminating/tree.hpp"
#include "labeltrees/tree/clustering.hpp"

using namespace labeltrees;

namespace {

struct Stop {};
[[noreturn]] void stop() { throw Stop(); }

tests::LabelledRows labelled_rows(int n_rows, int n_labels) {
  std::mt19937 random(7);
  tests::LabelledRows data;
  for (int r = 0; r < n_rows; ++r) {
    for (std::int32_t f = 0; f < 12; ++f) {
      if (random() % 2 != 0) continue;
      data.add_entry(f, static_cast<float>(1 + random() % 5));
    }
    data.end_row(static_cast<LabelId>(random() % static_cast<unsigned>(n_labels)));
  }
  return data;
}

// Whether the work can be ended from outside; without that it must come to its end.
bool can_be_ended(const auto& work) {
  work();
  const Attentive attentive(&stop, std::chrono::milliseconds(0));
  try {
    work();
  } catch (const Stop&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(looking_up_calls_attention_on_its_own_thread_and_only_while_there_is_some) {
  static int n_calls;
  n_calls = 0;
  look_up();
  {
    const Attentive outer([] { ++n_calls; }, std::chrono::milliseconds(0));
    look_up();
    CHECK(n_calls == 1);
    {
      const Attentive inner([] { n_calls += 10; }, std::chrono::milliseconds(0));
      look_up();
      CHECK(n_calls == 11);
      const Attentive seldom([] { n_calls += 100; }, std::chrono::hours(1));
      look_up();
      CHECK(n_calls == 11);
    }
    look_up();
    CHECK(n_calls == 12);
  }
  look_up();
  CHECK(n_calls == 12);
}

TEST(threads_workers_end_soon_when_one_of_them_fails_and_work_again_after) {
  for (const std::size_t n_workers : {1u, 2u, 4u}) {
    Workers workers(n_workers);
    for (int round = 0; round < 20; ++round) {
      std::atomic<std::size_t> n_done{0};
      const auto task = [&](std::size_t number, std::size_t) {
        if (number == 3) throw Stop();
        for (int i = 0; number > 3 && n_workers > 1 && i < 1000; ++i) look_up();
        ++n_done;
      };
      CHECK_THROWS(workers.run(100, task), Stop);
      CHECK(n_done < 100);
      n_done = 0;
      workers.run(50, [&](std::size_t, std::size_t) { ++n_done; });
      CHECK(n_done == 50);
    }
  }
}

TEST(long_work_of_every_kind_can_be_ended) {
  const tests::LabelledRows data = labelled_rows(400, 20);
  for (const std::size_t n_workers : {1u, 3u}) {
    Workers workers(n_workers);
    CHECK(can_be_ended([&] { bin_columns(data.view(), 255, workers); }));
    const BinnedColumns columns = bin_columns(data.view(), 255, workers);
    const std::vector<double> root(20, 0.05);
    const Growing growing{{0.05}, 0, 0, Norm::l1, Criterion::gini, false, n_workers};
    CHECK(can_be_ended([&] { grow(columns, {{}, data.labels, {}}, root, growing); }));
    const SelfTerminatingTree grown = grow(columns, {{}, data.labels, {}}, root, growing);
    CHECK(can_be_ended([&] { find_leaves(grown, data.view()); }));

    CHECK(can_be_ended([&] { prepare_rows(data.view()); }));
    const PreparedRows X = prepare_rows(data.view());
    std::vector<std::int64_t> starts(21, 0);
    for (const LabelId label : data.labels) ++starts[static_cast<std::size_t>(label) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<std::int32_t> rows(400);
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
      return data.labels[static_cast<std::size_t>(a)] < data.labels[static_cast<std::size_t>(b)];
    });
    const std::vector<float> ones(400, 1.0f);
    const CsrView by_label{starts, rows, ones};
    const auto centroids = [&] {
      return relevance_centroids(X.view(), X.names.size(), by_label, n_workers);
    };
    CHECK(can_be_ended(centroids));
    const Centroids made = centroids();
    const auto cluster = [&] {
      return kmeans_tree(
          made.view(), {},
          {.arity = 2, .seed = 1, .by_mass = false, .max_leaf = 4, .n_workers = n_workers});
    };
    CHECK(can_be_ended(cluster));
    const LabelTree tree = cluster();
    const std::vector<std::int32_t> held(400, none);
    const auto train = [&] {
      std::vector<TrainedNodes> parts;
      parts.push_back(
          train_nodes(tree, inner_nodes(tree), X, by_label, held,
                      {NodeLoss::logistic, 1, 0, false, 5, 1e-3, 0, 0, 0, 1, n_workers, 400}));
      return join_nodes(tree, std::move(parts), 0);
    };
    CHECK(can_be_ended(train));
    const TrainedRelevance trained = train();
    const SiblingWeights weights{trained.weights.features,    trained.weights.feature_rows,
                                 trained.weights.row_parents, trained.weights.row_starts,
                                 trained.weights.columns,     trained.weights.values,
                                 trained.weights.biases};
    RelevanceForest forest{{}, NodeLoss::logistic, 20, 1.0};
    forest.trees.push_back({&tree, weights, trained.reach, nullptr});
    QueryPool pool(forest);
    std::vector<double> p(400);
    CHECK(can_be_ended([&] {
      query_rows(pool, data.view(), {}, n_workers,
                 [&](std::size_t r, ForestQuery& query) { p[r] = query.label(0); });
    }));
    std::vector<LabelId> requested(20);
    std::iota(requested.begin(), requested.end(), 0);
    std::vector<std::int64_t> best(20);
    std::vector<double> p_best(20);
    CHECK(can_be_ended([&] {
      labelwise_top_rows(pool, data.view(), requested, {1, 4.0, true, {1, 0, 0, 0}, {}, n_workers},
                         best, p_best);
    }));
  }
  ConditionalTree model;
  learn(model, data.view(), data.labels, {}, {}, {}, tests::conditional_learning);
  std::vector<std::int64_t> best(1);
  std::vector<double> p(1);
  const std::vector<LabelId> first{data.labels[0]};
  CHECK(can_be_ended([&] { top_rows(model, data.view(), first, 1, tests::reading, best, p); }));
}
