#include "labeltrees/refined/queries.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/conditional/search.hpp"
#include "labeltrees/platform/attention.hpp"

namespace labeltrees {
namespace {

CsrView one_row(const CsrView& X, std::size_t r) {
  return {X.row_starts.subspan(r, 2), X.indices, X.values};
}

// Evaluates one row after the other.
class RefinedQuery {
 public:
  RefinedQuery(const RefinedTrees& model, const Reading& reading)
      : model_(model), reading_(reading), reranker_reading_(model.rerankers().reading(reading)) {}

  // Finds the candidates of the row and refines them.
  void start(const SparseRow& row) {
    row_.assign(row, reading_);
    search_.run(model_.trees(), row_, model_.shortlist(), reading_, proposal_);
    const bool alike = model_.rerankers().scale() == 0;
    if (!alike) reranker_row_.assign(row, reranker_reading_);
    const PreparedRow& read = alike ? row_ : reranker_row_;
    refiner_.expect(model_.rerankers(), read, proposal_);
    refiner_.evaluate(model_.rerankers(), read, proposal_, reranker_reading_);
  }
  const PreparedRow& row() const noexcept { return row_; }
  const Proposal& proposal() const noexcept { return proposal_; }
  const Refiner& refiner() const noexcept { return refiner_; }
  bool is_candidate(LabelId label) const noexcept {
    return proposal_.find(label) < proposal_.candidates.size();
  }

  double p_trees(LabelId label) { return paths_.evaluate(model_.trees(), row_, label, reading_); }
  // q of a label with the trees' probability p_trees, if it is not a candidate.
  double q(LabelId label, double p_trees) const noexcept {
    const std::size_t at = proposal_.find(label);
    return at < proposal_.candidates.size() ? refiner_.q(at) : refiner_.q_outside(p_trees);
  }
  double q(LabelId label) {
    const std::size_t at = proposal_.find(label);
    return at < proposal_.candidates.size() ? refiner_.q(at) : refiner_.q_outside(p_trees(label));
  }

  // The k most likely labels.
  const std::vector<Found>& top(std::size_t k) {
    take_candidates();
    std::size_t width = k + proposal_.candidates.size();
    double most_outside = proposal_.most_outside;
    while (!is_proved(k, most_outside)) {
      most_outside = add_top(width);
      width *= 4;
    }
    found_.resize(k);
    return found_;
  }

  // The k most likely labels that a beam finds, and whether they are the k most likely of all.
  const std::vector<Found>& top_of_beam(std::size_t k, std::size_t beam_width, bool& certified) {
    take_candidates();
    search_.run(model_.trees(), row_, {beam_width, 0.0}, reading_, wider_);
    for (const Candidate& each : wider_.candidates) add(each.label, each.p_trees);
    double most_outside = wider_.most_outside;
    if (found_.size() < k) most_outside = add_top(k);  // fewer than three labels
    certified = is_proved(k, most_outside);
    found_.resize(k);
    return found_;
  }

 private:
  void take_candidates() {
    found_.clear();
    for (std::size_t i = 0; i < proposal_.candidates.size(); ++i) {
      found_.push_back({proposal_.candidates[i].label, refiner_.q(i)});
    }
  }
  void add(LabelId label, double p_trees) {
    if (!is_candidate(label)) found_.push_back({label, refiner_.q_outside(p_trees)});
  }

  // Sorts the labels found. Returns whether the first k are the most likely, if no other label has
  // more than `outside`.
  bool is_proved(std::size_t k, double most_outside) {
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return a.p_label != b.p_label ? a.p_label > b.p_label : a.label < b.label;
    });
    return found_.size() >= k && found_[k - 1].p_label >= refiner_.q_outside(most_outside);
  }

  // Finds the candidates and the most likely labels of each tree. Returns the largest probability
  // that the trees give any other label.
  double add_top(std::size_t width) {
    take_candidates();
    const Trees& trees = model_.trees();
    const std::size_t n_labels = model_.first().tree().n_labels();
    top_.resize(std::min(width, n_labels));
    std::vector<Found> several;
    double most_outside = 0;
    for (const auto& tree : trees) {
      const std::size_t n = exact_.run(*tree, row_, reading_, top_);
      if (n < n_labels) most_outside += top_[n - 1].p_label;
      several.insert(several.end(), top_.begin(), top_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    std::sort(several.begin(), several.end(),
              [](const Found& a, const Found& b) { return a.label < b.label; });
    for (std::size_t i = 0; i < several.size(); ++i) {
      const LabelId label = several[i].label;
      if (i > 0 && several[i - 1].label == label) continue;
      add(label, trees.size() == 1 ? several[i].p_label : p_trees(label));
    }
    return most_outside / static_cast<double>(trees.size());
  }

  const RefinedTrees& model_;
  const Reading& reading_;
  Reading reranker_reading_;
  PreparedRow row_, reranker_row_;
  CandidateSearch search_;
  Proposal proposal_, wider_;
  Refiner refiner_;
  PathQuery paths_;
  TopSearch exact_;
  std::vector<Found> found_, top_;
};

}  // namespace

void label_probabilities(const RefinedTrees& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& rows, std::size_t first) {
    RefinedQuery query(model, reading);
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
      const LabelId label = labels[first + r];
      p[first + r] = 0;
      if (model.first().tree().leaf_of(label) == none) continue;
      query.start(rows.row(r));
      p[first + r] = query.q(label);
    }
  });
}

void top_labels(const RefinedTrees& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p, std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& rows, std::size_t first) {
    RefinedQuery query(model, reading);
    for (std::size_t r = 0; r < rows.n_rows(); ++r) {
      query.start(rows.row(r));
      const std::vector<Found>& found = query.top(k);
      for (std::size_t i = 0; i < k; ++i) {
        labels[(first + r) * k + i] = found[i].label;
        p[(first + r) * k + i] = found[i].p_label;
      }
    }
  });
}

void beam_labels(const RefinedTrees& model, const CsrView& X, std::size_t k, std::size_t beam_width,
                 const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                 std::span<std::uint8_t> certified) {
  RefinedQuery query(model, reading);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    query.start(X.row(r));
    bool is_certain = false;
    const std::vector<Found>& found = query.top_of_beam(k, beam_width, is_certain);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = found[i].label;
      p[r * k + i] = found[i].p_label;
    }
    certified[r] = is_certain ? 1 : 0;
  }
}

void all_probabilities(const RefinedTrees& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  const Trees& trees = model.trees();
  all_probabilities(*trees[0], X, n_columns, reading, p);
  if (trees.size() > 1) {
    std::vector<double> more(p.size());
    for (std::size_t t = 1; t < trees.size(); ++t) {
      all_probabilities(*trees[t], X, n_columns, reading, more);
      for (std::size_t i = 0; i < p.size(); ++i) p[i] += more[i];
    }
    for (double& each : p) each /= static_cast<double>(trees.size());
  }
  RefinedQuery query(model, reading);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    query.start(X.row(r));
    const std::span<double> row = p.subspan(r * n_columns, n_columns);
    for (double& each : row) each = query.refiner().q_outside(each);
    const std::vector<Candidate>& candidates = query.proposal().candidates;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto label = static_cast<std::size_t>(candidates[i].label);
      if (label < n_columns) row[label] = query.refiner().q(i);
    }
  }
}

bool labels_above(const RefinedTrees& model, const CsrView& X, double threshold, double scale,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer) {
  constexpr double slack = 1 - 1e-9;  // for rounding; every label is compared with the threshold
  RefinedQuery query(model, reading);
  SparseLabels of_tree;
  std::vector<LabelId> several;
  std::vector<std::pair<LabelId, double>> found;
  answer.starts.assign(1, 0);
  answer.labels.clear();
  answer.p.clear();
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    found.clear();
    several.clear();
    if (!model.first().tree().empty()) query.start(X.row(r));
    const std::vector<Candidate>& candidates = query.proposal().candidates;
    for (const Candidate& candidate : candidates) several.push_back(candidate.label);
    const double least = slack * threshold * query.refiner().z() / scale;
    for (const auto& tree : model.trees()) {
      if (tree->tree().empty()) continue;
      // Labels that one tree alone finds likely are not counted, because other trees may not.
      labels_above(*tree, one_row(X, r), least, 1.0, tree->tree().n_labels(), reading, of_tree);
      several.insert(several.end(), of_tree.labels.begin(), of_tree.labels.end());
    }
    std::sort(several.begin(), several.end());
    several.erase(std::unique(several.begin(), several.end()), several.end());
    for (const LabelId label : several) {
      const double p = query.q(label) * scale;
      if (p >= threshold) found.emplace_back(label, p);
    }
    if (answer.labels.size() + found.size() > max_entries) return false;
    for (const auto& [label, p] : found) {
      answer.labels.push_back(label);
      answer.p.push_back(p);
    }
    answer.starts.push_back(static_cast<std::int64_t>(answer.labels.size()));
  }
  return true;
}

namespace {

// Draws a leaf that is no candidate from one tree, by its probability.
class OutsideDraw {
 public:
  OutsideDraw(const ConditionalTree& tree, const Reading& reading)
      : tree_(tree), reading_(reading) {}

  // u in [0, 1).
  LabelId run(const PreparedRow& row, const std::vector<Candidate>& candidates, double u) {
    const LabelTree& nodes = tree_.tree();
    taken_.clear();
    for (const Candidate& candidate : candidates) {
      const double p = paths_.evaluate(tree_, row, candidate.label, reading_);
      for (NodeId node = nodes.leaf_of(candidate.label); node != none; node = nodes.parent(node)) {
        take(node, p);
      }
    }
    NodeId node = 0;
    double p_path = 1;
    std::uint32_t block = 0;
    while (!nodes.is_leaf(node)) {
      if (tree_.place(node).block != block) {
        block = tree_.place(node).block;
        find_lines(tree_.table(), block, row, lines_);
      }
      const double p_node = evaluate_node(tree_, node, lines_, row, reading_).p_node;
      const NodeId left = nodes.first_child(node);
      const double p_left = p_path * (1.0 - p_node), p_right = p_path * p_node;
      const double free_left = free(left, p_left), free_right = free(left + 1, p_right);
      const double sum = free_left + free_right;
      // If rounding leaves no probability, the candidates' share decides.
      const double to_left = sum > 0 ? free_left / sum : 1.0 - p_node;
      const bool right = u >= to_left;
      u = right ? (u - to_left) / (1.0 - to_left) : u / to_left;
      u = std::min(u, 0x1.fffffffffffffp-1);
      node = right ? left + 1 : left;
      p_path = right ? p_right : p_left;
    }
    return nodes.label(node);
  }

 private:
  struct Taken {
    NodeId node;
    double p;
  };
  void take(NodeId node, double p) {
    for (Taken& each : taken_) {
      if (each.node == node) {
        each.p += p;
        return;
      }
    }
    taken_.push_back({node, p});
  }
  double free(NodeId node, double p_path) const noexcept {
    for (const Taken& each : taken_) {
      // A candidate's leaf has no probability left, regardless of rounding.
      if (each.node == node) {
        return tree_.tree().is_leaf(node) ? 0.0 : std::max(0.0, p_path - each.p);
      }
    }
    return p_path;
  }

  const ConditionalTree& tree_;
  const Reading& reading_;
  PathQuery paths_;
  BlockLines lines_;
  std::vector<Taken> taken_;
};

}  // namespace

void sample_labels(const RefinedTrees& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels) {
  RefinedQuery query(model, reading);
  PathQuery paths;
  const Trees& trees = model.trees();
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    labels[r] = none;
    if (model.first().tree().empty()) continue;
    query.start(X.row(r));
    const std::vector<Candidate>& candidates = query.proposal().candidates;
    double u = uniforms[r];
    std::size_t i = 0;
    for (; i < candidates.size(); ++i) {
      if (u < query.refiner().q(i)) break;
      u -= query.refiner().q(i);
    }
    const double outside = query.refiner().q_outside(query.proposal().rest);
    if (i == candidates.size() && outside > 0) {
      // Which tree's share of the rest, and where in it.
      std::vector<double> shares;
      double sum = 0;
      for (const auto& tree : trees) {
        double rest = 1;
        for (const Candidate& each : candidates) {
          rest -= paths.evaluate(*tree, query.row(), each.label, reading);
        }
        shares.push_back(std::max(rest, 0.0));
        sum += shares.back();
      }
      u = std::min(u / outside, 0x1.fffffffffffffp-1) * sum;
      std::size_t t = 0;
      while (t + 1 < trees.size() && u >= shares[t]) u -= shares[t++];
      u = shares[t] > 0 ? std::clamp(u / shares[t], 0.0, 0x1.fffffffffffffp-1) : 0.0;
      labels[r] = OutsideDraw(*trees[t], reading).run(query.row(), candidates, u);
    } else {
      labels[r] = candidates[std::min(i, candidates.size() - 1)].label;
    }
  }
}

void top_rows(const RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p) {
  std::vector<SharedPaths> paths;
  for (const auto& tree : model.trees()) paths.emplace_back(*tree, labels, reading);
  BestRows best(labels.size(), k);
  RefinedQuery query(model, reading);
  std::vector<double> p_labels(labels.size()), sums(labels.size());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    query.start(X.row(r));
    std::fill(sums.begin(), sums.end(), 0.0);
    for (SharedPaths& each : paths) {
      each.evaluate(X.row(r), p_labels);
      for (std::size_t i = 0; i < labels.size(); ++i) sums[i] += p_labels[i];
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const double p_trees = sums[i] / static_cast<double>(paths.size());
      best.add(i, static_cast<std::int64_t>(r), query.q(labels[i], p_trees));
    }
  }
  best.finish(rows, p);
}

RefinementReport report_refinement(const RefinedTrees& model, const SparseRow& row, LabelId label,
                                   const Reading& reading) {
  RefinedQuery query(model, reading);
  query.start(row);
  RefinementReport report{query.p_trees(label), query.q(label), false, 0, 0, {}};
  const std::size_t at = query.proposal().find(label);
  if (at == query.proposal().candidates.size()) return report;
  Refiner::Reasons reasons = query.refiner().reasons(model.rerankers(), at, query.proposal());
  report.is_candidate = true;
  report.m = reasons.margin;
  report.of_trees = reasons.of_trees;
  report.weights = std::move(reasons.weights);
  return report;
}

}  // namespace labeltrees
