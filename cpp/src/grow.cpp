#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>

#include "labeltrees/self_terminating_tree.hpp"

namespace labeltrees {
namespace {

// Nodes with fewer entries than this are searched by one worker: waking others takes longer.
constexpr std::size_t parallel_entries = 20'000;

std::size_t at(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

// A node still to be split. Rows are begin .. end of Grower::rows_.
struct Pending {
  NodeId node;
  std::size_t depth;
  std::size_t begin, end;
  std::vector<Segment> segments;
  std::vector<LabelId> labels;         // with mass in the node, increasing
  std::vector<double> counts, priors;  // of these labels
  double weight;
};

class Grower {
 public:
  Grower(const CsrView& X, const Targets& targets, std::span<const double> root,
         const Growing& options)
      : targets_(targets),
        options_(options),
        workers_(options.n_workers),
        data_(bin_columns(X, options.max_bins, workers_)),
        entropy_(targets.masses.empty() ? X.n_rows() + 1 : 0),
        rows_(X.n_rows()),
        goes_left_(X.n_rows()),
        spare_rows_(std::max(X.n_rows(), longest_column())),
        spare_bins_(spare_rows_.size()) {
    statistics_.count.assign(root.size(), 0.0);
    statistics_.prior.assign(root.size(), 0.0);
    statistics_.log_prior.assign(root.size(), 0.0);
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
      searches_.push_back(
          std::make_unique<SplitSearch>(data_, targets_, entropy_, root.size(), options.norm));
    }
    tree_.root.assign(root.begin(), root.end());
    tree_.starts.push_back(0);
  }

  SelfTerminatingTree run() {
    push_root();
    while (!pending_.empty()) {
      Pending node = std::move(pending_.back());
      pending_.pop_back();
      expand(node);
    }
    finish_lists();
    tree_.link(std::numeric_limits<std::int32_t>::max());
    return std::move(tree_);
  }

 private:
  std::size_t longest_column() const {
    std::size_t longest = 0;
    for (const Column& column : data_.columns) {
      longest = std::max(longest, column.end - column.begin);
    }
    return longest;
  }

  Penalty penalty(std::size_t depth) const {
    const std::size_t row = std::min(depth, options_.penalties.size() - 1);
    return {options_.penalties[row], options_.weight_power};
  }

  NodeId append_node(double weight) {
    tree_.left.push_back(none);
    tree_.feature.push_back(none);
    tree_.threshold.push_back(0.0f);
    tree_.missing_left.push_back(0);
    tree_.gain.push_back(0.0);
    tree_.weight.push_back(weight);
    tree_.factor.push_back(1.0);
    listed_.emplace_back();
    return static_cast<NodeId>(tree_.n_nodes() - 1);
  }

  void push_root() {
    for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r] = static_cast<std::int32_t>(r);
    Pending root{};
    root.end = rows_.size();
    for (std::size_t c = 0; c < data_.columns.size(); ++c) {
      const Column& column = data_.columns[c];
      if (column.begin < column.end) {
        root.segments.push_back({static_cast<std::int32_t>(c), column.begin, column.end});
      }
    }
    count_labels(root);
    for (const LabelId label : root.labels) root.priors.push_back(tree_.root[at(label)]);
    root.node = append_node(root.weight);
    pending_.push_back(std::move(root));
  }

  template <typename Visit>
  void for_targets(std::int32_t row, Visit visit) const {
    if (targets_.starts.empty()) {
      visit(targets_.labels[at(row)], targets_.masses.empty() ? 1.0 : targets_.masses[at(row)]);
      return;
    }
    for (auto i = static_cast<std::size_t>(targets_.starts[at(row)]);
         i < static_cast<std::size_t>(targets_.starts[at(row) + 1]); ++i) {
      visit(targets_.labels[i], targets_.masses[i]);
    }
  }

  // Fills a node's labels, counts and weight from its rows; statistics_.count is scratch.
  void count_labels(Pending& node) {
    auto& count = statistics_.count;
    for (std::size_t i = node.begin; i < node.end; ++i) {
      for_targets(rows_[i], [&](LabelId label, double mass) {
        if (count[at(label)] == 0.0) node.labels.push_back(label);
        count[at(label)] += mass;
      });
    }
    std::sort(node.labels.begin(), node.labels.end());
    for (const LabelId label : node.labels) {
      node.counts.push_back(count[at(label)]);
      node.weight += count[at(label)];
      count[at(label)] = 0.0;
    }
  }

  void set_statistics(const Pending& node) {
    statistics_.labels = node.labels;
    statistics_.weight = node.weight;
    statistics_.n_rows = node.end - node.begin;
    statistics_.entropy = statistics_.log_prior_sum = statistics_.excess = 0.0;
    statistics_.distance = distance(branch_of(node));
    for (std::size_t i = 0; i < node.labels.size(); ++i) {
      const std::size_t l = at(node.labels[i]);
      statistics_.count[l] = node.counts[i];
      statistics_.prior[l] = node.priors[i];
      statistics_.log_prior[l] = std::log(node.priors[i]);
      statistics_.entropy += entropy_(node.counts[i]);
      statistics_.log_prior_sum += node.counts[i] * statistics_.log_prior[l];
      statistics_.excess += node.counts[i] * (1.0 - node.priors[i]);
    }
  }

  void clear_statistics() {
    for (const LabelId label : statistics_.labels) statistics_.count[at(label)] = 0.0;
  }

  Split best_split(Pending& node) {
    set_statistics(node);
    std::size_t n_entries = 0;
    for (const Segment& segment : node.segments) n_entries += segment.end - segment.begin;
    std::atomic<float> best{static_cast<float>(options_.min_gain)};
    splits_.assign(node.segments.size(), {});
    const Penalty lambda = penalty(node.depth);
    const auto search = [&](std::size_t i, std::size_t worker) {
      splits_[i] = searches_[worker]->run(statistics_, node.segments[i], lambda, best);
    };
    if (n_entries < parallel_entries) {
      for (std::size_t i = 0; i < node.segments.size(); ++i) search(i, 0);
    } else {
      workers_.run(node.segments.size(), search);
    }
    clear_statistics();
    promote_columns(node);
    Split winner;
    for (const Split& split : splits_) {
      if (split.column != none && split.better_than(winner)) winner = split;
    }
    return winner;
  }

  // What was good here is likely to be good below: a high gain found early prunes the rest.
  void promote_columns(Pending& node) {
    constexpr std::size_t n_promoted = 8;
    for (std::size_t place = 0; place < std::min(n_promoted, splits_.size()); ++place) {
      std::size_t best = place;
      for (std::size_t i = place + 1; i < splits_.size(); ++i) {
        if (splits_[i].gain > splits_[best].gain) best = i;
      }
      std::swap(splits_[place], splits_[best]);
      std::swap(node.segments[place], node.segments[best]);
    }
  }

  // No branch of a node can be farther from its prior than twice this, nor can two together, since
  // c_i - W_b u_i <= c_i - c_i u_i for any W_b >= c_i.
  static double excess(const Pending& node) {
    double sum = 0.0;
    for (std::size_t i = 0; i < node.labels.size(); ++i) {
      sum += node.counts[i] * std::max(1.0 - node.priors[i], 0.0);
    }
    return sum;
  }

  void expand(Pending& node) {
    const Penalty lambda = penalty(node.depth);
    // A branch of less weight than `excess` is nearer, one of more pays more.
    const double most = excess(node);
    if (2.0 * most <= lambda.of(most) || node.end - node.begin < 2) return;
    const Split split = best_split(node);
    // Below the second, only rounding tells the children from their parent.
    if (split.gain < options_.min_gain || split.gain <= 1e-12 * node.weight) return;
    const std::size_t middle = divide_rows(node, split);
    Pending left = child_of(node, node.begin, middle), right = child_of(node, middle, node.end);
    solve_children(left, right, node.weight, lambda);
    const auto id = at(node.node);
    tree_.gain[id] = split.gain;
    tree_.left[id] = append_node(left.weight);
    append_node(right.weight);
    left.node = tree_.left[id];
    right.node = left.node + 1;
    tree_.feature[id] = data_.columns[at(split.column)].feature;
    tree_.threshold[id] = threshold_;
    tree_.missing_left[id] = missing_seen_ ? split.missing_left : left.weight >= right.weight;
    const bool left_grows = keep_posterior(left, left_clip_);
    const bool right_grows = keep_posterior(right, right_clip_);
    if (left_grows || right_grows) divide_segments(node, left, right);
    if (right_grows) pending_.push_back(std::move(right));
    if (left_grows) pending_.push_back(std::move(left));
  }

  // Marks and reorders the rows; returns where the right child's begin. Sets threshold_.
  std::size_t divide_rows(const Pending& node, const Split& split) {
    const Column& column = data_.columns[at(split.column)];
    const bool zero_left = column.zero_bin <= split.cut;
    for (std::size_t i = node.begin; i < node.end; ++i) goes_left_[at(rows_[i])] = zero_left;
    const auto found = std::find_if(node.segments.begin(), node.segments.end(),
                                    [&](const auto& s) { return s.column == split.column; });
    // The values next to the cut, among the node's own.
    float below = -std::numeric_limits<float>::infinity(), above = -below;
    const auto meet = [&](int bin) {
      if (bin <= split.cut) {
        below = std::max(below, column.highs[static_cast<std::size_t>(bin)]);
      } else {
        above = std::min(above, column.lows[static_cast<std::size_t>(bin)]);
      }
    };
    missing_seen_ = false;
    for (std::size_t e = found->begin; e < found->end; ++e) {
      const int bin = data_.bins[e];
      const bool missing = bin == missing_bin;
      missing_seen_ |= missing;
      goes_left_[at(data_.rows[e])] = missing ? split.missing_left : bin <= split.cut;
      if (!missing) meet(bin);
    }
    if (found->end - found->begin < node.end - node.begin) meet(column.zero_bin);
    threshold_ = between(below, above);
    return divide(std::span(rows_).subspan(node.begin, node.end - node.begin)) + node.begin;
  }

  // below <= threshold < above
  static float between(float below, float above) {
    if (std::isinf(below) || std::isinf(above)) return below;  // one side has only missing values
    const float middle = static_cast<float>((static_cast<double>(below) + above) / 2);
    return middle < above ? middle : below;
  }

  std::size_t divide(std::span<std::int32_t> rows) {
    std::size_t n_left = 0, n_right = 0;
    for (const std::int32_t row : rows) {
      const bool left = goes_left_[at(row)];
      rows[n_left] = row;  // at or before the place it is read from
      spare_rows_[n_right] = row;
      n_left += left;
      n_right += !left;
    }
    std::copy_n(spare_rows_.begin(), n_right, rows.begin() + static_cast<std::ptrdiff_t>(n_left));
    return n_left;
  }

  Pending child_of(const Pending& node, std::size_t begin, std::size_t end) {
    Pending child{};
    child.depth = node.depth + 1;
    child.begin = begin;
    child.end = end;
    count_labels(child);
    child.priors.resize(child.labels.size());
    std::size_t i = 0;  // both lists increase, and the node's holds the child's
    for (std::size_t j = 0; j < child.labels.size(); ++j) {
      while (node.labels[i] != child.labels[j]) ++i;
      child.priors[j] = node.priors[i];
    }
    return child;
  }

  Branch branch_of(const Pending& child) const {
    double listed = 0.0;
    for (const double prior : child.priors) listed += prior;
    const bool all = child.labels.size() == tree_.root.size();
    return {child.counts, child.priors, child.weight, all ? 0.0 : std::max(1.0 - listed, 0.0)};
  }

  void solve_children(const Pending& left, const Pending& right, double weight,
                      const Penalty& lambda) {
    const Branch left_branch = branch_of(left), right_branch = branch_of(right);
    if (options_.norm == Norm::linf) {
      std::tie(left_clip_, right_clip_) =
          solver_.solve_siblings(left_branch, right_branch, lambda.of(weight));
    } else {
      left_clip_ = solver_.solve(left_branch, lambda.of(left.weight));
      right_clip_ = solver_.solve(right_branch, lambda.of(right.weight));
    }
  }

  // Writes a child's distribution to the tree and to its priors; false if the branch terminates.
  bool keep_posterior(Pending& child, const Clip& clip) {
    if (clip.low == clip.high) return false;
    const auto id = at(child.node);
    tree_.factor[id] = clip.low / child.weight;
    for (std::size_t i = 0; i < child.labels.size(); ++i) {
      const double p = clip.apply(child.counts[i], child.priors[i]) / child.weight;
      const bool shrinks = child.counts[i] <= clip.low * child.priors[i];
      child.priors[i] = shrinks ? child.priors[i] * tree_.factor[id] : p;
      if (!shrinks) listed_[id].push_back({child.labels[i], p});
    }
    return child.labels.size() > 1 && child.end - child.begin > 1;
  }

  // Divides every column's entries like the rows, keeping their order by bin.
  void divide_segments(const Pending& node, Pending& left, Pending& right) {
    for (const Segment& segment : node.segments) {
      std::size_t n_left = segment.begin, n_right = 0;
      for (std::size_t e = segment.begin; e < segment.end; ++e) {
        const std::int32_t row = data_.rows[e];
        const std::uint8_t bin = data_.bins[e];
        const bool goes_left = goes_left_[at(row)];
        data_.rows[n_left] = row;
        data_.bins[n_left] = bin;
        spare_rows_[n_right] = row;
        spare_bins_[n_right] = bin;
        n_left += goes_left;
        n_right += !goes_left;
      }
      std::copy_n(spare_rows_.begin(), n_right,
                  data_.rows.begin() + static_cast<std::ptrdiff_t>(n_left));
      std::copy_n(spare_bins_.begin(), n_right,
                  data_.bins.begin() + static_cast<std::ptrdiff_t>(n_left));
      keep_segment(left, {segment.column, segment.begin, n_left});
      keep_segment(right, {segment.column, n_left, segment.end});
    }
  }

  // A column that is the same in all the node's rows can split nothing.
  void keep_segment(Pending& child, const Segment& segment) const {
    if (segment.begin == segment.end) return;
    const bool same = data_.bins[segment.begin] == data_.bins[segment.end - 1];
    if (same && segment.end - segment.begin == child.end - child.begin) return;
    child.segments.push_back(segment);
  }

  // Nodes were listed as they were made; the file wants them in order of ids.
  void finish_lists() {
    for (const auto& list : listed_) {
      for (const auto& [label, p] : list) {
        tree_.labels.push_back(label);
        tree_.p.push_back(p);
      }
      tree_.starts.push_back(static_cast<std::int64_t>(tree_.labels.size()));
    }
  }

  const Targets targets_;
  const Growing& options_;
  Workers workers_;
  BinnedColumns data_;
  Entropy entropy_;
  std::vector<std::int32_t> rows_;
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::int32_t> spare_rows_;
  std::vector<std::uint8_t> spare_bins_;
  NodeStatistics statistics_;
  std::vector<std::unique_ptr<SplitSearch>> searches_;
  std::vector<Split> splits_;
  std::vector<Pending> pending_;
  std::vector<std::vector<std::pair<LabelId, double>>> listed_;
  BranchSolver solver_;
  Clip left_clip_{}, right_clip_{};
  float threshold_ = 0.0f;
  bool missing_seen_ = false;
  SelfTerminatingTree tree_;
};

}  // namespace

SelfTerminatingTree grow(const CsrView& X, const Targets& targets, std::span<const double> root,
                         const Growing& options) {
  return Grower(X, targets, root, options).run();
}

}  // namespace labeltrees
