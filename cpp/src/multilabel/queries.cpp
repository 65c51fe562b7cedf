#include "labeltrees/multilabel/queries.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/conditional/search.hpp"
#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/hash.hpp"

namespace labeltrees {
namespace {

// Evaluates one row after the other: its candidates and their refined probabilities, then any other
// label.
class MarginalQuery {
 public:
  MarginalQuery(const MultilabelTree& model, const Reading& reading)
      : model_(model), walker_(model, reading) {}

  void start(const SparseRow& row) {
    p_root_ = walker_.start(row);
    proposal_.candidates.clear();
    proposal_.most_outside = 1;
    if (model_.shortlist().most == 0) return;
    search_.run(model_, walker_, p_root_, model_.shortlist(), proposal_);
    refiner_.expect(model_.rerankers(), walker_.row(), proposal_, {});
    refiner_.evaluate(model_.rerankers(), walker_.row(), proposal_, {});
  }

  double p_root() const noexcept { return p_root_; }
  WideWalker& walker() noexcept { return walker_; }
  const Proposal& proposal() const noexcept { return proposal_; }
  const MarginalRefiner& refiner() const noexcept { return refiner_; }
  bool is_candidate(LabelId label) const noexcept {
    return proposal_.find(label) < proposal_.candidates.size();
  }
  // The label must have a leaf.
  double evaluate(LabelId label) {
    const std::size_t at = proposal_.find(label);
    return at < proposal_.candidates.size() ? refiner_.q(at) : walker_.evaluate_label(label);
  }

  // Calls leaf(label, p) for all labels outside the candidates, and enters the nodes below which
  // enter(node, p) allows it.
  template <typename Enter, typename Leaf>
  void walk(Enter enter, Leaf leaf) {
    const WideTree& tree = model_.tree();
    stack_.clear();
    if (!tree.empty() && enter(tree.root(), p_root_)) stack_.push_back({p_root_, tree.root()});
    while (!stack_.empty()) {
      const Reached reached = stack_.back();
      stack_.pop_back();
      const std::span<const NodeId> children = tree.children(reached.node);
      const std::span<const double> eta = walker_.evaluate(reached.node);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const double p = reached.p_path * eta[s];
        const LabelId label = tree.at(children[s]).label;
        if (label == none) {
          if (enter(children[s], p)) stack_.push_back({p, children[s]});
        } else if (!is_candidate(label)) {
          leaf(label, p);
        }
      }
    }
  }

  // The k most likely labels, most likely first; of equals the smaller id.
  const std::vector<Found>& top(std::size_t k) {
    best_.clear();
    for (std::size_t i = 0; i < proposal_.candidates.size(); ++i) {
      best_.push_back({proposal_.candidates[i].label, refiner_.q(i)});
    }
    std::sort(best_.begin(), best_.end(), comes_first);
    if (best_.size() > k) best_.resize(k);
    const bool is_proved = best_.size() == k && best_.back().p_label > proposal_.most_outside;
    if (!is_proved) search_on(k);
    return best_;
  }

 private:
  struct Reached {
    double p_path;
    NodeId node;
  };
  static bool comes_first(const Found& a, const Found& b) noexcept {
    return a.p_label != b.p_label ? a.p_label > b.p_label : a.label < b.label;
  }
  static bool comes_later(const Reached& a, const Reached& b) noexcept {
    return a.p_path != b.p_path ? a.p_path < b.p_path : a.node > b.node;
  }
  void keep(std::size_t k, const Found& found) {
    best_.insert(std::upper_bound(best_.begin(), best_.end(), found, comes_first), found);
    if (best_.size() > k) best_.pop_back();
  }
  // Best first. No label below a node is more likely than the node.
  void search_on(std::size_t k) {
    const WideTree& tree = model_.tree();
    stack_.clear();
    if (!tree.empty()) stack_.push_back({p_root_, tree.root()});
    while (!stack_.empty()) {
      if (best_.size() == k && stack_.front().p_path < best_.back().p_label) return;
      std::pop_heap(stack_.begin(), stack_.end(), comes_later);
      const Reached reached = stack_.back();
      stack_.pop_back();
      const std::span<const NodeId> children = tree.children(reached.node);
      const std::span<const double> eta = walker_.evaluate(reached.node);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const Reached below{reached.p_path * eta[s], children[s]};
        const LabelId label = tree.at(children[s]).label;
        if (label == none) {
          stack_.push_back(below);
          std::push_heap(stack_.begin(), stack_.end(), comes_later);
        } else if (!is_candidate(label)) {
          keep(k, {label, below.p_path});
        }
      }
    }
  }

  const MultilabelTree& model_;
  WideWalker walker_;
  WideSearch search_;
  Proposal proposal_;
  MarginalRefiner refiner_;
  double p_root_ = 0;
  std::vector<Reached> stack_;
  std::vector<Found> best_;
};

void begin_answer(SparseLabels& answer) {
  answer.starts.assign(1, 0);
  answer.labels.clear();
  answer.p.clear();
}

void end_row(std::vector<std::pair<LabelId, double>>& found, SparseLabels& answer) {
  std::sort(found.begin(), found.end());
  for (const auto& [label, p] : found) {
    answer.labels.push_back(label);
    answer.p.push_back(p);
  }
  answer.starts.push_back(static_cast<std::int64_t>(answer.labels.size()));
  found.clear();
}

}  // namespace

void label_probabilities(const MultilabelTree& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& part, std::size_t first) {
    MarginalQuery query(model, reading);
    for (std::size_t r = 0; r < part.n_rows(); ++r) {
      const LabelId label = labels[first + r];
      p[first + r] = 0;
      if (model.tree().leaf_of(label) == none) continue;
      query.start(part.row(r));
      p[first + r] = query.evaluate(label);
    }
  });
}

void top_labels(const MultilabelTree& model, const CsrView& X, std::size_t k,
                const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                std::size_t n_threads) {
  share_rows(X, n_threads, [&](const CsrView& part, std::size_t first) {
    MarginalQuery query(model, reading);
    for (std::size_t r = 0; r < part.n_rows(); ++r) {
      query.start(part.row(r));
      const std::vector<Found>& found = query.top(k);
      for (std::size_t i = 0; i < k; ++i) {
        labels[(first + r) * k + i] = found[i].label;
        p[(first + r) * k + i] = found[i].p_label;
      }
    }
  });
}

void all_probabilities(const MultilabelTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  MarginalQuery query(model, reading);
  std::fill(p.begin(), p.end(), 0.0);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    const auto set = [&](LabelId label, double p_label) {
      if (index(label) < n_columns) p[r * n_columns + index(label)] = p_label;
    };
    query.start(X.row(r));
    query.walk([](NodeId, double) { return true; }, set);
    for (std::size_t i = 0; i < query.proposal().candidates.size(); ++i) {
      set(query.proposal().candidates[i].label, query.refiner().q(i));
    }
  }
}

bool labels_above(const MultilabelTree& model, const CsrView& X, double threshold,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer) {
  MarginalQuery query(model, reading);
  std::vector<std::pair<LabelId, double>> found;
  begin_answer(answer);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const auto keep = [&](LabelId label, double p) {
      if (p >= threshold) found.emplace_back(label, p);
    };
    query.start(X.row(r));
    for (std::size_t i = 0; i < query.proposal().candidates.size(); ++i) {
      keep(query.proposal().candidates[i].label, query.refiner().q(i));
    }
    const auto may_reach = [&](NodeId, double p) {
      return p >= threshold && answer.labels.size() + found.size() <= max_entries;
    };
    if (query.proposal().most_outside >= threshold) query.walk(may_reach, keep);
    if (answer.labels.size() + found.size() > max_entries) return false;
    end_row(found, answer);
  }
  return true;
}

void sample_label_sets(const MultilabelTree& model, const CsrView& X,
                       std::span<const std::uint64_t> seeds, const Reading& reading,
                       SparseLabels& answer) {
  MarginalQuery query(model, reading);
  std::vector<std::pair<LabelId, double>> found;
  begin_answer(answer);
  const WideTree& tree = model.tree();
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    // A number in [0, 1) for each node separately.
    const auto draw = [&](NodeId node) {
      const std::uint64_t bits = mix_bits(mix_bits(seeds[r]) + static_cast<std::uint64_t>(node));
      return static_cast<double>(bits >> 11) * 0x1.0p-53;
    };
    query.start(X.row(r));
    double above = query.p_root();
    // Draws below a node are independent of it: a child's number is compared with eta.
    std::vector<std::pair<NodeId, double>> stack;
    if (!tree.empty() && draw(tree.root()) < above) stack.emplace_back(tree.root(), above);
    while (!stack.empty()) {
      const auto [node, p] = stack.back();
      stack.pop_back();
      const std::span<const NodeId> children = tree.children(node);
      const std::span<const double> eta = query.walker().evaluate(node);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const LabelId label = tree.at(children[s]).label;
        if (label != none && query.is_candidate(label)) continue;
        if (draw(children[s]) >= eta[s]) continue;
        if (label == none) {
          stack.emplace_back(children[s], p * eta[s]);
        } else {
          found.emplace_back(label, 1.0);
        }
      }
    }
    for (std::size_t i = 0; i < query.proposal().candidates.size(); ++i) {
      const LabelId label = query.proposal().candidates[i].label;
      if (draw(tree.leaf_of(label)) < query.refiner().q(i)) found.emplace_back(label, 1.0);
    }
    end_row(found, answer);
  }
}

void expected_labels(const MultilabelTree& model, const CsrView& X, double tolerance,
                     const Reading& reading, std::span<double> n) {
  MarginalQuery query(model, reading);
  const double all = static_cast<double>(std::max<std::size_t>(model.tree().n_labels(), 1));
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    query.start(X.row(r));
    double sum = 0;
    // What is left out has at most tolerance / all for each of its labels.
    query.walk([&](NodeId, double p) { return p > tolerance / all; },
               [&](LabelId, double p) { sum += p; });
    for (std::size_t i = 0; i < query.proposal().candidates.size(); ++i) {
      sum += query.refiner().q(i);
    }
    n[r] = sum;
  }
}

void top_rows(const MultilabelTree& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p) {
  MarginalQuery query(model, reading);
  BestRows best(labels.size(), k);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    look_up();
    query.start(X.row(r));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      best.add(i, static_cast<std::int64_t>(r), query.evaluate(labels[i]));
    }
  }
  best.finish(rows, p);
}

namespace {

float worth_of(const CountedLine* line, std::size_t slot, const Mixture& mixture,
               const Reading& reading) {
  if (line == nullptr) return 0;
  if (!reading.mixing) return line->weight[slot];
  return reading.sharpness * mixture[margin_trust] * line->weight[slot];
}

}  // namespace

MultilabelReport report_marginal(const MultilabelTree& model, const SparseRow& row, LabelId label,
                                 const Reading& reading) {
  const WideTree& tree = model.tree();
  MarginalQuery query(model, reading);
  query.start(row);
  MultilabelReport report;
  report.p_root = query.p_root();
  const PreparedRow read = query.walker().row();
  for (NodeId node = tree.leaf_of(label); tree.at(node).parent != none;
       node = tree.at(node).parent) {
    report.nodes.push_back(node);
  }
  std::reverse(report.nodes.begin(), report.nodes.end());
  BlockLines lines;
  SiblingOutputs output;
  report.p_tree = report.p_root;
  for (const NodeId node : report.nodes) {
    const NodeId above = tree.at(node).parent;
    const std::size_t slot = index(tree.at(node).slot);
    find_lines(model.table(), MultilabelTree::block_of(above), read, lines);
    const SiblingPasts pasts = pasts_below(model, above);
    evaluate_siblings(lines, read.values, slot + 1, pasts, model.mixtures(), reading, output);
    report.eta.push_back(output.of[slot].p_node);
    report.p_tree *= output.of[slot].p_node;
    report.log_odds.push_back((reading.mixing ? reading.sharpness : 1.0f) *
                              output.of[slot].log_odds);
    const Mixture& mixture = model.mixtures()[mixture_of(pasts[slot].right)];
    for (const CountedLine* line : lines) {
      report.weights.push_back(worth_of(line, slot, mixture, reading));
    }
  }
  const std::size_t at = query.proposal().find(label);
  report.is_candidate = at < query.proposal().candidates.size();
  report.q = report.is_candidate ? query.refiner().q(at) : report.p_tree;
  report.refined_log_odds = report.of_tree = 0;
  if (report.is_candidate) {
    MarginalRefiner::Reasons reasons =
        query.refiner().reasons(model.rerankers(), at, read, query.proposal());
    report.refined_log_odds = reasons.log_odds;
    report.of_tree = reasons.of_tree;
    report.reranker_weights = std::move(reasons.weights);
  }
  report.features = read.features;
  report.values = read.values;
  return report;
}

}  // namespace labeltrees
