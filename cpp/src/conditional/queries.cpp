#include "labeltrees/conditional/queries.hpp"

#include <algorithm>

#include "labeltrees/machine/attention.hpp"

namespace labeltrees {
namespace {

// A node on the way down, with the index of its block's lines, or none if not looked up yet.
struct ReachedNode {
  double p_path;
  NodeId node;
  std::int32_t lines;
};

bool comes_first(const ReachedNode& a, const ReachedNode& b) noexcept {
  // Ties go to the older node, as in the exact search.
  return a.p_path != b.p_path ? a.p_path > b.p_path : a.node < b.node;
}

// Walks down from the root for one row at a time; the lines of a block are looked up once.
class Walker {
 public:
  Walker(const ConditionalTree& model, const Reading& reading) : model_(model), reading_(reading) {}

  ReachedNode start(const SparseRow& row) {
    row_.assign(row, reading_);
    n_blocks_ = 0;
    return {1.0, 0, none};
  }

  double p_right(ReachedNode& visit) {
    if (visit.lines == none) {
      visit.lines = static_cast<std::int32_t>(n_blocks_++);
      if (lines_.size() < n_blocks_) lines_.emplace_back();
      find_lines(model_.table(), model_.place(visit.node).block, row_, lines_[n_blocks_ - 1]);
    }
    const BlockLines& lines = lines_[static_cast<std::size_t>(visit.lines)];
    return ask_node(model_, visit.node, lines, row_, reading_).p_node;
  }

  // A child of an inner node whose p_right was asked for.
  ReachedNode child(const ReachedNode& visit, double p_right, bool right) const {
    const NodeId node = model_.tree().first_child(visit.node) + (right ? 1 : 0);
    const bool same_block = model_.place(node).block == model_.place(visit.node).block;
    return {visit.p_path * (right ? p_right : 1.0 - p_right), node,
            same_block ? visit.lines : none};
  }

 private:
  const ConditionalTree& model_;
  const Reading& reading_;
  PreparedRow row_;
  std::vector<BlockLines> lines_;
  std::size_t n_blocks_ = 0;
};

class BeamSearch {
 public:
  BeamSearch(const ConditionalTree& model, const Reading& reading, std::size_t k, std::size_t width)
      : tree_(model.tree()), walker_(model, reading), k_(k), width_(width) {}

  // The k likeliest leaves found, likeliest first.
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

struct RankedRow {
  double p;
  std::int64_t row;
};

bool ranks_first(const RankedRow& a, const RankedRow& b) noexcept {
  return a.p != b.p ? a.p > b.p : a.row < b.row;
}

}  // namespace

void top_rows(const ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p) {
  const LabelTree& tree = model.tree();
  const std::vector<NodeId> nodes = nodes_above(tree, labels);
  std::vector<std::size_t> at(tree.n_nodes());  // the place of each of them in `nodes`
  for (std::size_t i = 0; i < nodes.size(); ++i) at[static_cast<std::size_t>(nodes[i])] = i;
  std::vector<ReachedNode> visits(nodes.size());
  std::vector<std::vector<RankedRow>> best(labels.size());  // heaps, the last of the best in front
  Walker walker(model, reading);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    if (!nodes.empty()) visits[0] = walker.start(X.row(r));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (tree.is_leaf(nodes[i])) continue;
      const double p_right = walker.p_right(visits[i]);
      const NodeId left = tree.first_child(nodes[i]);
      for (const NodeId child : {left, left + 1}) {
        const std::size_t place = at[static_cast<std::size_t>(child)];
        if (nodes[place] == child) visits[place] = walker.child(visits[i], p_right, child != left);
      }
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto leaf = static_cast<std::size_t>(tree.leaf_of(labels[i]));
      const RankedRow row{visits[at[leaf]].p_path, static_cast<std::int64_t>(r)};
      std::vector<RankedRow>& heap = best[i];
      if (heap.size() == k) {
        if (!ranks_first(row, heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end(), ranks_first);
        heap.pop_back();
      }
      heap.push_back(row);
      std::push_heap(heap.begin(), heap.end(), ranks_first);
    }
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::sort_heap(best[i].begin(), best[i].end(), ranks_first);
    for (std::size_t j = 0; j < k; ++j) {
      rows[i * k + j] = best[i][j].row;
      p[i * k + j] = best[i][j].p;
    }
  }
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
    const NodeOpinion opinion = ask_node(model, node, lines, prepared, reading);
    const float sharpness = reading.mixing ? reading.sharpness : 1.0f;
    report.margins.push_back(sharpness * opinion.log_odds);
    report.p_nodes.push_back(opinion.p_node);
    for (const CountedLine* line : lines) {
      report.weights.push_back(line == nullptr ? 0.0f : worth(model, node, *line, slot, reading));
    }
  }
  report.features = std::move(prepared.features);
  report.values = std::move(prepared.values);
  return report;
}

}  // namespace labeltrees
