#include "labeltrees/conditional/queries.hpp"

#include <algorithm>

#include "labeltrees/platform/attention.hpp"

namespace labeltrees {
namespace {

bool comes_first(const ReachedNode& a, const ReachedNode& b) noexcept {
  // Ties go to the older node, as in the exact search.
  return a.p_path != b.p_path ? a.p_path > b.p_path : a.node < b.node;
}

class BeamSearch {
 public:
  BeamSearch(const ConditionalTree& model, const Reading& reading, std::size_t k, std::size_t width)
      : tree_(model.tree()), walker_(model, reading), k_(k), width_(width) {}

  // The k most likely leaves found, most likely first.
  const std::vector<ReachedNode>& run(const SparseRow& row) {
    leaves_.clear();
    level_.clear();
    largest_pruned_ = 0;
    keep(walker_.start(row), level_);
    while (!level_.empty()) {
      next_.clear();
      for (ReachedNode& visit : level_) {
        const double p = walker_.p_right(visit);
        keep(walker_.child(visit, p, false), next_);
        keep(walker_.child(visit, p, true), next_);
      }
      prune(next_);
      std::swap(level_, next_);
    }
    std::sort_heap(leaves_.begin(), leaves_.end(), comes_first);
    return leaves_;
  }

  bool certified() const { return leaves_.empty() || leaves_.back().p_path >= largest_pruned_; }

 private:
  void keep(const ReachedNode& visit, std::vector<ReachedNode>& level) {
    const bool is_full = leaves_.size() == k_;  // the front is then the k-th best so far
    if (!tree_.is_leaf(visit.node)) {
      // What is below can only be less likely than the k labels already found.
      if (is_full && visit.p_path <= leaves_.front().p_path) return;
      level.push_back(visit);
      return;
    }
    if (is_full) {
      if (!comes_first(visit, leaves_.front())) return;
      std::pop_heap(leaves_.begin(), leaves_.end(), comes_first);
      leaves_.pop_back();
    }
    leaves_.push_back(visit);
    std::push_heap(leaves_.begin(), leaves_.end(), comes_first);
  }

  void prune(std::vector<ReachedNode>& level) {
    if (level.size() <= width_) return;
    const auto end = level.begin() + static_cast<std::ptrdiff_t>(width_);
    std::nth_element(level.begin(), end, level.end(), comes_first);
    largest_pruned_ = std::max(largest_pruned_, end->p_path);
    level.erase(end, level.end());
  }

  const LabelTree& tree_;
  Walker walker_;
  std::size_t k_, width_;
  std::vector<ReachedNode> leaves_, level_, next_;
  double largest_pruned_ = 0;
};

}  // namespace

void beam_labels(const ConditionalTree& model, const CsrView& X, std::size_t k,
                 std::size_t beam_width, const Reading& reading, std::span<LabelId> labels,
                 std::span<double> p, std::span<std::uint8_t> certified) {
  BeamSearch search(model, reading, k, beam_width);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::vector<ReachedNode>& found = search.run(X.row(r));
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = model.tree().label(found[i].node);
      p[r * k + i] = found[i].p_path;
    }
    certified[r] = search.certified() ? 1 : 0;
  }
}

bool labels_above(const ConditionalTree& model, const CsrView& X, double threshold, double scale,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer) {
  const LabelTree& tree = model.tree();
  Walker walker(model, reading);
  std::vector<ReachedNode> stack;
  std::vector<std::pair<LabelId, double>> found;
  answer.starts.assign(1, 0);
  answer.labels.clear();
  answer.p.clear();
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    stack.clear();
    found.clear();
    const auto keep = [&](const ReachedNode& visit) {
      if (visit.p_path * scale >= threshold) stack.push_back(visit);
    };
    if (!tree.empty()) keep(walker.start(X.row(r)));
    while (!stack.empty()) {
      ReachedNode visit = stack.back();
      stack.pop_back();
      if (tree.is_leaf(visit.node)) {
        if (answer.labels.size() + found.size() == max_entries) return false;
        found.emplace_back(tree.label(visit.node), visit.p_path * scale);
        continue;
      }
      const double p = walker.p_right(visit);
      keep(walker.child(visit, p, false));
      keep(walker.child(visit, p, true));
    }
    std::sort(found.begin(), found.end());
    for (const auto& [label, p_label] : found) {
      answer.labels.push_back(label);
      answer.p.push_back(p_label);
    }
    answer.starts.push_back(static_cast<std::int64_t>(answer.labels.size()));
  }
  return true;
}

void sample_labels(const ConditionalTree& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels) {
  const LabelTree& tree = model.tree();
  Walker walker(model, reading);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    labels[r] = none;
    if (tree.empty()) continue;
    ReachedNode visit = walker.start(X.row(r));
    double u = uniforms[r];
    while (!tree.is_leaf(visit.node)) {
      const double p = walker.p_right(visit);
      const bool right = u >= 1.0 - p;
      u = right ? (u - (1.0 - p)) / p : u / (1.0 - p);
      visit = walker.child(visit, p, right);
    }
    labels[r] = tree.label(visit.node);
  }
}

void greedy_labels(const ConditionalTree& model, const CsrView& X, const Reading& reading,
                   std::span<LabelId> labels) {
  const LabelTree& tree = model.tree();
  Walker walker(model, reading);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    labels[r] = none;
    if (tree.empty()) continue;
    ReachedNode visit = walker.start(X.row(r));
    while (!tree.is_leaf(visit.node)) {
      const double p = walker.p_right(visit);
      visit = walker.child(visit, p, p > 0.5);
    }
    labels[r] = tree.label(visit.node);
  }
}

namespace {

// The labels' leaves and every node above them, parents first.
std::vector<NodeId> nodes_above(const LabelTree& tree, std::span<const LabelId> labels) {
  std::vector<NodeId> nodes;
  std::vector<bool> is_marked(tree.n_nodes());
  for (const LabelId label : labels) {
    for (NodeId node = tree.leaf_of(label); node != none; node = tree.parent(node)) {
      if (is_marked[static_cast<std::size_t>(node)]) break;
      is_marked[static_cast<std::size_t>(node)] = true;
      nodes.push_back(node);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

bool BestRows::ranks_first(const RankedRow& a, const RankedRow& b) noexcept {
  return a.p != b.p ? a.p > b.p : a.row < b.row;
}

void BestRows::add(std::size_t label, std::int64_t row, double p) {
  std::vector<RankedRow>& heap = best_[label];
  const RankedRow ranked{p, row};
  if (heap.size() == k_) {
    if (!ranks_first(ranked, heap.front())) return;
    std::pop_heap(heap.begin(), heap.end(), ranks_first);
    heap.pop_back();
  }
  heap.push_back(ranked);
  std::push_heap(heap.begin(), heap.end(), ranks_first);
}

void BestRows::finish(std::span<std::int64_t> rows, std::span<double> p) {
  for (std::size_t i = 0; i < best_.size(); ++i) {
    std::sort_heap(best_[i].begin(), best_[i].end(), ranks_first);
    for (std::size_t j = 0; j < k_; ++j) {
      rows[i * k_ + j] = best_[i][j].row;
      p[i * k_ + j] = best_[i][j].p;
    }
  }
}

SharedPaths::SharedPaths(const ConditionalTree& model, std::span<const LabelId> labels,
                         const Reading& reading)
    : tree_(model.tree()),
      nodes_(nodes_above(tree_, labels)),
      at_(tree_.n_nodes()),
      visits_(nodes_.size()),
      walker_(model, reading) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) at_[static_cast<std::size_t>(nodes_[i])] = i;
  for (const LabelId label : labels) {
    leaves_.push_back(at_[static_cast<std::size_t>(tree_.leaf_of(label))]);
  }
}

void SharedPaths::evaluate(const SparseRow& row, std::span<double> p) {
  if (!nodes_.empty()) visits_[0] = walker_.start(row);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (tree_.is_leaf(nodes_[i])) continue;
    const double p_right = walker_.p_right(visits_[i]);
    const NodeId left = tree_.first_child(nodes_[i]);
    for (const NodeId child : {left, left + 1}) {
      const std::size_t place = at_[static_cast<std::size_t>(child)];
      if (nodes_[place] == child) {
        visits_[place] = walker_.child(visits_[i], p_right, child != left);
      }
    }
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) p[i] = visits_[leaves_[i]].p_path;
}

void top_rows(const ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p) {
  SharedPaths paths(model, labels, reading);
  BestRows best(labels.size(), k);
  std::vector<double> p_labels(labels.size());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    paths.evaluate(X.row(r), p_labels);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      best.add(i, static_cast<std::int64_t>(r), p_labels[i]);
    }
  }
  best.finish(rows, p);
}

namespace {

// What one unit of a feature adds to a node's log-odds: its weight, and with mixing its vote too.
float worth(const ConditionalTree& model, NodeId node, const CountedLine& line, std::size_t slot,
            const Reading& reading) {
  if (!reading.mixing) return line.weight[slot];
  const Mixture& mixture = model.mixture(node);
  const Vote vote = vote_of(line.counts[slot]);
  return reading.sharpness *
         (mixture[n_vote_classes] * line.weight[slot] + mixture[vote.trust] * vote.log_odds);
}

}  // namespace

PathReport report_path(const ConditionalTree& model, const SparseRow& row, LabelId label,
                       const Reading& reading) {
  const LabelTree& tree = model.tree();
  PreparedRow prepared;
  prepared.assign(row, reading);
  PathReport report;
  for (NodeId node = tree.leaf_of(label); tree.parent(node) != none; node = tree.parent(node)) {
    report.nodes.push_back(tree.parent(node));
    report.turns.push_back(node == tree.first_child(tree.parent(node)) ? 0 : 1);
  }
  std::reverse(report.nodes.begin(), report.nodes.end());
  std::reverse(report.turns.begin(), report.turns.end());
  BlockLines lines;
  for (const NodeId node : report.nodes) {
    const std::size_t slot = model.place(node).slot;
    find_lines(model.table(), model.place(node).block, prepared, lines);
    const NodeOutput output = evaluate_node(model, node, lines, prepared, reading);
    const float sharpness = reading.mixing ? reading.sharpness : 1.0f;
    report.margins.push_back(sharpness * output.log_odds);
    report.p_nodes.push_back(output.p_node);
    for (const CountedLine* line : lines) {
      report.weights.push_back(line == nullptr ? 0.0f : worth(model, node, *line, slot, reading));
    }
  }
  report.features = std::move(prepared.features);
  report.values = std::move(prepared.values);
  return report;
}

}  // namespace labeltrees
