#include "labeltrees/refined/candidates.hpp"

#include <algorithm>

namespace labeltrees {
namespace {

constexpr std::size_t few = 4;

}  // namespace

std::size_t Proposal::find(LabelId label) const noexcept {
  std::size_t i = 0;
  while (i < candidates.size() && candidates[i].label != label) ++i;
  return i;
}

double PathQuery::evaluate(const ConditionalTree& tree, const PreparedRow& row, LabelId label,
                           const Reading& reading) {
  const NodeId leaf = tree.tree().leaf_of(label);
  if (leaf == none) return 0;
  path_.clear();
  for (NodeId node = leaf; node != none; node = tree.tree().parent(node)) path_.push_back(node);
  double p_path = 1;
  std::uint32_t block = 0;
  for (std::size_t i = path_.size(); i-- > 1;) {
    const NodeId node = path_[i];
    if (tree.place(node).block != block) {
      block = tree.place(node).block;
      find_lines(tree.table(), block, row, lines_);
    }
    const double p_node = evaluate_node(tree, node, lines_, row, reading).p_node;
    p_path *= path_[i - 1] == tree.tree().first_child(node) ? 1.0 - p_node : p_node;
  }
  return p_path;
}

double PathQuery::evaluate(const Trees& trees, const PreparedRow& row, LabelId label,
                           const Reading& reading) {
  double sum = 0;
  for (const auto& tree : trees) sum += evaluate(*tree, row, label, reading);
  return sum / static_cast<double>(trees.size());
}

bool CandidateSearch::comes_first(const Reached& a, const Reached& b) noexcept {
  return (a.p_path > b.p_path) | ((a.p_path == b.p_path) & (a.node < b.node));  // does not branch
}

// Prefetches the lines of all blocks that begin at this level.
void CandidateSearch::open_blocks(const ConditionalTree& tree, const PreparedRow& row) {
  const std::size_t n = row.size(), first = n_found_.size() * n;
  for (Reached& reached : level_) {
    const Place place = tree.place(reached.node);
    if (place.slot != 0) continue;
    reached.block = static_cast<std::uint32_t>(n_found_.size());
    n_found_.push_back(n);
    if (keys_.size() < n_found_.size() * n) grow(n_found_.size() * n);
    std::uint64_t* const keys = keys_.data() + reached.block * n;
    for (std::size_t j = 0; j < n; ++j) keys[j] = CountedTable::key(place.block, row.features[j]);
  }
  const std::size_t n_keys = n_found_.size() * n - first;
  if (n_keys == 0) return;
  tree.table().guess_all(std::span(keys_).subspan(first, n_keys), homes_,
                         std::span(lines_).subspan(first, n_keys));
}

void CandidateSearch::grow(std::size_t n) {
  keys_.resize(n);
  homes_.resize(n);
  lines_.resize(n);
  values_.resize(n);
}

// Leaves out the features that have no line.
void CandidateSearch::confirm(const CountedTable& table, const PreparedRow& row,
                              std::size_t block) {
  const std::size_t n = row.size();
  std::uint64_t* const keys = keys_.data() + block * n;
  const CountedLine** const lines = lines_.data() + block * n;
  float* const values = values_.data() + block * n;
  std::size_t n_guessed = 0, n_found = 0;
  for (std::size_t j = 0; j < n; ++j) {  // does not branch on unpredictable values
    const CountedLine* const line = lines[j];
    keys[n_guessed] = keys[j];
    lines[n_guessed] = line;
    values[n_guessed] = row.values[j];
    n_guessed += line != nullptr;
  }
  for (std::size_t i = 0; i < n_guessed; ++i) {
    const CountedLine* const line = table.find(keys[i], lines[i]);
    lines[n_found] = line;
    values[n_found] = values[i];
    n_found += line != nullptr;
  }
  n_found_[block] = n_found;
}

// There are usually only a few nodes too many, so they are removed one after the other. This is
// faster than std::nth_element, whose branches are all unpredictable.
void CandidateSearch::keep_first(std::vector<Reached>& nodes, std::size_t n, double& most_outside) {
  if (nodes.size() <= n) return;
  if (nodes.size() - n <= few) {
    while (nodes.size() > n) {
      Reached last = nodes.back();
      nodes.pop_back();
      for (Reached& each : nodes) {
        const Reached both[2] = {each, last};
        const bool swaps = comes_first(last, each);
        each = both[swaps];
        last = both[!swaps];
      }
      most_outside = std::max(most_outside, last.p_path);
    }
    return;
  }
  const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(nodes.begin(), end, nodes.end(), comes_first);
  most_outside = std::max(most_outside, end->p_path);
  nodes.erase(end, nodes.end());
}

// Drops nodes that have less than that share of the most likely leaf or node met.
void CandidateSearch::drop_unlikely(double least, double& most_outside) {
  double best = 0;
  for (const Reached& each : leaves_) best = std::max(best, each.p_path);
  for (const Reached& each : next_) best = std::max(best, each.p_path);
  const auto is_unlikely = [&](const Reached& each) {
    if (each.p_path >= least * best) return false;
    most_outside = std::max(most_outside, each.p_path);
    return true;
  };
  std::erase_if(leaves_, is_unlikely);
  std::erase_if(next_, is_unlikely);
}

// What is below a node can only be less likely than the k leaves already found.
void CandidateSearch::drop_hopeless(std::size_t k, double& most_outside) {
  if (leaves_.size() < k) return;
  double least = 1;
  for (const Reached& leaf : leaves_) least = std::min(least, leaf.p_path);
  std::erase_if(next_, [&](const Reached& reached) {
    if (reached.p_path > least) return false;
    most_outside = std::max(most_outside, reached.p_path);
    return true;
  });
}

// Fills leaves_, most likely first, and returns the largest probability that any other leaf can
// have.
double CandidateSearch::search(const ConditionalTree& tree, const PreparedRow& row, std::size_t k,
                               const Reading& reading, double least) {
  const LabelTree& nodes = tree.tree();
  double most_outside = 0;
  n_found_.clear();
  leaves_.clear();
  level_.clear();
  if (nodes.empty()) return most_outside;
  (nodes.is_leaf(0) ? leaves_ : level_).push_back({1.0, 0, 0});
  while (!level_.empty()) {
    next_.clear();
    open_blocks(tree, row);
    for (const Reached& reached : level_) {
      const std::size_t at = reached.block * row.size();
      const Place place = tree.place(reached.node);
      if (place.slot == 0) confirm(tree.table(), row, reached.block);
      NodeOutput output;
      evaluate_slot(place.slot, std::span(lines_).subspan(at, n_found_[reached.block]),
                    std::span(values_).subspan(at, n_found_[reached.block]),
                    past_of(tree, reached.node), tree.mixture(reached.node), reading, output);
      const double p_node = output.p_node;
      const NodeId left = nodes.first_child(reached.node);
      for (const NodeId child : {left, left + 1}) {
        const double p_path = reached.p_path * (child == left ? 1.0 - p_node : p_node);
        (nodes.is_leaf(child) ? leaves_ : next_).push_back({p_path, child, reached.block});
      }
    }
    drop_unlikely(least, most_outside);
    keep_first(leaves_, k, most_outside);
    drop_hopeless(k, most_outside);
    keep_first(next_, k, most_outside);
    std::swap(level_, next_);
  }
  std::sort(leaves_.begin(), leaves_.end(), comes_first);
  return most_outside;
}

void CandidateSearch::run(const Trees& trees, const PreparedRow& row, const Shortlist& shortlist,
                          const Reading& reading, Proposal& proposal) {
  const auto [k, least] = shortlist;
  std::vector<Candidate>& candidates = proposal.candidates;
  const ConditionalTree& first = *trees[0];
  const auto mass_of = [&](LabelId label) {
    const NodeId leaf = first.tree().leaf_of(label);
    return leaf == none ? 0.0 : first.mass(leaf);
  };
  candidates.clear();
  proposal.most_outside = 0;
  if (first.tree().n_labels() < 3) {  // one regressor already separates two labels
    proposal.most_outside = proposal.rest = 1;
    return;
  }
  if (trees.size() == 1) {
    proposal.most_outside = search(first, row, k, reading, least);
    for (const Reached& leaf : leaves_) {
      candidates.push_back({first.tree().label(leaf.node), leaf.p_path, first.mass(leaf.node)});
    }
  } else {
    found_.resize(trees.size());
    for (std::size_t t = 0; t < trees.size(); ++t) {
      proposal.most_outside += search(*trees[t], row, k, reading, least);
      found_[t].clear();
      for (const Reached& leaf : leaves_) {
        const LabelId label = trees[t]->tree().label(leaf.node);
        found_[t].push_back({label, leaf.p_path});
        if (proposal.find(label) == candidates.size()) candidates.push_back({label, 0, 0});
      }
    }
    proposal.most_outside /= static_cast<double>(trees.size());
    for (Candidate& candidate : candidates) {
      for (std::size_t t = 0; t < trees.size(); ++t) {
        const auto found = std::find_if(found_[t].begin(), found_[t].end(), [&](const Found& each) {
          return each.label == candidate.label;
        });
        candidate.p_trees += found != found_[t].end()
                                 ? found->p_label
                                 : paths_.evaluate(*trees[t], row, candidate.label, reading);
      }
      candidate.p_trees /= static_cast<double>(trees.size());
      candidate.mass = mass_of(candidate.label);
    }
    const auto likelier = [](const Candidate& a, const Candidate& b) {
      return a.p_trees != b.p_trees ? a.p_trees > b.p_trees : a.label < b.label;
    };
    std::sort(candidates.begin(), candidates.end(), likelier);
    if (candidates.size() > k) {
      proposal.most_outside = std::max(proposal.most_outside, candidates[k].p_trees);
      candidates.resize(k);
    }
  }
  double mass = 0;
  for (const Candidate& candidate : candidates) mass += candidate.p_trees;
  const bool is_all = candidates.size() == first.tree().n_labels();
  proposal.rest = is_all ? 0 : std::max(0.0, 1.0 - mass);
}

}  // namespace labeltrees
