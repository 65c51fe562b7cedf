#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "../check.hpp"
#include "../labelled_rows.hpp"
#include "../options.hpp"
#include "labeltrees/baselines/one_against_all.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/filter/tree.hpp"
#include "labeltrees/lom/queries.hpp"
#include "labeltrees/lom/tree.hpp"

using namespace labeltrees;

namespace {

using Batch = tests::LabelledRows;

Batch stream_of(unsigned seed, int n_rows, int n_labels) {
  std::mt19937 random(seed);
  Batch batch;
  for (int r = 0; r < n_rows; ++r) {
    auto f = static_cast<std::int32_t>(random() % 7);
    for (int k = 0; k < 6; ++k, f += 1 + static_cast<std::int32_t>(random() % 300)) {
      batch.add_entry(f, static_cast<float>(1 + random() % 5));
    }
    batch.end_row(static_cast<LabelId>(random() % static_cast<unsigned>(n_labels)));
  }
  return batch;
}

// Lets others have the lock after every row.
class GivesWay final : public LearningWatch {
 public:
  explicit GivesWay(std::unique_lock<TurnLock>& alone) : alone_(alone) {}
  void learned(std::size_t n_rows) override {
    n_learned = n_rows;
    alone_.unlock();
    alone_.lock();
  }
  std::size_t n_learned = 0;

 private:
  std::unique_lock<TurnLock>& alone_;
};

// Two threads learn, one queries, and one reads all saved state.
template <typename Model>
void use_from_all_sides(Model& model, const auto& update, const auto& query, const auto& look,
                        int n_rows = 200) {
  const Batch first = stream_of(1, n_rows, 120), second = stream_of(2, n_rows, 200);
  std::atomic<int> n_learners{2};
  std::atomic<bool> is_sound{true};
  const auto learner = [&](const Batch& batch) {
    std::unique_lock alone(model.mutex());
    GivesWay watch(alone);
    update(model, batch, &watch);
    if (watch.n_learned != batch.labels.size()) is_sound = false;
    --n_learners;
  };
  const auto reader = [&](const auto& read) {
    do {
      const std::shared_lock shared(model.mutex());
      if (!read(model)) is_sound = false;
    } while (n_learners > 0);
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { learner(first); });
  threads.emplace_back([&] { learner(second); });
  threads.emplace_back([&] { reader(query); });
  threads.emplace_back([&] { reader(look); });
  for (std::thread& thread : threads) thread.join();
  CHECK(is_sound);
}

const Batch queried = stream_of(3, 8, 200);

bool are_probabilities(const std::vector<double>& p) {
  return std::all_of(p.begin(), p.end(), [](double x) { return x >= 0 && x <= 1; });
}

bool queried_by_name(const auto& model, auto... more) {
  std::vector<double> p(queried.labels.size());
  label_probabilities(model, queried.view(), queried.labels, tests::reading, p, more...);
  return are_probabilities(p);
}

bool is_whole(const ConditionalTree& model) {
  model.tree().validate();
  return model.masses().size() == model.tree().n_nodes() &&
         model.table().sorted_lines().size() == model.table().size() &&
         model.table().n_bytes() >= sizeof(CountedLine) * model.table().size();
}

}  // namespace

TEST(threads_learn_query_and_save_a_conditional_tree) {
  for (const std::size_t n_threads : {1u, 3u}) {
    ConditionalLearning options = tests::conditional_learning;
    options.n_threads = n_threads;
    options.reading.mixing = true;
    ConditionalTree model;
    use_from_all_sides(
        model,
        [&](ConditionalTree& m, const Batch& batch, LearningWatch* watch) {
          learn(m, batch.view(), batch.labels, {}, {}, {}, options, watch);
        },
        [&](const ConditionalTree& m) { return queried_by_name(m, n_threads); },
        [](const ConditionalTree& m) { return m.tree().empty() || is_whole(m); });
    CHECK(model.mass(0) == 400);
  }
}

TEST(threads_learn_query_and_save_a_filter_tree) {
  ConditionalTree model;
  use_from_all_sides(
      model,
      [](ConditionalTree& m, const Batch& batch, LearningWatch* watch) {
        learn_tournament(m, batch.view(), batch.labels, {}, {}, {}, tests::conditional_learning,
                         watch);
      },
      [](const ConditionalTree& m) {
        std::vector<double> p(queried.labels.size());
        tournament_probabilities(m, queried.view(), queried.labels, tests::reading, p);
        return are_probabilities(p);
      },
      [](const ConditionalTree& m) { return m.tree().empty() || is_whole(m); });
}

TEST(threads_learn_query_and_save_a_lom_tree) {
  LomLearning options = tests::lom_learning;
  options.max_splits = 30;
  LomTree model;
  use_from_all_sides(
      model,
      [&](LomTree& m, const Batch& batch, LearningWatch* watch) {
        learn(m, batch.view(), batch.labels, {}, {}, {}, options, watch);
      },
      [](const LomTree& m) { return queried_by_name(m); },
      [](const LomTree& m) {
        return m.arrays().parent.size() == m.n_nodes() &&
               m.table().sorted_lines().size() == m.table().size() &&
               m.ledgers().sorted_entries().size() > 0 == m.n_labels() > 0;
      });
}

TEST(threads_learn_query_and_save_one_against_all) {
  OneAgainstAll model;
  use_from_all_sides(
      model,
      [](OneAgainstAll& m, const Batch& batch, LearningWatch* watch) {
        learn(m, batch.view(), batch.labels, {}, {}, {}, tests::learning, watch);
      },
      [](const OneAgainstAll& m) { return queried_by_name(m); },
      [](const OneAgainstAll& m) {
        return m.masses().size() == m.n_labels() &&
               m.table().sorted_lines().size() == m.table().size();
      },
      100);
}
