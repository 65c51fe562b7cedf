#include "labeltrees/extreme/labelwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {
namespace {

struct ScoredRow {
  double p;
  double score;
  std::int32_t row;
};
bool row_before(const ScoredRow& a, const ScoredRow& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

// What ranks a row; grows with p.
class Ranking {
 public:
  explicit Ranking(const Labelwise& options) : map_(options.calibration) {
    for (const double mass : options.masses) shifts_.push_back(logit_shift(map_, mass));
  }
  double score(double p, std::int32_t row) const {
    return shifts_.empty() ? p : calibrated_logit(map_, p, shifts_[index(row)]);
  }
  // A little less than a label's bar. Rounding may score a parent, or the best of several trees,
  // below a child or the trees' mean; candidates too many cost nothing.
  double below(double bar) const { return shifts_.empty() ? bar * (1 - 1e-12) : bar - 1e-9; }

 private:
  const Calibration map_;
  std::vector<double> shifts_;  // of every row; empty if p itself ranks
};
constexpr double worst_score = -std::numeric_limits<double>::infinity();

// The n best of the rows, in any order.
void keep_best(std::vector<ScoredRow>& rows, std::size_t n) {
  if (rows.size() <= n) return;
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end(),
                   row_before);
  rows.resize(n);
}

// A tree's weights by node, and the rows of X in the tree's own features, of length 1.
struct TreeRows {
  std::vector<std::uint32_t> node_starts, node_rows, row_feature;
  std::vector<std::int64_t> starts{0};
  std::vector<std::uint32_t> features;
  std::vector<float> values;

  TreeRows(const RelevanceTree& tree, const CsrView& X) {
    const SiblingWeights& weights = tree.weights;
    node_starts.assign(tree.tree->n_nodes() + 1, 0);
    for (const std::int32_t parent : weights.row_parents) ++node_starts[index(parent) + 1];
    std::partial_sum(node_starts.begin(), node_starts.end(), node_starts.begin());
    node_rows.resize(weights.row_parents.size());
    row_feature.resize(weights.row_parents.size());
    std::vector<std::uint32_t> next(node_starts.begin(), node_starts.end() - 1);
    for (std::size_t f = 0; f < weights.features.size(); ++f) {
      for (std::uint32_t r = weights.feature_rows[f]; r < weights.feature_rows[f + 1]; ++r) {
        row_feature[r] = static_cast<std::uint32_t>(f);
        node_rows[next[index(weights.row_parents[r])]++] = r;
      }
    }
    for (std::size_t i = 0; i < X.n_rows(); ++i) add(X.row(i), weights.features);
  }

 private:
  void add(const SparseRow& row, std::span<const std::int32_t> known) {
    double square = 0;
    for (const float value : row.values) square += static_cast<double>(value) * value;
    const double length = std::sqrt(square);
    auto from = known.begin();
    for (std::size_t k = 0; k < row.size(); ++k) {
      from = std::lower_bound(from, known.end(), row.indices[k]);
      if (from == known.end()) break;
      if (*from != row.indices[k] || row.values[k] == 0.0f) continue;
      features.push_back(static_cast<std::uint32_t>(from - known.begin()));
      values.push_back(static_cast<float>(static_cast<double>(row.values[k]) / length));
    }
    starts.push_back(static_cast<std::int64_t>(features.size()));
  }
};

// Evaluates one node's children for many rows.
class NodeScorer {
 public:
  NodeScorer(const RelevanceTree& tree, const RelevanceForest& forest, const TreeRows& rows)
      : tree_(tree), forest_(forest), rows_(rows), place_(tree.weights.features.size(), no_row) {}

  // answers has points x n_children entries.
  void score(NodeId node, std::span<const ScoredRow> points, float* answers) {
    const SiblingWeights& weights = tree_.weights;
    const std::uint32_t begin = rows_.node_starts[index(node)];
    const std::uint32_t end = rows_.node_starts[index(node) + 1];
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t r = rows_.node_rows[i];
      place_[rows_.row_feature[r]] = r;
    }
    const std::size_t n = index(tree_.tree->n_children(node));
    const float* biases = &weights.biases[index(tree_.tree->first_child(node))];
    constexpr std::size_t rows_between_looks = 256;
    float margins[max_children];
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % rows_between_looks == 0) look_up();
      std::fill(margins, margins + max_children, 0.0f);
      std::copy_n(biases, n, margins);
      add_margins(index(points[i].row), margins);
      answer_margins(*tree_.tree, node, forest_.loss, forest_.inner_power, margins);
      std::copy_n(margins, n, answers + i * n);
    }
    for (std::uint32_t i = begin; i < end; ++i)
      place_[rows_.row_feature[rows_.node_rows[i]]] = no_row;
  }

 private:
  void add_margins(std::size_t row, float* margins) const {
    const SiblingWeights& weights = tree_.weights;
    for (std::int64_t k = rows_.starts[row]; k < rows_.starts[row + 1]; ++k) {
      const std::uint32_t r = place_[rows_.features[static_cast<std::size_t>(k)]];
      if (r == no_row) continue;
      const float x = rows_.values[static_cast<std::size_t>(k)];
      for (std::uint32_t i = weights.row_starts[r]; i < weights.row_starts[r + 1]; ++i) {
        margins[weights.columns[i]] += x * half_to_float(weights.values[i]);
      }
    }
  }

  const RelevanceTree& tree_;
  const RelevanceForest& forest_;
  const TreeRows& rows_;
  // Rows of weights are fewer than 2^32, so that no row has this number; see join_weights.
  static constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place_;  // of each feature in the node at hand; no_row between calls
};

// One pass over one tree, which finds the candidates of every requested label.
class TreePass {
 public:
  // bars: of every requested label, or empty for Algorithm 1, which keeps n_kept rows of each.
  TreePass(const RelevanceTree& tree, const RelevanceForest& forest, const CsrView& X,
           std::span<const LabelId> labels, std::span<const double> bars, std::size_t n_kept,
           const Labelwise& options, const Ranking& ranking, Workers& workers)
      : tree_(tree),
        n_rows_(X.n_rows()),
        bars_(bars),
        n_kept_(n_kept),
        options_(options),
        ranking_(ranking),
        workers_(workers),
        rows_(tree, X),
        found(labels.size()) {
    for (std::size_t i = 0; i < workers.size(); ++i) scorers_.emplace_back(tree_, forest, rows_);
    const std::size_t n_nodes = tree.tree->n_nodes();
    place_.assign(n_nodes, none);
    requested_.assign(n_nodes, 0);
    bar_.assign(n_nodes, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const NodeId leaf = tree.tree->leaf_of(labels[i]);
      if (leaf == none) continue;
      place_[index(leaf)] = static_cast<std::int32_t>(i);
      requested_[index(leaf)] = 1;
      bar_[index(leaf)] = bars.empty() ? worst_score : ranking.below(bars[i]);
    }
    for (std::size_t n = n_nodes; n-- > 1;) {
      const std::size_t parent = index(tree.tree->parent(static_cast<NodeId>(n)));
      requested_[parent] |= requested_[n];
      bar_[parent] = std::min(bar_[parent], bar_[n]);
    }
  }

 private:
  struct Task {
    NodeId node;
    std::vector<ScoredRow> points;
  };
  const RelevanceTree& tree_;
  std::size_t n_rows_;
  std::span<const double> bars_;
  std::size_t n_kept_;
  const Labelwise& options_;
  const Ranking& ranking_;
  Workers& workers_;
  TreeRows rows_;
  std::vector<NodeScorer> scorers_;
  std::vector<std::int32_t> place_;      // of each leaf among the requested labels
  std::vector<std::uint8_t> requested_;  // whether a label below the node is requested
  std::vector<double> bar_;              // least bar of the labels below the node

 public:
  std::vector<std::vector<ScoredRow>> found;  // of every requested label

  void run() {
    std::vector<ScoredRow> all(n_rows_);
    for (std::size_t i = 0; i < n_rows_; ++i) all[i] = {1.0, 0.0, static_cast<std::int32_t>(i)};
    std::vector<Task> tasks;
    if (requested_[0] != 0) tasks.push_back({0, std::move(all)});
    // The top of the tree, rows shared out, until there are subtrees enough to share out instead.
    while (!tasks.empty() && tasks.size() < 4 * workers_.size()) {
      const auto largest = std::max_element(
          tasks.begin(), tasks.end(),
          [](const Task& a, const Task& b) { return a.points.size() < b.points.size(); });
      const Task task = std::move(*largest);
      tasks.erase(largest);
      std::vector<float> answers(task.points.size() * index(tree_.tree->n_children(task.node)));
      score_together(task, answers);
      hand_down(task, answers, tasks);
    }
    std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
      return a.points.size() != b.points.size() ? a.points.size() > b.points.size()
                                                : a.node < b.node;
    });
    workers_.run(tasks.size(), [&](std::size_t t, std::size_t worker) {
      descend(std::move(tasks[t]), scorers_[worker]);
    });
  }

 private:
  void score_together(const Task& task, std::vector<float>& answers) {
    const std::size_t n = index(tree_.tree->n_children(task.node)), block = 1024;
    workers_.run((task.points.size() + block - 1) / block, [&](std::size_t b, std::size_t worker) {
      const std::size_t from = b * block, count = std::min(block, task.points.size() - from);
      scorers_[worker].score(task.node, std::span(task.points).subspan(from, count),
                             &answers[from * n]);
    });
  }

  void descend(Task first, NodeScorer& scorer) {
    std::vector<Task> stack;
    stack.push_back(std::move(first));
    std::vector<float> answers;
    while (!stack.empty()) {
      const Task task = std::move(stack.back());
      stack.pop_back();
      answers.resize(task.points.size() * index(tree_.tree->n_children(task.node)));
      scorer.score(task.node, task.points, answers.data());
      hand_down(task, answers, stack);
    }
  }

  // Gives each child the rows it is evaluated for; labels store theirs.
  void hand_down(const Task& task, const std::vector<float>& answers, std::vector<Task>& tasks) {
    const NodeId first = tree_.tree->first_child(task.node);
    const std::size_t n = index(tree_.tree->n_children(task.node));
    for (std::size_t c = 0; c < n; ++c) {
      const NodeId child = first + static_cast<NodeId>(c);
      if (requested_[index(child)] == 0) continue;
      std::vector<ScoredRow> points;
      for (std::size_t i = 0; i < task.points.size(); ++i) {
        const double p = task.points[i].p * static_cast<double>(answers[i * n + c]);
        const double score = ranking_.score(p, task.points[i].row);
        if (score >= bar_[index(child)]) points.push_back({p, score, task.points[i].row});
      }
      const bool is_label = tree_.tree->is_leaf(child);
      if (bars_.empty()) keep_best(points, is_label ? n_kept_ : share_of(child));
      if (is_label) {
        found[index(place_[index(child)])] = std::move(points);
      } else if (!points.empty()) {
        tasks.push_back({child, std::move(points)});
      }
    }
  }

  std::size_t share_of(NodeId node) const {
    // A little less, lest the rounding of a share to 32 bits lift a whole number to the next.
    const double reach = static_cast<double>(tree_.reach[index(node)]) * (1 - 1e-6);
    const double share = std::ceil(options_.factor * reach * static_cast<double>(n_rows_));
    const double least = static_cast<double>(n_kept_);
    return static_cast<std::size_t>(
        std::clamp(share, least, std::max(least, static_cast<double>(n_rows_))));
  }
};

// Replaces every candidate's score by the mean of all trees, each candidate once.
void fill_in(QueryPool& pool, const CsrView& X, std::span<const LabelId> labels,
             const Ranking& ranking, std::size_t n_workers,
             std::vector<std::vector<ScoredRow>>& found) {
  struct Pair {
    std::int32_t row;
    std::uint32_t label, place;
  };
  std::vector<Pair> pairs;
  for (std::size_t l = 0; l < found.size(); ++l) {
    auto& rows = found[l];
    std::sort(rows.begin(), rows.end(),
              [](const ScoredRow& a, const ScoredRow& b) { return a.row < b.row; });
    rows.erase(std::unique(rows.begin(), rows.end(),
                           [](const ScoredRow& a, const ScoredRow& b) { return a.row == b.row; }),
               rows.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      pairs.push_back({rows[i].row, static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return a.row != b.row ? a.row < b.row : a.label < b.label;
  });
  std::vector<std::size_t> begin(X.n_rows() + 1, 0);
  for (const Pair& pair : pairs) ++begin[index(pair.row) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  query_rows(pool, X, {}, n_workers, [&](std::size_t r, ForestQuery& query) {
    for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) {
      ScoredRow& candidate = found[pairs[i].label][pairs[i].place];
      candidate.p = query.label(labels[pairs[i].label]);
      candidate.score = ranking.score(candidate.p, candidate.row);
    }
  });
}

// Replaces the candidates of several trees by one each, the sum over all trees, 0 where a tree did
// not find the row.
void add_up(const Ranking& ranking, std::size_t n_trees,
            std::vector<std::vector<ScoredRow>>& found) {
  for (auto& rows : found) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const ScoredRow& a, const ScoredRow& b) { return a.row < b.row; });
    std::size_t n = 0;
    for (std::size_t i = 0; i < rows.size(); ++n) {
      const std::int32_t row = rows[i].row;
      double sum = 0;
      for (; i < rows.size() && rows[i].row == row; ++i) sum += rows[i].p;
      const double p = sum / static_cast<double>(n_trees);
      rows[n] = {p, ranking.score(p, row), row};
    }
    rows.resize(n);
  }
}

// The candidates of every label with their scores, from all trees together.
std::vector<std::vector<ScoredRow>> candidates(QueryPool& pool, const CsrView& X,
                                               std::span<const LabelId> labels,
                                               std::span<const double> bars,
                                               const Labelwise& options, const Ranking& ranking,
                                               Workers& workers) {
  const RelevanceForest& forest = pool.forest();
  const bool alone = forest.trees.size() == 1;
  const bool fills = forest.fill_missing || options.exact;
  const std::size_t n_kept = alone || !fills ? options.k : options.k + 10;
  std::vector<std::vector<ScoredRow>> found(labels.size());
  for (const RelevanceTree& tree : forest.trees) {
    TreePass pass(tree, forest, X, labels, bars, n_kept, options, ranking, workers);
    pass.run();
    for (std::size_t l = 0; l < labels.size(); ++l) {
      found[l].insert(found[l].end(), pass.found[l].begin(), pass.found[l].end());
    }
  }
  if (!alone && fills) fill_in(pool, X, labels, ranking, options.n_workers, found);
  if (!alone && !fills) add_up(ranking, forest.trees.size(), found);
  for (auto& rows : found) {
    keep_best(rows, options.k);
    std::sort(rows.begin(), rows.end(), row_before);
  }
  return found;
}

}  // namespace

void labelwise_top_rows(QueryPool& pool, const CsrView& X, std::span<const LabelId> labels,
                        const Labelwise& options, std::span<std::int64_t> rows,
                        std::span<double> p) {
  Workers workers(options.n_workers);
  const Ranking ranking(options);
  auto found = candidates(pool, X, labels, {}, options, ranking, workers);
  if (options.exact) {
    std::vector<double> bars;
    for (const auto& best : found) {
      bars.push_back(best.size() == options.k ? best.back().score : worst_score);
    }
    found = candidates(pool, X, labels, bars, options, ranking, workers);
  }
  const std::size_t k = options.k;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    for (std::size_t i = 0; i < k; ++i) {
      rows[l * k + i] = i < found[l].size() ? found[l][i].row : none;
      p[l * k + i] = i < found[l].size() ? found[l][i].p : 0.0;
    }
  }
}

}  // namespace labeltrees
