#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "labeltrees/conditional/placement.hpp"
#include "labeltrees/conditional/search.hpp"
#include "labeltrees/conditional/update.hpp"
#include "labeltrees/platform/room.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {
namespace {

// Regressors of different blocks share only the mixtures, so blocks can be learned at the same
// time, each from its rows in their order. The number of parts of about equal work does not depend
// on the number of threads. Each part updates its copy of the mixtures, and the copies are
// averaged.
constexpr std::size_t n_parts = 8;
constexpr std::size_t smallest_batch = 64, largest_batch = 1024;

// A row in one block, with the nodes of its path there and its outputs.
struct Visit {
  std::uint32_t block;
  std::uint32_t row;    // in the batch
  std::uint32_t first;  // of the batch's steps
  std::uint32_t n_steps;
  double p = 1;  // of the way through the block
};

// A node on a label's path, and the turn there.
struct Turn {
  NodeId node, left;
  Place place;
  bool right;
};

// A row and the way to its label's leaf, from the root down; none if the label is new.
struct BatchRow {
  PreparedRow row;
  NodeId leaf = none;
  HeardOutputs heard;   // of regressors, on a new label's way to its leaf
  bool is_new = false;  // its label got a leaf
  bool is_planned = false;
  double leaf_mass = 0;  // before
  std::vector<Turn> way;

  void find_way(const ConditionalTree& model, LabelId label) {
    const LabelTree& tree = model.tree();
    way.clear();
    leaf = tree.leaf_of(label);
    if (leaf == none) return;
    for (NodeId child = leaf, node = tree.parent(leaf); node != none;) {
      const NodeId left = tree.first_child(node);
      way.push_back({node, left, model.place(node), child != left});
      child = std::exchange(node, tree.parent(node));
    }
    std::reverse(way.begin(), way.end());
  }
};

// A node of a path.
struct Step {
  std::uint32_t slot;
  bool right;
  NodePast past;
};

class BatchLearner {
 public:
  BatchLearner(ConditionalTree& model, const ConditionalLearning& options, std::size_t n_threads)
      : model_(model),
        options_(options),
        workers_(n_threads),
        placements_(workers_.size(), Placement(model, options)),
        searches_(workers_.size()) {}

  // Rows to learn at once: few at first, while every new label changes much.
  std::size_t batch_size() const noexcept {
    const double seen = model_.tree().empty() ? 0 : model_.mass(0);
    return static_cast<std::size_t>(
        std::clamp(seen / 8, double{smallest_batch}, double{largest_batch}));
  }

  // May throw; then the state is unchanged.
  void read(std::size_t n, const auto& row_of, const auto& label_of) {
    rows_.resize(std::max(rows_.size(), n));
    n_rows_ = n;
    in_chunks([&](std::size_t i, std::size_t worker) {
      BatchRow& row = rows_[i];
      row.row.assign(row_of(i), options_.reading);
      row.is_new = row.is_planned = false;
      row.find_way(model_, label_of(i));
      row.heard.clear();
      if (row.leaf == none && !model_.tree().empty()) {
        placements_[worker].of_new(label_of(i), row.row, row.heard);
      }
    });
  }

  void show(BatchCompanion& companion, std::size_t begin) {
    shown_.clear();
    for (std::size_t i = 0; i < n_rows_; ++i) shown_.push_back(&rows_[i].row);
    companion.read(begin, shown_, workers_);
  }

  void predict_top(std::span<LabelId> top, std::span<double> p_top) {
    in_chunks([&](std::size_t i, std::size_t worker) {
      Found found{none, 0.0};
      searches_[worker].run(model_, rows_[i].row, options_.reading, {&found, 1});
      top[i] = found.label;
      p_top[i] = found.p_label;
    });
  }

  // Gives the row's label a leaf if it has none, and notes what its path will have to learn.
  // Returns whether the label is new. If this or a later step before learning throws, take_back
  // restores the model.
  bool plan(std::size_t i, LabelId label, float weight) {
    const LabelTree& tree = model_.tree();
    BatchRow& planned = rows_[i];
    const bool is_new = tree.leaf_of(label) == none;
    if (tree.empty()) {
      model_.add_root(label);
    } else if (is_new) {
      // Uses the current counts, which Claim 6 needs, and the outputs of regressors before the
      // batch.
      model_.split_leaf(placements_[0].of_new(label, planned.row, planned.heard), label);
    }
    planned.is_new = is_new;
    // Rows before this one may have made the label's leaf, or split it.
    if (tree.leaf_of(label) != planned.leaf) planned.find_way(model_, label);
    make_room(steps_, planned.way.size());
    make_room(visits_, planned.way.size());
    for (const Turn& turn : planned.way) {
      if (visits_.empty() || visits_.back().row != i || visits_.back().block != turn.place.block) {
        visits_.push_back({turn.place.block, static_cast<std::uint32_t>(i),
                           static_cast<std::uint32_t>(steps_.size()), 0});
      }
      ++visits_.back().n_steps;
      const NodePast past{model_.mass(turn.node), model_.mass(turn.left),
                          model_.mass(turn.left + 1)};
      steps_.push_back({turn.place.slot, turn.right, past});
      model_.add_mass(turn.node, weight);
    }
    planned.leaf_mass = model_.mass(planned.leaf);
    model_.add_mass(planned.leaf, weight);
    planned.is_planned = true;
    return is_new;
  }

  // Undoes what plan did, last row first.
  void take_back() noexcept {
    std::size_t step = steps_.size();
    for (std::size_t i = n_rows_; i-- > 0;) {
      const BatchRow& planned = rows_[i];
      if (planned.is_planned) {
        model_.set_mass(planned.leaf, planned.leaf_mass);
        for (std::size_t t = planned.way.size(); t-- > 0;) {
          model_.set_mass(planned.way[t].node, steps_[--step].past.all);
        }
      }
      if (planned.is_new) model_.undo_split();
    }
  }

  // All the memory that learning takes, and who learns what. May throw.
  void prepare() {
    std::size_t n_lines = 0, longest = 0;
    for (const Visit& visit : visits_) {
      n_lines += rows_[visit.row].row.size();
      longest = std::max(longest, rows_[visit.row].row.size());
    }
    share_out();
    for (Scratch& scratch : scratch_) scratch.reserve(longest);
    one_by_one_ = model_.table().would_share(n_lines);
    model_.table().make_room(n_lines, one_by_one_ ? nullptr : &workers_);
  }

  // Learns what was planned and prepared. weight_of(i): of row i. Returns the first row, by its
  // place in the batch, that would have made a weight grow past all measure, or n_rows.
  std::size_t learn(const auto& weight_of, BatchCompanion* companion) {
    failed_.fill(n_rows_);
    n_updates_.fill({});
    copies_.fill(model_.mixtures());
    if (one_by_one_) {
      if (companion != nullptr) companion->learn();
      for (std::size_t p = 0; p < n_parts; ++p) learn_part(p, weight_of);
    } else {
      const std::size_t before = companion == nullptr ? 0 : 1;
      const auto task = [&](std::size_t number, std::size_t) {
        if (number < before) return companion->learn();  // the longest
        learn_part(number - before, weight_of);
      };
      workers_.run(n_parts + before, std::ref(task));  // a copy could take memory
    }
    model_.table().count_lines();
    average_mixtures();
    return *std::min_element(failed_.begin(), failed_.end());
  }

  // Multiplies each row's way through its blocks into p, and forgets the batch.
  void finish(std::span<double> p) {
    for (const Visit& visit : visits_) {
      if (!p.empty()) p[visit.row] *= visit.p;
    }
    visits_.clear();
    steps_.clear();
  }

 private:
  void in_chunks(const auto& task) {
    constexpr std::size_t chunk = 32;
    workers_.run((n_rows_ + chunk - 1) / chunk, [&](std::size_t number, std::size_t worker) {
      const std::size_t end = std::min(n_rows_, (number + 1) * chunk);
      for (std::size_t i = number * chunk; i < end; ++i) task(i, worker);
    });
  }

  // Sorts visits by block (rows stay in order) and gives every block to the part with least to do,
  // largest first.
  void share_out() {
    order_.resize(visits_.size());
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      order_[i] = std::uint64_t{visits_[i].block} << 32 | i;
    }
    std::sort(order_.begin(), order_.end());
    blocks_.clear();
    for (std::uint32_t at = 0; at < order_.size(); ++at) {
      const Visit& visit = visit_at(at);
      if (at == 0 || visit_at(at - 1).block != visit.block) blocks_.push_back({at, at, 0});
      blocks_.back().end = at + 1;
      blocks_.back().cost += rows_[visit.row].row.size();
    }
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](const Block& a, const Block& b) { return a.cost > b.cost; });
    for (auto& part : parts_) part.clear();
    std::array<std::size_t, n_parts> load{};
    for (const Block& block : blocks_) {
      const auto least =
          static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
      load[least] += block.cost;
      for (std::uint32_t at = block.begin; at < block.end; ++at) {
        parts_[least].push_back(static_cast<std::uint32_t>(order_[at]));
      }
    }
  }

  const Visit& visit_at(std::size_t at) const {
    return visits_[static_cast<std::uint32_t>(order_[at])];
  }

  void learn_part(std::size_t p, const auto& weight_of) noexcept {
    const std::vector<std::uint32_t>& part = parts_[p];
    CountedTable& table = model_.table();
    auto& [guesses, next, lines] = scratch_[p];
    const auto for_keys = [&](std::size_t at, const auto& use) {
      if (at >= part.size()) return;
      const Visit& visit = visits_[part[at]];
      for (const std::uint32_t feature : rows_[visit.row].row.features) {
        use(CountedTable::key(visit.block, feature));
      }
    };
    const auto guess = [&](std::size_t at, std::vector<const CountedLine*>& into) {
      into.clear();
      for_keys(at, [&](std::uint64_t key) { into.push_back(table.guess_place(key)); });
    };
    const auto prefetch_tags = [&](std::size_t at) {
      for_keys(at, [&](std::uint64_t key) { table.prefetch_tags(key); });
    };
    guess(0, next);
    prefetch_tags(1);
    for (std::size_t at = 0; at < part.size(); ++at) {
      std::swap(guesses, next);
      guess(at + 1, next);
      prefetch_tags(at + 2);
      Visit& visit = visits_[part[at]];
      const PreparedRow& row = rows_[visit.row].row;
      lines.clear();
      for (std::size_t k = 0; k < row.size(); ++k) {
        lines.push_back(&table.obtain(CountedTable::key(visit.block, row.features[k]), guesses[k]));
      }
      if (!learn_visit(visit, lines, row, weight_of(visit.row), p)) {
        failed_[p] = std::min<std::size_t>(failed_[p], visit.row);
        return;
      }
    }
  }

  bool learn_visit(Visit& visit, std::span<CountedLine* const> lines, const PreparedRow& row,
                   float weight, std::size_t p) {
    const float largest = may_diverge(options_.reading) ? row.largest() : 0;
    for (std::uint32_t s = visit.first; s < visit.first + visit.n_steps; ++s) {
      const Step& step = steps_[s];
      const std::size_t kind = mixture_of(step.past.all);
      Mixture& mixture = copies_[p][kind];
      NodeOutput output;
      evaluate_slot(step.slot, lines, row.values, step.past, mixture, options_.reading, output);
      if (may_diverge(options_.reading) &&
          !may_step(weight * slope(output.margin, step.right, options_.reading.loss), largest,
                    options_.optimizer, options_.learning_rate)) {
        return false;
      }
      visit.p *= step.right ? output.p_node : 1.0 - output.p_node;
      update_node(lines, step.slot, row, output, step.right, weight, mixture, options_);
      ++n_updates_[p][kind];
    }
    return true;
  }

  // Each copy is weighted by the number of its updates.
  void average_mixtures() {
    for (std::size_t kind = 0; kind < n_mixtures; ++kind) {
      double times = 0;
      std::array<double, n_mixed> sum{};
      for (std::size_t p = 0; p < n_parts; ++p) {
        const auto n = static_cast<double>(n_updates_[p][kind]);
        times += n;
        for (std::size_t i = 0; i < n_mixed; ++i) sum[i] += n * double{copies_[p][kind][i]};
      }
      if (times == 0) continue;
      for (std::size_t i = 0; i < n_mixed; ++i) {
        model_.mixtures()[kind][i] = static_cast<float>(sum[i] / times);
      }
    }
  }

  // What a part needs while it learns a visit.
  struct Scratch {
    std::vector<const CountedLine*> guesses, next;
    std::vector<CountedLine*> lines;

    void reserve(std::size_t row_size) {
      guesses.reserve(row_size);
      next.reserve(row_size);
      lines.reserve(row_size);
    }
  };

  struct Block {
    std::uint32_t begin, end;  // of its visits in order_
    std::size_t cost;
  };

  ConditionalTree& model_;
  const ConditionalLearning& options_;
  Workers workers_;
  std::vector<Placement> placements_;  // of each worker
  std::vector<TopSearch> searches_;    // of each worker
  std::vector<BatchRow> rows_;
  std::vector<const PreparedRow*> shown_;
  std::size_t n_rows_ = 0;
  std::vector<Visit> visits_;  // row by row, each from the root down
  std::vector<Step> steps_;
  std::vector<std::uint64_t> order_;  // block and number of each visit, sorted
  std::vector<Block> blocks_;
  std::array<std::vector<std::uint32_t>, n_parts> parts_;
  std::array<Scratch, n_parts> scratch_;
  bool one_by_one_ = false;  // parts are learned one after the other
  std::array<Mixtures, n_parts> copies_;
  std::array<std::array<std::uint32_t, n_mixtures>, n_parts> n_updates_;
  std::array<std::size_t, n_parts> failed_;
};

}  // namespace

void learn_in_batches(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch, BatchCompanion* companion) {
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  const CountedTable::Growing growing(model.table());
  // Starting threads costs as much as learning some tens of rows.
  BatchLearner learner(model, options, n < largest_batch / 4 ? 1 : options.n_threads);
  const auto row_at = [&](std::size_t i) {
    return order.empty() ? i : static_cast<std::size_t>(order[i]);
  };
  const auto part_of = [](auto span, std::size_t begin, std::size_t count) {
    return span.empty() ? span : span.subspan(begin, count);
  };
  for (std::size_t begin = 0, count = 0; begin < n; begin += count) {
    count = std::min(learner.batch_size(), n - begin);
    const auto weight_of = [&](std::size_t i) {
      return weights.empty() ? 1.0f : weights[row_at(begin + i)];
    };
    learner.read(
        count, [&](std::size_t i) { return X.row(row_at(begin + i)); },
        [&](std::size_t i) { return labels[row_at(begin + i)]; });
    if (companion != nullptr) learner.show(*companion, begin);
    if (!prediction.top.empty()) {
      learner.predict_top(prediction.top.subspan(begin, count),
                          prediction.p_top.subspan(begin, count));
    }
    const auto p_label = part_of(prediction.p_label, begin, count);
    try {
      for (std::size_t i = 0; i < count; ++i) {
        const LabelId label = labels[row_at(begin + i)];
        const bool learned = weight_of(i) > 0;
        const bool is_new =
            learned ? learner.plan(i, label, weight_of(i)) : model.tree().leaf_of(label) == none;
        if (!prediction.is_new.empty()) prediction.is_new[begin + i] = is_new ? 1 : 0;
        if (!p_label.empty()) p_label[i] = is_new || !learned ? 0 : 1;
      }
      learner.prepare();
    } catch (...) {
      learner.take_back();
      throw;
    }
    const std::size_t failed = learner.learn(weight_of, companion);
    learner.finish(p_label);
    if (failed < count) throw Diverged(row_at(begin + failed));
    if (watch != nullptr) watch->learned(begin + count);
  }
}

}  // namespace labeltrees
