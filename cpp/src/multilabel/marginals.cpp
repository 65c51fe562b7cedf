#include "labeltrees/multilabel/marginals.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {
namespace {

constexpr float reranker_mixing_rate = 0.002f;
constexpr float reranker_input_limit = 8.0f;
constexpr std::size_t tree_trust = n_vote_classes + 1;  // where Rerankers has it
constexpr float reranker_rate = 0.5f;  // share of the tree's rate, because rerankers see fewer rows
                                       // than nodes do
constexpr float reranker_first_steps = 0.3f;  // added to AdaGrad's sums
constexpr float least_slope = 0.1f;           // smaller ones are left out, and many pairs with them

float log_odds_of(double p) noexcept {
  const double kept = std::clamp(p, 1e-9, 1.0 - 1e-9);
  return static_cast<float>(elementary::log(kept / (1.0 - kept)));
}

void step_reranker(PairLine& line, float gradient, const Learning& options) noexcept {
  const float rate = reranker_rate * options.learning_rate;
  if (options.optimizer == Optimizer::sgd) {
    line.weight -= rate * gradient;
    return;
  }
  const float sum = decode_sum(line.sum_code) + gradient * gradient;
  line.weight -= rate * gradient / std::sqrt(sum + reranker_first_steps);
  line.sum_code = encode_sum(sum);
}

}  // namespace

double WideWalker::start(const SparseRow& row) {
  row_.assign(row, reading_);
  keys_.reserve(row_.size());  // evaluating one node does not throw from now on
  homes_.reserve(row_.size());
  lines_.reserve(row_.size());
  found_.reserve(row_.size());
  values_.reserve(row_.size());
  eta_.reserve(block_size);
  blocks_.reserve(1);
  p_root_ = 0;
  if (model_.tree().empty()) return p_root_;
  const std::uint32_t block = MultilabelTree::top_block;
  find_lines({&block, 1});
  evaluate_block(block, 0, 1, pasts_of_top(model_), {&p_root_, 1});
  return p_root_;
}

void WideWalker::find_lines(std::span<const std::uint32_t> blocks) {
  keys_.clear();
  for (const std::uint32_t block : blocks) {
    for (const std::uint32_t feature : row_.features) {
      keys_.push_back(CountedTable::key(block, feature));
    }
  }
  homes_.resize(keys_.size());
  lines_.resize(keys_.size());
  model_.table().guess_all(keys_, homes_, lines_);
}

void WideWalker::evaluate_block(std::uint32_t block, std::size_t at, std::size_t n,
                                const SiblingPasts& pasts, std::span<double> eta) {
  found_.clear();
  values_.clear();
  for (std::size_t j = 0; j < row_.size(); ++j) {
    const CountedLine* guessed = lines_[at * row_.size() + j];
    if (guessed == nullptr) continue;
    guessed = model_.table().find(CountedTable::key(block, row_.features[j]), guessed);
    if (guessed == nullptr) continue;
    found_.push_back(guessed);
    values_.push_back(row_.values[j]);
  }
  evaluate_siblings(found_, values_, n, pasts, model_.mixtures(), reading_, output_);
  for (std::size_t s = 0; s < n; ++s) eta[s] = output_.of[s].p_node;
}

std::span<const double> WideWalker::evaluate(NodeId node) { return evaluate({&node, 1}); }

std::span<const double> WideWalker::evaluate(std::span<const NodeId> nodes) {
  blocks_.clear();
  for (const NodeId node : nodes) blocks_.push_back(MultilabelTree::block_of(node));
  find_lines(blocks_);
  eta_.resize(nodes.size() * block_size);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t n = index(model_.tree().at(nodes[i]).n_children);
    evaluate_block(blocks_[i], i, n, pasts_below(model_, nodes[i]),
                   std::span(eta_).subspan(i * block_size, n));
  }
  return eta_;
}

double WideWalker::evaluate_label(LabelId label) {
  const WideTree& tree = model_.tree();
  path_.clear();
  for (NodeId node = tree.leaf_of(label); node != none; node = tree.at(node).parent) {
    path_.push_back(node);
  }
  nodes_above_.assign(path_.rbegin(), path_.rend() - 1);
  const std::span<const double> eta = evaluate(nodes_above_);
  double p_path = p_root_;
  for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
    const NodeId below = path_[path_.size() - 2 - i];
    p_path *= eta[i * block_size + index(tree.at(below).slot)];
  }
  return p_path;
}

void WideSearch::keep_first(std::vector<Reached>& nodes, std::size_t n, double& most_outside) {
  if (nodes.size() <= n) return;
  const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(nodes.begin(), end, nodes.end(), comes_first);
  most_outside = std::max(most_outside, end->p_path);
  nodes.erase(end, nodes.end());
}

// A label below a node is never more likely than the node, so the node is dropped if k leaves are
// more likely.
void WideSearch::drop_unlikely(const Shortlist& shortlist, double& most_outside) {
  double best = 0, least = 0;
  for (const Reached& leaf : leaves_) best = std::max(best, leaf.p_path);
  double bar = shortlist.least_share * best;
  const auto is_below = [&](const Reached& each) {
    if (each.p_path >= bar) return false;
    most_outside = std::max(most_outside, each.p_path);
    return true;
  };
  std::erase_if(leaves_, is_below);
  keep_first(leaves_, shortlist.most, most_outside);
  if (leaves_.size() == shortlist.most) {
    least = 1;
    for (const Reached& leaf : leaves_) least = std::min(least, leaf.p_path);
    bar = std::max(bar, least);
  }
  std::erase_if(next_, is_below);
  keep_first(next_, shortlist.most, most_outside);
}

void WideSearch::run(const MultilabelTree& model, WideWalker& walker, double p_root,
                     const Shortlist& shortlist, Proposal& proposal) {
  const WideTree& tree = model.tree();
  proposal.candidates.clear();
  proposal.most_outside = proposal.rest = 0;
  leaves_.clear();
  level_.clear();
  if (!tree.empty()) level_.push_back({p_root, tree.root()});
  while (!level_.empty()) {
    next_.clear();
    nodes_.clear();
    for (const Reached& reached : level_) nodes_.push_back(reached.node);
    const std::span<const double> eta = walker.evaluate(nodes_);
    for (std::size_t i = 0; i < level_.size(); ++i) {
      const std::span<const NodeId> children = tree.children(nodes_[i]);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const Reached below{level_[i].p_path * eta[i * block_size + s], children[s]};
        (tree.at(children[s]).is_leaf() ? leaves_ : next_).push_back(below);
      }
    }
    drop_unlikely(shortlist, proposal.most_outside);
    std::swap(level_, next_);
  }
  std::sort(leaves_.begin(), leaves_.end(), comes_first);
  for (const Reached& leaf : leaves_) {
    proposal.candidates.push_back({tree.at(leaf.node).label, leaf.p_path, model.mass(leaf.node)});
  }
}

void MarginalRefiner::expect(const Rerankers& rerankers, const PreparedRow& row,
                             const Proposal& proposal, std::span<const Candidate> outside) {
  keys_.clear();
  const auto name = [&](const Candidate& candidate) {
    for (const std::uint32_t feature : row.features) {
      keys_.push_back(Rerankers::key(candidate.label, feature));
    }
  };
  for (const Candidate& candidate : proposal.candidates) name(candidate);
  for (const Candidate& candidate : outside) name(candidate);
  homes_.resize(keys_.size());
  lines_.resize(keys_.size());
  rerankers.table().guess_all<true>(keys_, homes_, lines_);
}

void MarginalRefiner::evaluate(const Rerankers& rerankers, const PreparedRow& row,
                               const Proposal& proposal, std::span<const Candidate> outside) {
  const std::size_t n_candidates = proposal.candidates.size();
  outputs_.resize(n_candidates + outside.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Candidate& each = i < n_candidates ? proposal.candidates[i] : outside[i - n_candidates];
    Output& output = outputs_[i];
    output.margin = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const PairLine*& line = lines_[i * row.size() + j];
      line = rerankers.table().find(keys_[i * row.size() + j], line);
      if (line != nullptr) output.margin += row.values[j] * line->weight;
    }
    output.of_tree = log_odds_of(each.p_trees);
    const Mixture& mixture = rerankers.mixture(each.mass);
    output.log_odds = mixture[margin_trust] * output.margin + mixture[tree_trust] * output.of_tree;
    const double q = estimate(output.log_odds, Loss::logistic);
    output.q = q > probability_floor ? std::min(q, 1.0 - probability_floor) : probability_floor;
  }
}

void MarginalRefiner::make_room(Rerankers& rerankers, const PreparedRow& row,
                                std::size_t n_labels) {
  outputs_.reserve(n_labels);
  keys_.reserve(n_labels * row.size());
  homes_.reserve(n_labels * row.size());
  lines_.reserve(n_labels * row.size());
  rerankers.table().make_room(row.size(), n_labels * row.size());
}

void MarginalRefiner::update(Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                             std::span<const float> targets, float weight,
                             const Learning& options) noexcept {
  const std::size_t n_candidates = proposal.candidates.size();
  const auto limited = [](float input) {
    return std::clamp(input, -reranker_input_limit, reranker_input_limit);
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (!options.again && i < n_candidates) {
      const float error = static_cast<float>(output.q) - targets[i];
      Mixture& mixture = rerankers.mixture(proposal.candidates[i].mass);
      const float step = reranker_mixing_rate * std::min(weight, 1.0f) * error;
      mixture[margin_trust] -= step * limited(output.margin);
      mixture[tree_trust] -= step * limited(output.of_tree);
    }
    const float slope = sigmoid(output.margin + 0.5f * output.of_tree) - targets[i];
    if (std::abs(slope) < least_slope) continue;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::size_t at = i * row.size() + j;
      PairLine& line = rerankers.table().obtain(keys_[at], lines_[at]);
      step_reranker(line, weight * slope * row.values[j], options);
    }
  }
}

MarginalRefiner::Reasons MarginalRefiner::reasons(const Rerankers& rerankers, std::size_t i,
                                                  const PreparedRow& row,
                                                  const Proposal& proposal) const {
  const Mixture& mixture = rerankers.mixture(proposal.candidates[i].mass);
  const Output& output = outputs_[i];
  Reasons reasons{output.log_odds, mixture[tree_trust] * output.of_tree, {}};
  for (std::size_t j = 0; j < row.size(); ++j) {
    const PairLine* line = lines_[i * row.size() + j];
    reasons.weights.push_back(line == nullptr ? 0.0f : mixture[margin_trust] * line->weight);
  }
  return reasons;
}

}  // namespace labeltrees
