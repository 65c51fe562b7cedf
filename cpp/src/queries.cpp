#include "labeltrees/queries.hpp"

#include <algorithm>

namespace labeltrees {
namespace {

// A node on the way down, with the index of its block's margins, or none if not computed yet.
struct Visit {
  double p_path;
  NodeId node;
  std::int32_t margins;
};

bool comes_first(const Visit& a, const Visit& b) noexcept {
  // Ties go to the older node, as in the exact search.
  return a.p_path != b.p_path ? a.p_path > b.p_path : a.node < b.node;
}

// Walks down from the root for one row at a time; margins of a block are computed once.
class Walker {
 public:
  Walker(const ConditionalTree& model, const Reading& reading) : model_(model), reading_(reading) {}

  Visit start(const SparseRow& row) {
    row_.assign(row, reading_);
    margins_.clear();
    return {1.0, 0, none};
  }

  double p_right(Visit& visit) {
    const Place place = model_.place(visit.node);
    if (visit.margins == none) {
      visit.margins = static_cast<std::int32_t>(margins_.size());
      margins_.push_back(block_margins(model_.table(), place.block, row_));
    }
    const float margin = margins_[static_cast<std::size_t>(visit.margins)][place.slot];
    return node_probability(model_, visit.node, margin, reading_.loss);
  }

  // A child of an inner node whose p_right was asked for.
  Visit child(const Visit& visit, double p_right, bool right) const {
    const NodeId node = model_.tree().first_child(visit.node) + (right ? 1 : 0);
    const bool same_block = model_.place(node).block == model_.place(visit.node).block;
    return {visit.p_path * (right ? p_right : 1.0 - p_right), node,
            same_block ? visit.margins : none};
  }

 private:
  const ConditionalTree& model_;
  const Reading& reading_;
  PreparedRow row_;
  std::vector<Margins> margins_;
};

class BeamSearch {
 public:
  BeamSearch(const ConditionalTree& model, const Reading& reading, std::size_t k, std::size_t width)
      : tree_(model.tree()), walker_(model, reading), k_(k), width_(width) {}

  // The k likeliest leaves found, likeliest first.
  const std::vector<Visit>& run(const SparseRow& row) {
    leaves_.clear();
    level_.clear();
    largest_pruned_ = 0;
    keep(walker_.start(row), level_);
    while (!level_.empty()) {
      next_.clear();
      for (Visit& visit : level_) {
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
  void keep(const Visit& visit, std::vector<Visit>& level) {
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

  void prune(std::vector<Visit>& level) {
    if (level.size() <= width_) return;
    const auto end = level.begin() + static_cast<std::ptrdiff_t>(width_);
    std::nth_element(level.begin(), end, level.end(), comes_first);
    largest_pruned_ = std::max(largest_pruned_, end->p_path);
    level.erase(end, level.end());
  }

  const LabelTree& tree_;
  Walker walker_;
  std::size_t k_, width_;
  std::vector<Visit> leaves_, level_, next_;
  double largest_pruned_ = 0;
};

}  // namespace

void beam_labels(const ConditionalTree& model, const CsrView& X, std::size_t k,
                 std::size_t beam_width, const Reading& reading, std::span<LabelId> labels,
                 std::span<double> p, std::span<std::uint8_t> certified) {
  BeamSearch search(model, reading, k, beam_width);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::vector<Visit>& found = search.run(X.row(r));
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
  std::vector<Visit> stack;
  std::vector<std::pair<LabelId, double>> found;
  answer.starts.assign(1, 0);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    stack.clear();
    found.clear();
    const auto keep = [&](const Visit& visit) {
      if (visit.p_path * scale >= threshold) stack.push_back(visit);
    };
    if (!tree.empty()) keep(walker.start(X.row(r)));
    while (!stack.empty()) {
      Visit visit = stack.back();
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
    Visit visit = walker.start(X.row(r));
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
  for (const NodeId node : report.nodes) {
    const Place place = model.place(node);
    const float margin = block_margins(model.table(), place.block, prepared)[place.slot];
    report.margins.push_back(margin);
    report.p_nodes.push_back(node_probability(model, node, margin, reading.loss));
    for (const std::uint32_t feature : prepared.features) {
      const WeightLine* line = model.table().find(WeightTable::key(place.block, feature));
      report.weights.push_back(line == nullptr ? 0.0f : line->weight(place.slot));
    }
  }
  report.features = std::move(prepared.features);
  report.values = std::move(prepared.values);
  return report;
}

}  // namespace labeltrees
