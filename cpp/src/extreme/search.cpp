#include "labeltrees/extreme/search.hpp"

#include <algorithm>
#include <utility>

#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {
namespace {

constexpr std::size_t block_rows = 64;

template <typename Open>
bool less_likely(const Open& a, const Open& b) noexcept {
  return a.p != b.p ? a.p < b.p : a.node > b.node;
}

}  // namespace

ForestQuery::ForestQuery(const RelevanceForest& forest) : fill_missing_(forest.fill_missing) {
  for (const RelevanceTree& tree : forest.trees) trees_.emplace_back(tree, forest);
  open_.resize(trees_.size());
  dropped_.resize(trees_.size());
  met_.assign(forest.n_labels, 0);
}

void ForestQuery::start(const SparseRow& row, std::int32_t held) {
  for (TreeQuery& tree : trees_) tree.start(row, held);
  mass_width_ = 0;
  if (++query_ == 0) {
    std::fill(met_.begin(), met_.end(), 0u);
    query_ = 1;
  }
}

double ForestQuery::label(LabelId label) {
  double sum = 0;
  for (TreeQuery& tree : trees_) sum += tree.label(label);
  return sum / static_cast<double>(trees_.size());
}

std::span<const ScoredLabel> ForestQuery::top(std::size_t k, RelevanceSearch search,
                                              std::size_t beam_width) {
  best_.clear();
  if (search == RelevanceSearch::exact) {
    top_exact(k);
  } else {
    top_beam(k, beam_width);
  }
  std::sort(best_.begin(), best_.end(), comes_before);
  return best_;
}

// best_ is a heap with the worst of the k best on top.
void ForestQuery::offer(std::size_t k, const ScoredLabel& label) {
  if (k == 0) return;
  if (best_.size() == k) {
    if (!comes_before(label, best_.front())) return;
    std::pop_heap(best_.begin(), best_.end(), comes_before);
    best_.pop_back();
  }
  best_.push_back(label);
  std::push_heap(best_.begin(), best_.end(), comes_before);
}

void ForestQuery::expand(std::size_t t, const Open& open, double least) {
  const LabelTree& tree = trees_[t].tree();
  const float* p = trees_[t].children(open.node);
  const NodeId first = tree.first_child(open.node);
  for (std::int32_t c = 0; c < tree.n_children(open.node); ++c) {
    const Open child{open.p * static_cast<double>(p[c]), first + c};
    if (child.p < least) {
      dropped_[t] = std::max(dropped_[t], child.p);
      continue;
    }
    open_[t].push_back(child);
    std::push_heap(open_[t].begin(), open_[t].end(), less_likely<Open>);
  }
}

// The threshold algorithm. Each tree gives its labels by falling probability. A label not met in
// any tree has at most the mean of the trees' next probabilities.
void ForestQuery::top_exact(std::size_t k) {
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    open_[t].assign(1, {1.0, 0});
    dropped_[t] = 0;
  }
  while (true) {
    double bound = 0, largest = -1;
    std::size_t next = 0;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      const double p = open_[t].empty() ? -1.0 : open_[t].front().p;
      bound += std::max({p, dropped_[t], 0.0});
      if (p > largest) {
        largest = p;
        next = t;
      }
    }
    bound /= static_cast<double>(trees_.size());
    if (largest < 0 || (best_.size() == k && best_.front().p > bound)) return;
    std::pop_heap(open_[next].begin(), open_[next].end(), less_likely<Open>);
    const Open open = open_[next].back();
    open_[next].pop_back();
    if (!trees_[next].tree().is_leaf(open.node)) {
      // With one tree nothing below the k-th found matters.
      const bool alone = trees_.size() == 1 && best_.size() == k;
      expand(next, open, alone ? best_.front().p : 0.0);
      continue;
    }
    const LabelId label = trees_[next].tree().label(open.node);
    if (std::exchange(met_[index(label)], query_) == query_) continue;
    offer(k, {trees_.size() == 1 ? open.p : this->label(label), label});
  }
}

void ForestQuery::beam_of(TreeQuery& query, std::size_t n_kept, std::size_t beam_width) {
  const LabelTree& tree = query.tree();
  level_.assign(1, {1.0, 0});
  best_.clear();
  while (!level_.empty()) {
    next_.clear();
    nodes_.clear();
    for (const Open& open : level_) nodes_.push_back(open.node);
    std::sort(nodes_.begin(), nodes_.end());
    query.prepare(nodes_);
    for (const Open& open : level_) {
      const float* p = query.children(open.node);
      const NodeId first = tree.first_child(open.node);
      const std::int32_t n = tree.n_children(open.node);
      double least = n_kept > 0 && best_.size() == n_kept ? best_.front().p : -1.0;
      for (std::int32_t c = 0; c < n; ++c) {
        const double p_child = open.p * static_cast<double>(p[c]);
        const NodeId child = first + c;
        if (!tree.is_leaf(child)) {
          next_.push_back({p_child, child});
          continue;
        }
        mass_ += p_child;
        if (p_child < least) continue;
        offer(n_kept, {p_child, tree.label(child)});
        if (best_.size() == n_kept && n_kept > 0) least = best_.front().p;
      }
    }
    if (next_.size() > beam_width) {
      const auto before = [](const Open& a, const Open& b) { return less_likely(b, a); };
      std::nth_element(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(beam_width),
                       next_.end(), before);
      next_.resize(beam_width);
    }
    level_.swap(next_);
  }
}

double ForestQuery::mass(std::size_t beam_width) {
  if (mass_width_ != beam_width) {
    mass_ = 0;
    mass_width_ = beam_width;
    for (TreeQuery& tree : trees_) beam_of(tree, 0, beam_width);
  }
  return mass_ / static_cast<double>(trees_.size());
}

void ForestQuery::top_beam(std::size_t k, std::size_t beam_width) {
  mass_ = 0;
  mass_width_ = beam_width;
  if (trees_.size() == 1) {
    beam_of(trees_[0], k, beam_width);
    return;
  }
  candidates_.clear();
  // Without filling in every tree counts with as many labels as the released program keeps.
  constexpr std::size_t most_kept = 100;
  const std::size_t n_kept = fill_missing_ ? k + 10 : std::max(k, most_kept);
  for (TreeQuery& tree : trees_) {
    beam_of(tree, n_kept, beam_width);
    candidates_.insert(candidates_.end(), best_.begin(), best_.end());
  }
  best_.clear();
  if (fill_missing_) {
    fill_in(k);
  } else {
    add_up(k);
  }
}

// Offers the candidates with the sum of what trees found over all trees.
void ForestQuery::add_up(std::size_t k) {
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const ScoredLabel& a, const ScoredLabel& b) { return a.label < b.label; });
  for (std::size_t i = 0; i < candidates_.size();) {
    const LabelId label = candidates_[i].label;
    double sum = 0;
    for (; i < candidates_.size() && candidates_[i].label == label; ++i) sum += candidates_[i].p;
    offer(k, {sum / static_cast<double>(trees_.size()), label});
  }
}

// Offers the candidates with the mean of all trees, k at a time, the most promising first. The
// parts of a label's path that the beams computed give a bound, which avoids evaluating many labels
// that a beam missed.
void ForestQuery::fill_in(std::size_t k) {
  const auto n_trees = static_cast<double>(trees_.size());
  std::size_t n = 0;
  for (const ScoredLabel& candidate : candidates_) {
    if (std::exchange(met_[index(candidate.label)], query_) == query_) continue;
    double most = 0;
    for (const TreeQuery& tree : trees_) most += tree.known(candidate.label);
    candidates_[n++] = {most / n_trees, candidate.label};
  }
  candidates_.resize(n);
  std::sort(candidates_.begin(), candidates_.end(), comes_before);
  for (std::size_t first = 0; first < n; first += k) {
    std::span<const ScoredLabel> block(&candidates_[first], std::min(k, n - first));
    if (best_.size() == k) {
      const auto is_out = [&](const ScoredLabel& c) { return c.p < best_.front().p; };
      const auto end = std::find_if(block.begin(), block.end(), is_out);
      block = block.first(static_cast<std::size_t>(end - block.begin()));
    }
    if (block.empty()) return;
    for (TreeQuery& tree : trees_) {
      nodes_.clear();
      for (const ScoredLabel& candidate : block) tree.add_path(candidate.label, nodes_);
      std::sort(nodes_.begin(), nodes_.end());
      tree.prepare(nodes_);
    }
    for (const ScoredLabel& candidate : block) {
      offer(k, {this->label(candidate.label), candidate.label});
    }
  }
}

std::span<const ScoredLabel> ForestQuery::above(double threshold) {
  found_.clear();
  for (std::size_t t = 0; t < trees_.size(); ++t) {  // some tree gives at least the mean
    const LabelTree& tree = trees_[t].tree();
    level_.assign(1, {1.0, 0});
    while (!level_.empty()) {
      const Open open = level_.back();
      level_.pop_back();
      if (open.p < threshold) continue;
      if (tree.is_leaf(open.node)) {
        const LabelId label = tree.label(open.node);
        if (std::exchange(met_[index(label)], query_) == query_) continue;
        const double p = trees_.size() == 1 ? open.p : this->label(label);
        if (p >= threshold) found_.push_back({p, label});
        continue;
      }
      const float* p = trees_[t].children(open.node);
      for (std::int32_t c = 0; c < tree.n_children(open.node); ++c) {
        level_.push_back({open.p * static_cast<double>(p[c]), tree.first_child(open.node) + c});
      }
    }
  }
  std::sort(found_.begin(), found_.end(),
            [](const ScoredLabel& a, const ScoredLabel& b) { return a.label < b.label; });
  return found_;
}

void ForestQuery::all(std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  for (const ScoredLabel& label : above(-1.0)) out[index(label.label)] = label.p;
}

std::unique_ptr<ForestQuery> QueryPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto query = std::move(idle_.back());
      idle_.pop_back();
      return query;
    }
  }
  return std::make_unique<ForestQuery>(forest_);
}

void QueryPool::give_back(std::unique_ptr<ForestQuery> query) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(query));
}

void query_rows(QueryPool& pool, const CsrView& X, std::span<const std::int32_t> held,
                std::size_t n_workers,
                const std::function<void(std::size_t, ForestQuery&)>& answer) {
  const std::size_t n_rows = X.n_rows(), n_blocks = (n_rows + block_rows - 1) / block_rows;
  Workers workers(std::max<std::size_t>(1, std::min(n_workers, n_blocks)));
  std::vector<std::unique_ptr<ForestQuery>> queries(workers.size());
  for (auto& query : queries) query = pool.take();
  workers.run(n_blocks, [&](std::size_t block, std::size_t worker) {
    for (std::size_t r = block * block_rows; r < std::min(n_rows, (block + 1) * block_rows); ++r) {
      queries[worker]->start(X.row(r), held.empty() ? none : held[r]);
      answer(r, *queries[worker]);
    }
  });
  for (auto& query : queries) pool.give_back(std::move(query));
}

void relevance_top_labels(QueryPool& pool, const CsrView& X, std::size_t k, RelevanceSearch search,
                          std::size_t beam_width, std::span<const std::int32_t> held,
                          std::size_t mass_width, std::size_t n_workers, std::span<LabelId> labels,
                          std::span<double> p, std::span<double> masses) {
  query_rows(pool, X, held, n_workers, [&](std::size_t r, ForestQuery& query) {
    const auto top = query.top(k, search, beam_width);
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < top.size() ? top[i].label : none;
      p[r * k + i] = i < top.size() ? top[i].p : 0.0;
    }
    if (!masses.empty()) masses[r] = query.mass(mass_width);
  });
}

}  // namespace labeltrees
