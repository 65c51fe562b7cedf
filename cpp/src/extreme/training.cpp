#include "labeltrees/extreme/training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/spilled.hpp"
#include "labeltrees/platform/system.hpp"
#include "labeltrees/platform/workers.hpp"
#include "labeltrees/rows/read_ahead.hpp"

namespace labeltrees {
namespace {

// The labels in the order of the tree's leaves. Node n has the labels at begin[n] .. end[n].
struct LeafOrder {
  std::vector<LabelId> labels;
  std::vector<std::size_t> begin, end;

  explicit LeafOrder(const LabelTree& tree) : begin(tree.n_nodes()), end(tree.n_nodes()) {
    // A parent's id is smaller than its children's, so ranges are handed down in order of ids.
    labels.resize(tree.n_labels());
    if (!tree.empty()) end[0] = tree.n_labels();
    for (std::size_t n = 0; n < tree.n_nodes(); ++n) {
      const auto node = static_cast<NodeId>(n);
      if (tree.is_leaf(node)) {
        labels[begin[n]] = tree.label(node);
        continue;
      }
      std::size_t from = begin[n];
      for (std::int32_t c = 0; c < tree.n_children(node); ++c) {
        const std::size_t child = index(tree.first_child(node) + c);
        begin[child] = from;
        from += index(tree.n_leaves(static_cast<NodeId>(child)));
        end[child] = from;
      }
    }
  }
};

// A node's problem and the memory it is gathered in, used for one node after another.
class NodeGatherer {
 public:
  NodeGatherer(const LabelTree& tree, const LeafOrder& order, const TrainingRows& X,
               const CsrView& by_label, std::span<const std::int32_t> held,
               const std::string& folder)
      : tree_(tree),
        order_(order),
        X_(X),
        by_label_(by_label),
        held_(held),
        indices_(folder),
        values_(folder) {
    local_row_.assign(X.rows.n_rows(), none);
    local_feature_.assign(X.names.size(), none);
  }

  // Valid until the next call.
  NodeProblem gather(NodeId node) {
    rows_.clear();
    targets_.clear();
    if (node == 0) {
      rows_.resize(local_row_.size());
      std::iota(rows_.begin(), rows_.end(), 0);
      std::iota(local_row_.begin(), local_row_.end(), 0);
      last_.assign(rows_.size(), none);
    }
    for (std::int32_t c = 0; c < tree_.n_children(node); ++c) meet_child(node, c);
    last_.clear();
    for (const std::int32_t row : rows_) local_row_[index(row)] = none;
    move_held_last();
    sort_targets();
    weigh(node == 0);
    copy_rows();
    NodeProblem problem;
    problem.rows = {starts_, indices_.view(), values_.view()};
    problem.is_mapped = indices_.is_mapped();
    problem.n_features = features_.size();
    problem.n_children = index(tree_.n_children(node));
    problem.weights = weights_;
    problem.target_starts = target_starts_;
    problem.target_children = target_children_;
    problem.targets = target_values_;
    problem.n_held = n_held_;
    return problem;
  }

  const std::vector<std::int32_t>& features() const { return features_; }
  std::int32_t held_of(std::size_t h) const {
    return held_[index(rows_[rows_.size() - n_held_ + h])];
  }
  // How many of the rows have a target for each child.
  void count_targets(std::span<std::int64_t> counts) const {
    for (const std::int32_t c : target_children_) ++counts[index(c)];
  }

 private:
  struct Target {
    std::int32_t row, child;
    float relevance;
  };

  void meet_child(NodeId node, std::int32_t c) {
    const std::size_t child = index(tree_.first_child(node) + c);
    for (std::size_t l = order_.begin[child]; l < order_.end[child]; ++l) {
      const SparseRow entries = by_label_.row(index(order_.labels[l]));
      for (std::size_t k = 0; k < entries.size(); ++k) {
        std::int32_t& local = local_row_[index(entries.indices[k])];
        if (local == none) {
          local = static_cast<std::int32_t>(rows_.size());
          rows_.push_back(entries.indices[k]);
          last_.push_back(none);
        }
        std::int64_t& last = last_[index(local)];
        if (last != none && targets_[static_cast<std::size_t>(last)].child == c) {
          Target& target = targets_[static_cast<std::size_t>(last)];
          target.relevance = std::max(target.relevance, entries.values[k]);
        } else {
          last = static_cast<std::int64_t>(targets_.size());
          targets_.push_back({local, c, entries.values[k]});
        }
      }
    }
  }

  // Held-out rows go last; targets follow.
  void move_held_last() {
    std::vector<std::int32_t>& place = place_;
    place.resize(rows_.size());
    std::iota(place.begin(), place.end(), 0);
    const auto is_early = [&](std::int32_t r) { return held_[index(rows_[index(r)])] == none; };
    const auto late = std::stable_partition(place.begin(), place.end(), is_early);
    n_held_ = static_cast<std::size_t>(place.end() - late);
    std::vector<std::int32_t> moved_to(place.size());
    std::vector<std::int32_t> rows(place.size());
    for (std::size_t i = 0; i < place.size(); ++i) {
      rows[i] = rows_[index(place[i])];
      moved_to[index(place[i])] = static_cast<std::int32_t>(i);
    }
    rows_.swap(rows);
    for (Target& target : targets_) target.row = moved_to[index(target.row)];
  }

  void sort_targets() {
    target_starts_.assign(rows_.size() + 1, 0);
    for (const Target& target : targets_) ++target_starts_[index(target.row) + 1];
    std::partial_sum(target_starts_.begin(), target_starts_.end(), target_starts_.begin());
    target_children_.resize(targets_.size());
    target_values_.resize(targets_.size());
    std::vector<std::int64_t> next(target_starts_.begin(), target_starts_.end() - 1);
    for (const Target& target : targets_) {
      const auto to = static_cast<std::size_t>(next[index(target.row)]++);
      target_children_[to] = target.child;
      target_values_[to] = target.relevance;
    }
  }

  // s = mx_n, and z = mx_c / s; both are 1 and mx_c at the root.
  void weigh(bool is_root) {
    weights_.assign(rows_.size(), 1.0f);
    if (is_root) return;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto begin = target_values_.begin() + target_starts_[r];
      const auto end = target_values_.begin() + target_starts_[r + 1];
      weights_[r] = *std::max_element(begin, end);
      for (auto z = begin; z != end; ++z) *z /= weights_[r];
    }
  }

  void copy_rows() {
    starts_.assign(1, 0);
    indices_.clear();
    values_.clear();
    features_.clear();
    const CsrView& X = X_.rows;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (X_.is_mapped && r % rows_at_once == 0) {
        read_ahead(X, std::span<const std::int32_t>(rows_).subspan(
                          r, std::min(rows_at_once, rows_.size() - r)));
      }
      const SparseRow entries = X.row(index(rows_[r]));
      for (std::size_t k = 0; k < entries.size(); ++k) {
        std::int32_t& local = local_feature_[index(entries.indices[k])];
        if (local == none) {
          local = static_cast<std::int32_t>(features_.size());
          features_.push_back(entries.indices[k]);
        }
        indices_.push_back(local);
      }
      values_.append(entries.values);
      starts_.push_back(static_cast<std::int64_t>(indices_.size()));
    }
    for (const std::int32_t f : features_) local_feature_[index(f)] = none;
    if (indices_.is_mapped()) {
      system::read_at_random(indices_.data(), indices_.view().size_bytes());
      system::read_at_random(values_.data(), values_.view().size_bytes());
    }
  }

  static constexpr std::size_t rows_at_once = std::size_t{1} << 12;  // that are read from a file

  const LabelTree& tree_;
  const LeafOrder& order_;
  const TrainingRows& X_;
  const CsrView& by_label_;
  std::span<const std::int32_t> held_;
  std::vector<std::int32_t> local_row_, local_feature_;  // none between calls
  std::vector<std::int32_t> rows_, place_, features_;
  std::vector<std::int64_t> last_;  // target of each row; there may be more than 2^31
  std::vector<Target> targets_;
  std::vector<std::int64_t> starts_, target_starts_;
  SpilledVector<std::int32_t> indices_;
  SpilledVector<float> values_;
  std::vector<std::int32_t> target_children_;
  std::vector<float> target_values_, weights_;
  std::size_t n_held_ = 0;
};

// Collects the weights of a node, panel by panel.
class NodeWeightsBuilder {
 public:
  void start(std::size_t n_features) {
    entries_.clear();
    counts_.assign(n_features + 1, 0);
  }

  // least: the bound that the weights of each child of the panel must exceed.
  void add_panel(const LockstepSolver& solver, std::size_t n_features, std::size_t first,
                 std::size_t last, std::span<const float> least) {
    for (std::size_t f = 0; f < n_features; ++f) {
      const float* w = solver.weights_of(f);
      for (std::size_t c = 0; c < last - first; ++c) {
        if (std::fabs(w[c]) <= least[c]) continue;
        entries_.push_back(
            {static_cast<std::int32_t>(f), static_cast<std::uint8_t>(first + c), w[c]});
      }
    }
  }

  NodeWeights finish(const std::vector<std::int32_t>& features, double max_weights) {
    if (static_cast<double>(entries_.size()) > max_weights)
      keep(static_cast<std::size_t>(max_weights));
    check_weight_count(entries_.size());
    for (const Entry& entry : entries_) ++counts_[index(entry.feature) + 1];
    NodeWeights siblings;
    std::vector<std::uint32_t> next(features.size(), 0);
    std::uint32_t start = 0;
    for (std::size_t f = 0; f < features.size(); ++f) {
      next[f] = start;
      if (counts_[f + 1] == 0) continue;
      start += counts_[f + 1];
      siblings.features.push_back(features[f]);
      siblings.row_starts.push_back(start);
    }
    siblings.columns.resize(entries_.size());
    siblings.values.resize(entries_.size());
    for (const Entry& entry : entries_) {
      const std::uint32_t to = next[index(entry.feature)]++;
      siblings.columns[to] = entry.column;
      siblings.values[to] = float_to_half(entry.weight);
    }
    return siblings;
  }

 private:
  struct Entry {
    std::int32_t feature;
    std::uint8_t column;
    float weight;
  };

  // The n largest entries, fewer where others are as large as the last.
  void keep(std::size_t n) {
    std::vector<float> sizes;
    for (const Entry& entry : entries_) sizes.push_back(std::fabs(entry.weight));
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(n), sizes.end(),
                     std::greater<>());
    const float bound = sizes[n];
    std::erase_if(entries_, [&](const Entry& e) { return std::fabs(e.weight) <= bound; });
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> counts_;
};

HeldMargins join_held(const std::vector<HeldNode>& nodes, std::size_t n_held) {
  HeldMargins joined;
  std::vector<std::int64_t> counts(n_held + 1, 0);
  for (const HeldNode& held : nodes) {
    for (const std::int32_t h : held.held) ++counts[index(h) + 1];
  }
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  joined.starts = counts;
  joined.nodes.resize(static_cast<std::size_t>(counts.back()));
  joined.offsets.resize(joined.nodes.size());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const HeldNode& held = nodes[node];
    if (held.held.empty()) continue;
    const std::size_t n_children = held.margins.size() / held.held.size();
    for (std::size_t i = 0; i < held.held.size(); ++i) {
      const auto to = static_cast<std::size_t>(counts[index(held.held[i])]++);
      joined.nodes[to] = static_cast<NodeId>(node);
      joined.offsets[to] = static_cast<std::int64_t>(joined.margins.size() + i * n_children);
    }
    joined.margins.insert(joined.margins.end(), held.margins.begin(), held.margins.end());
  }
  return joined;
}

class Trainer {
 public:
  Trainer(const LabelTree& tree, std::span<const NodeId> nodes, const TrainingRows& X,
          const CsrView& by_label, std::span<const std::int32_t> held,
          const RelevanceTraining& options)
      : tree_(tree), X_(X), options_(options), order_(tree), workers_(options.n_workers) {
    trained_.nodes.assign(nodes.begin(), nodes.end());
    trained_.weights.resize(nodes.size());
    trained_.held.resize(nodes.size());
    std::size_t n_children = 0;
    for (const NodeId node : nodes) {
      first_child_.push_back(n_children);
      n_children += index(tree.n_children(node));
    }
    trained_.biases.assign(n_children, 0.0f);
    trained_.reach.assign(n_children, 1.0f);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      gatherers_.emplace_back(tree, order_, X, by_label, held, options.folder);
    }
    solvers_.resize(workers_.size());
    builders_.resize(workers_.size());
    sort_tasks(by_label);
  }

  TrainedNodes train() {
    workers_.run(tasks_.size(), [this](std::size_t task, std::size_t worker) {
      train_node(tasks_[task], worker);
    });
    return std::move(trained_);
  }

 private:
  // The largest first, so that no worker is left alone with one at the end.
  void sort_tasks(const CsrView& by_label) {
    std::vector<std::int64_t> entries(tree_.n_nodes(), 0), work(tree_.n_nodes(), 0);
    for (std::size_t n = tree_.n_nodes(); n-- > 0;) {
      const auto node = static_cast<NodeId>(n);
      if (tree_.is_leaf(node)) {
        entries[n] = static_cast<std::int64_t>(by_label.row(index(tree_.label(node))).size());
      } else {
        work[n] = entries[n] * tree_.n_children(node);
      }
      if (n > 0) entries[index(tree_.parent(node))] += entries[n];
    }
    tasks_.resize(trained_.nodes.size());
    std::iota(tasks_.begin(), tasks_.end(), std::size_t{0});
    const auto work_of = [&](std::size_t i) { return work[index(trained_.nodes[i])]; };
    std::sort(tasks_.begin(), tasks_.end(), [&](std::size_t a, std::size_t b) {
      return work_of(a) != work_of(b) ? work_of(a) > work_of(b) : a < b;
    });
  }

  void train_node(std::size_t i, std::size_t worker) {
    NodeGatherer& gatherer = gatherers_[worker];
    const NodeId node = trained_.nodes[i];
    const NodeProblem problem = gatherer.gather(node);
    const std::size_t n_children = problem.n_children;
    count_reach(i, gatherer, n_children);
    HeldNode& held = trained_.held[i];
    held.margins.resize(problem.n_held * n_children);
    for (std::size_t h = 0; h < problem.n_held; ++h) held.held.push_back(gatherer.held_of(h));
    LockstepSolver& solver = solvers_[worker];
    NodeWeightsBuilder& builder = builders_[worker];
    builder.start(problem.n_features);
    const LockstepOptions options{options_.loss, cost_of(problem), options_.max_epochs,
                                  options_.tolerance, combine_hashes(options_.seed, index(node))};
    const std::vector<std::size_t> panels = panel_starts(n_children);
    for (std::size_t p = 0; p + 1 < panels.size(); ++p) {
      const std::size_t first = panels[p], last = panels[p + 1];
      solver.solve(problem, first, last, options);
      float least[max_panel];
      bound_weights(solver, problem.n_features, {least, last - first});
      builder.add_panel(solver, problem.n_features, first, last, {least, last - first});
      const float* bias = solver.weights_of(problem.n_features);
      std::copy_n(bias, last - first, &trained_.biases[first_child_[i] + first]);
      for (std::size_t h = 0; h < problem.n_held; ++h) {
        std::copy_n(solver.held_margins(h), last - first, &held.margins[h * n_children + first]);
      }
    }
    const auto n_entries = static_cast<double>(problem.rows.indices.size());
    NodeWeights& weights = trained_.weights[i];
    weights = builder.finish(gatherer.features(), options_.weights_per_entry * n_entries);
    for (std::int32_t& feature : weights.features) feature = X_.names[index(feature)];
  }

  void count_reach(std::size_t i, const NodeGatherer& gatherer, std::size_t n_children) {
    std::vector<std::int64_t> counts(n_children, 0);
    gatherer.count_targets(counts);
    for (std::size_t c = 0; c < n_children; ++c) {
      trained_.reach[first_child_[i] + c] =
          static_cast<float>(static_cast<double>(counts[c]) / static_cast<double>(options_.n_rows));
    }
  }

  // What the weights of a panel must exceed to be kept. Biases count among a regressor's weights,
  // but are never dropped.
  void bound_weights(const LockstepSolver& solver, std::size_t n_features,
                     std::span<float> least) const {
    std::fill(least.begin(), least.end(), 0.0f);
    for (std::size_t f = 0; f <= n_features && options_.least_share > 0; ++f) {
      const float* w = solver.weights_of(f);
      for (std::size_t c = 0; c < least.size(); ++c) least[c] = std::max(least[c], std::fabs(w[c]));
    }
    for (float& bound : least)
      bound = std::max(bound * options_.least_share, options_.least_weight);
  }

  float cost_of(const NodeProblem& problem) const {
    if (options_.mean_error) {
      const auto n = static_cast<double>(std::max<std::size_t>(problem.weights.size(), 1));
      return static_cast<float>(static_cast<double>(options_.cost) / (2 * n));
    }
    double weight = 0;
    for (const float s : problem.weights) weight += static_cast<double>(s);
    const double ratio = static_cast<double>(options_.n_rows) / std::max(weight, 1e-9);
    return static_cast<float>(static_cast<double>(options_.cost) *
                              elementary::pow(ratio, static_cast<double>(options_.cost_power)));
  }

  const LabelTree& tree_;
  const TrainingRows& X_;
  const RelevanceTraining& options_;
  LeafOrder order_;
  Workers workers_;
  std::vector<std::size_t> tasks_, first_child_;  // first_child_: of each node, in biases and reach
  std::vector<NodeGatherer> gatherers_;
  std::vector<LockstepSolver> solvers_;
  std::vector<NodeWeightsBuilder> builders_;
  TrainedNodes trained_;
};

}  // namespace

TrainedNodes train_nodes(const LabelTree& tree, std::span<const NodeId> nodes,
                         const TrainingRows& X, const CsrView& by_label,
                         std::span<const std::int32_t> held, const RelevanceTraining& options) {
  return Trainer(tree, nodes, X, by_label, held, options).train();
}

TrainedRelevance join_nodes(const LabelTree& tree, std::vector<TrainedNodes> parts,
                            std::size_t n_held) {
  std::vector<NodeWeights> weights(tree.n_nodes());
  std::vector<HeldNode> held(tree.n_nodes());
  std::vector<float> biases(tree.n_nodes(), 0.0f);
  TrainedRelevance joined;
  joined.reach.assign(tree.n_nodes(), 1.0f);
  std::vector<bool> is_there(tree.n_nodes());
  for (TrainedNodes& part : parts) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < part.nodes.size(); ++i) {
      const auto node = static_cast<std::size_t>(part.nodes[i]);  // below 0 is past all nodes
      if (node >= tree.n_nodes() || tree.is_leaf(part.nodes[i]) || is_there[node]) {
        throw TreeError("the parts have a node twice or one that is not in the tree");
      }
      is_there[node] = true;
      const std::size_t n_children = index(tree.n_children(part.nodes[i]));
      const std::size_t to = index(tree.first_child(part.nodes[i]));
      if (part.reach.size() < from + n_children || part.biases.size() < from + n_children ||
          part.held[i].margins.size() != part.held[i].held.size() * n_children) {
        throw TreeError("a part has fewer numbers than its nodes have children");
      }
      std::copy_n(&part.biases[from], n_children, &biases[to]);
      std::copy_n(&part.reach[from], n_children, &joined.reach[to]);
      from += n_children;
      weights[node] = std::move(part.weights[i]);
      held[node] = std::move(part.held[i]);
    }
    part = {};
  }
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (!is_there[node] && !tree.is_leaf(static_cast<NodeId>(node))) {
      throw TreeError("the parts lack a node");
    }
  }
  joined.held = join_held(held, n_held);
  joined.weights = join_weights(weights, std::move(biases));
  return joined;
}

std::vector<NodeId> inner_nodes(const LabelTree& tree) {
  std::vector<NodeId> inner;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (!tree.is_leaf(static_cast<NodeId>(node))) inner.push_back(static_cast<NodeId>(node));
  }
  return inner;
}

std::size_t worker_bytes(const LabelTree& tree, const TrainingSize& size) {
  const auto [n_rows, n_features, n_entries, n_targets] = size;
  std::size_t width = 0;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    width = std::max(width, index(tree.n_children(static_cast<NodeId>(node))));
  }
  const std::size_t panel = padded_width(std::min(width, max_panel));
  const std::size_t gathering = n_rows * 48 + n_features * 24 + n_targets * 28 + n_entries * 12;
  const std::size_t collected = n_features * std::max<std::size_t>(width, 16) * 12;
  return gathering + (n_rows + n_features) * panel * 4 + collected;
}

}  // namespace labeltrees
