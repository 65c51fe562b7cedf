#include "labeltrees/baselines/one_vs_rest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {
namespace {

struct KeptWeight {
  std::int32_t feature, label;
  float value;
};

// The results of the panels, each in a separate place, joined when all are done.
struct LabelPanels {
  std::vector<std::size_t> starts;
  std::vector<std::vector<KeptWeight>> weights;
  OneVsRestWeights joined;

  explicit LabelPanels(std::size_t n_labels) : starts(panel_starts(n_labels)) {
    weights.resize(size());
    joined.biases.assign(n_labels, 0.0f);
    joined.gaps.assign(size(), 0.0);
    joined.epochs.assign(size(), 0);
  }

  std::size_t size() const { return starts.size() - 1; }

  OneVsRestWeights join(std::size_t n_features) {
    joined.starts.assign(n_features + 1, 0);
    for (const std::vector<KeptWeight>& panel : weights) {
      for (const KeptWeight& w : panel) ++joined.starts[index(w.feature) + 1];
    }
    std::partial_sum(joined.starts.begin(), joined.starts.end(), joined.starts.begin());
    joined.labels.resize(static_cast<std::size_t>(joined.starts.back()));
    joined.values.resize(joined.labels.size());
    std::vector<std::int64_t> next(joined.starts.begin(), joined.starts.end() - 1);
    for (std::vector<KeptWeight>& panel : weights) {  // labels increase from panel to panel
      for (const KeptWeight& w : panel) {
        const auto to = static_cast<std::size_t>(next[index(w.feature)]++);
        joined.labels[to] = w.label;
        joined.values[to] = w.value;
      }
      panel = {};
    }
    return std::move(joined);
  }
};

// The rows by feature. Entries of feature f are row and value.
struct FeatureColumns {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> rows;
  std::vector<float> values;
  std::vector<float> squares;  // sum of the squared values of a feature

  FeatureColumns(const CsrView& X, std::size_t n_features) : starts(n_features + 1, 0) {
    for (const std::int32_t f : X.indices) ++starts[index(f) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    rows.resize(X.indices.size());
    values.resize(X.indices.size());
    squares.assign(n_features, 0.0f);
    std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t r = 0; r < X.n_rows(); ++r) {
      const SparseRow row = X.row(r);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const std::size_t f = index(row.indices[k]);
        const auto to = static_cast<std::size_t>(next[f]++);
        rows[to] = static_cast<std::int32_t>(r);
        values[to] = row.values[k];
        squares[f] += row.values[k] * row.values[k];
      }
    }
  }
};

// The lasso of at most max_panel labels. Lanes are labels; slack = 1 - y m of every row.
class LassoPanel {
 public:
  LassoPanel(const OneVsRestProblem& problem, const FeatureColumns& columns,
             const LassoOptions& options)
      : problem_(problem), columns_(columns), options_(options) {}

  void solve(std::size_t first, std::size_t last) {
    n_lanes_ = padded_width(last - first);
    const std::size_t n_rows = problem_.rows.n_rows();
    signs_.assign(n_rows * n_lanes_, -1.0f);
    for (std::size_t r = 0; r < n_rows; ++r) {
      for (const std::int32_t label : problem_.labels.row(r).indices) {
        const std::size_t lane = index(label) - first;  // wraps to a large number for labels before
                                                        // the panel
        if (lane < last - first) signs_[r * n_lanes_ + lane] = 1.0f;
      }
    }
    slacks_.assign(n_rows * n_lanes_, 1.0f);
    weights_.assign(problem_.n_features * n_lanes_, 0.0f);
    biases_.assign(n_lanes_, 0.0f);
    moves_.assign(n_lanes_, 0.0f);
    gradients_.assign(n_lanes_, 0.0f);
    descend();
  }

  const float* weights_of(std::size_t f) const { return &weights_[f * n_lanes_]; }
  const float* biases() const { return biases_.data(); }
  int epochs() const { return epochs_; }
  double violation() const { return violation_; }

 private:
  // Features whose weights are all 0 are visited in every fourth pass only. Such a pass measures
  // how far the labels are from their optimum.
  void descend() {
    double at_start = 0;
    violation_ = 1;
    for (epochs_ = 0; epochs_ < options_.max_epochs; ++epochs_) {
      const bool all = epochs_ % 4 == 0;
      const double left = pass(all);
      if (epochs_ == 0) at_start = left;
      if (all) violation_ = at_start > 0 ? left / at_start : 0.0;
      if (violation_ <= options_.tolerance) return;
    }
  }

  // Returns the violated optimality that it met.
  double pass(bool all) {
    double violation = move_biases();
    for (std::size_t f = 0; f < problem_.n_features; ++f) {
      if ((f & 255) == 0) look_up();
      const float* w = weights_of(f);
      if (all || std::any_of(w, w + n_lanes_, [](float x) { return x != 0.0f; })) {
        violation += move(f);
      }
    }
    return violation;
  }

  double move(std::size_t f) {
    const auto begin = static_cast<std::size_t>(columns_.starts[f]);
    const auto end = static_cast<std::size_t>(columns_.starts[f + 1]);
    if (begin == end) return 0;
    std::fill(gradients_.begin(), gradients_.end(), 0.0f);
    for (std::size_t k = begin; k < end; ++k) add_gradient(columns_.rows[k], columns_.values[k]);
    const float scale = 2.0f * options_.cost, bound = scale * columns_.squares[f];
    float* w = &weights_[f * n_lanes_];
    bool moved = false;
    double violation = 0;
    for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
      const float g = -scale * gradients_[lane];
      // The gradient's part that no subgradient of |w| takes back.
      const float off = w[lane] > 0   ? g + 1.0f
                        : w[lane] < 0 ? g - 1.0f
                                      : std::max(std::fabs(g) - 1.0f, 0.0f);
      violation += static_cast<double>(std::fabs(off));
      const float to = w[lane] - g / bound;
      const float next = std::copysign(std::max(std::fabs(to) - 1.0f / bound, 0.0f), to);
      moves_[lane] = next - w[lane];
      w[lane] = next;
      moved |= moves_[lane] != 0.0f;
    }
    if (!moved) return violation;
    for (std::size_t k = begin; k < end; ++k) move_row(columns_.rows[k], columns_.values[k]);
    return violation;
  }

  double move_biases() {
    double violation = 0;
    std::fill(gradients_.begin(), gradients_.end(), 0.0f);
    const auto n_rows = static_cast<std::int32_t>(problem_.rows.n_rows());
    for (std::int32_t r = 0; r < n_rows; ++r) add_gradient(r, 1.0f);
    for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
      moves_[lane] = gradients_[lane] / static_cast<float>(n_rows);
      biases_[lane] += moves_[lane];
      violation += static_cast<double>(2.0f * options_.cost * std::fabs(gradients_[lane]));
    }
    for (std::int32_t r = 0; r < n_rows; ++r) move_row(r, 1.0f);
    return violation;
  }

  // The sum of y x max(0, slack), which is the loss's gradient over -2 cost.
  void add_gradient(std::int32_t row, float x) {
    const float* slack = &slacks_[index(row) * n_lanes_];
    const float* sign = &signs_[index(row) * n_lanes_];
    float* gradient = gradients_.data();
    for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
      gradient[lane] += x * sign[lane] * (slack[lane] > 0.0f ? slack[lane] : 0.0f);
    }
  }

  void move_row(std::int32_t row, float x) {
    float* slack = &slacks_[index(row) * n_lanes_];
    const float* sign = &signs_[index(row) * n_lanes_];
    const float* move = moves_.data();
    for (std::size_t lane = 0; lane < n_lanes_; ++lane)
      slack[lane] -= sign[lane] * (x * move[lane]);
  }

  const OneVsRestProblem& problem_;
  const FeatureColumns& columns_;
  const LassoOptions& options_;
  std::size_t n_lanes_ = 0;
  std::vector<float> signs_, slacks_, weights_, biases_, moves_, gradients_;
  int epochs_ = 0;
  double violation_ = 0;
};

// Takes a panel's weights that are larger than least_weight.
template <typename Solver>
void collect_weights(const Solver& solver, std::size_t n_features, std::size_t first,
                     std::size_t last, float least_weight, std::vector<KeptWeight>& found) {
  for (std::size_t f = 0; f < n_features; ++f) {
    const float* w = solver.weights_of(f);
    for (std::size_t lane = 0; lane < last - first; ++lane) {
      if (std::fabs(w[lane]) <= least_weight) continue;
      found.push_back(
          {static_cast<std::int32_t>(f), static_cast<std::int32_t>(first + lane), w[lane]});
    }
  }
}

}  // namespace

OneVsRestWeights train_ridge(const OneVsRestProblem& problem, const RidgeOptions& options,
                             std::size_t n_workers) {
  const std::vector<float> ones(problem.rows.n_rows(), 1.0f);
  NodeProblem node;
  node.rows = problem.rows;
  node.n_features = problem.n_features;
  node.n_children = problem.n_labels;
  node.weights = ones;
  node.target_starts = problem.labels.row_starts;
  node.target_children = problem.labels.indices;
  node.targets = problem.labels.values;
  LabelPanels panels(problem.n_labels);
  Workers workers(std::min(n_workers, panels.size()));
  std::vector<LockstepSolver> solvers(workers.size());
  const LockstepOptions lockstep{options.loss, options.cost, options.max_epochs, options.tolerance,
                                 options.seed};
  workers.run(panels.size(), [&](std::size_t p, std::size_t worker) {
    LockstepSolver& solver = solvers[worker];
    const std::size_t first = panels.starts[p], last = panels.starts[p + 1];
    solver.solve(node, first, last, lockstep);
    collect_weights(solver, problem.n_features, first, last, options.least_weight,
                    panels.weights[p]);
    std::copy_n(solver.weights_of(problem.n_features), last - first, &panels.joined.biases[first]);
    panels.joined.gaps[p] = solver.gap() / solver.objective_at_zero();
    panels.joined.epochs[p] = solver.epochs();
  });
  return panels.join(problem.n_features);
}

OneVsRestWeights train_lasso(const OneVsRestProblem& problem, const LassoOptions& options,
                             std::size_t n_workers) {
  const FeatureColumns columns(problem.rows, problem.n_features);
  LabelPanels panels(problem.n_labels);
  Workers workers(std::min(n_workers, panels.size()));
  std::vector<LassoPanel> solvers(workers.size(), LassoPanel(problem, columns, options));
  workers.run(panels.size(), [&](std::size_t p, std::size_t worker) {
    LassoPanel& solver = solvers[worker];
    const std::size_t first = panels.starts[p], last = panels.starts[p + 1];
    solver.solve(first, last);
    collect_weights(solver, problem.n_features, first, last, 0.0f, panels.weights[p]);
    std::copy_n(solver.biases(), last - first, &panels.joined.biases[first]);
    panels.joined.gaps[p] = solver.violation();
    panels.joined.epochs[p] = solver.epochs();
  });
  return panels.join(problem.n_features);
}

}  // namespace labeltrees
