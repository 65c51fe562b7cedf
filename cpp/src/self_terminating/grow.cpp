#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/self_terminating/categories.hpp"
#include "labeltrees/self_terminating/partition.hpp"
#include "labeltrees/self_terminating/tree.hpp"

namespace labeltrees {
namespace {

// Nodes with fewer entries than this are grown, with all below them, by one worker; for larger ones
// the workers share out the columns. The same for any number of workers, as it numbers the nodes.
constexpr std::size_t shared_entries = 40'000;

// A node still to be split.
struct Pending {
  NodeId node = 0;
  std::size_t depth = 0;
  Part part;
  std::vector<LabelId> labels;         // those it has, increasing
  std::vector<double> counts, priors;  // of these labels
  double weight = 0.0;

  std::size_t n_entries() const {
    std::size_t sum = 0;
    for (const Segment& s : part.segments) sum += std::min(s.end - s.begin, part.n_rows());
    return sum;
  }
};

// What all nodes share. Workers write only what belongs to their nodes' rows.
struct Ground {
  Ground(const BinnedColumns& binned, const Targets& given, std::span<const double> root_p,
         const Growing& growing)
      : options(growing),
        labels(given.labels),
        root(root_p),
        partition(binned),
        places(given.labels.begin(), given.labels.end()),
        targets{given.starts, places, given.masses},
        categories(categories_of(binned, growing.categorical)),
        phi(growing.criterion, given.masses.empty() ? binned.n_rows + 1 : 0) {}

  Penalty penalty(std::size_t depth) const {
    const std::size_t row = std::min(depth, options.penalties.size() - 1);
    return {options.penalties[row], options.weight_power};
  }
  bool gini() const noexcept { return options.criterion == Criterion::gini; }

  // Calls visit(i) for each entry of the targets of a part's rows.
  template <typename Visit>
  void for_targets(const Part& part, Visit visit) const {
    for (const std::int32_t row : partition.rows(part)) {
      if (targets.starts.empty()) {
        visit(index(row));
        continue;
      }
      const auto end = static_cast<std::size_t>(targets.starts[index(row) + 1]);
      for (auto i = static_cast<std::size_t>(targets.starts[index(row)]); i < end; ++i) visit(i);
    }
  }
  double mass(std::size_t i) const { return targets.masses.empty() ? 1.0 : targets.masses[i]; }

  const Growing& options;
  const std::span<const LabelId> labels;  // of the targets
  const std::span<const double> root;
  Partition partition;
  std::vector<LabelId> places;  // of the targets' labels among the labels of their row's node
  Targets targets;              // places in place of labels
  const std::vector<Category> categories;
  Phi phi;
};

// Grows a node and all below it.
class Grower {
 public:
  Grower(Ground& ground, std::span<const std::unique_ptr<SplitSearch>> searches, Workers* workers)
      : ground_(ground),
        searches_(searches),
        workers_(workers),
        category_search_(ground.options.criterion),
        place_of_(ground.root.size()) {}

  // The subtree's node 0 is `top`. With workers, nodes with few entries are left in `deferred`.
  SelfTerminatingTree run(Pending top) {
    tree_ = {};
    tree_.starts.push_back(0);
    listed_.clear();
    append_node(top.weight);
    top.node = 0;
    pending_.push_back(std::move(top));
    while (!pending_.empty()) {
      Pending node = std::move(pending_.back());
      pending_.pop_back();
      if (workers_ && node.n_entries() < shared_entries) {
        deferred.push_back(std::move(node));
      } else {
        expand(node);
      }
    }
    finish_lists();
    return std::move(tree_);
  }

  std::vector<Pending> deferred;

 private:
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

  void expand(Pending& node) {
    const Penalty lambda = ground_.penalty(node.depth);
    if (node.part.n_rows() < 2 || !sum_up(node, lambda)) return;
    const Split split = best_split(node, lambda);
    const CategorySplit many = category_search_.best(statistics_, ground_.categories,
                                                     ground_.targets, ground_.root.size(), lambda);
    if (static_cast<float>(many.gain) > static_cast<float>(split.gain)) {
      return expand_by_category(node, many, lambda);
    }
    // Below the second value, only rounding separates the children from their parent.
    if (split.gain < ground_.options.min_gain || split.gain <= 1e-12 * node.weight) return;
    const Partition::Cut cut = ground_.partition.divide_rows(node.part, split, spare_);
    Pending left = child_of(node, node.part.begin, cut.middle),
            right = child_of(node, cut.middle, node.part.end);
    solve_children(left, right, node.weight, lambda);
    const auto id = index(node.node);
    tree_.gain[id] = split.gain;
    left.node = append_node(left.weight);
    right.node = append_node(right.weight);
    tree_.left[id] = left.node;
    tree_.feature[id] = ground_.partition.data().columns[index(split.column)].feature;
    tree_.threshold[id] = cut.threshold;
    tree_.missing_left[id] = cut.missing_seen ? split.missing_left : left.weight >= right.weight;
    const bool left_grows = keep_posterior(left, left_clip_);
    const bool right_grows = keep_posterior(right, right_clip_);
    if (left_grows || right_grows) {
      ground_.partition.divide_columns(node.part, left.part, right.part, spare_);
    }
    if (right_grows) pending_.push_back(std::move(right));
    if (left_grows) pending_.push_back(std::move(left));
  }

  // A branch of a categorical split still to be written, and the node that becomes it.
  struct Branches {
    NodeId node;
    Part part;
    std::span<const Piece> pieces;
  };

  void expand_by_category(const Pending& node, const CategorySplit& split, const Penalty& lambda) {
    if (split.gain < ground_.options.min_gain || split.gain <= 1e-12 * node.weight) return;
    const std::vector<std::uint8_t>& bin_of = split.category->bins;
    std::vector<std::uint8_t> bins;
    for (const std::int32_t row : ground_.partition.rows(node.part)) {
      bins.push_back(bin_of[index(row)]);
    }
    std::sort(bins.begin(), bins.end());
    bins.erase(std::unique(bins.begin(), bins.end()), bins.end());
    const std::vector<Piece> pieces = pieces_of(*split.category, bins);
    std::vector<Branches> open{{node.node, node.part, pieces}};
    std::vector<Pending> children;
    while (!open.empty()) {
      const Branches now = std::move(open.back());
      open.pop_back();
      if (now.pieces.size() == 1) {
        if (now.pieces[0].bin < 0) continue;  // a null child keeps its parent's distribution
        Pending child = child_of(node, now.part.begin, now.part.end);
        child.part.segments = now.part.segments;
        child.node = now.node;
        const Clip clip = solver_.solve(branch_of(child), lambda.of(child.weight));
        if (keep_posterior(child, clip)) children.push_back(std::move(child));
        continue;
      }
      divide_branches(now, split, open);
    }
    for (Pending& child : children) pending_.push_back(std::move(child));
  }

  // Makes one comparison of a categorical split.
  void divide_branches(const Branches& now, const CategorySplit& split,
                       std::vector<Branches>& open) {
    const Category& category = *split.category;
    const auto left_pieces = now.pieces.first(now.pieces.size() / 2);
    const auto right_pieces = now.pieces.subspan(left_pieces.size());
    std::array<std::uint8_t, missing_bin + 1> is_left{};
    for (const Piece& piece : left_pieces) {
      if (piece.bin >= 0) is_left[index(piece.bin)] = 1;
    }
    Part left{now.part.begin, 0, {}}, right{0, now.part.end, {}};
    left.end = right.begin = ground_.partition.divide_rows_by(
        now.part, [&](std::int32_t row) { return is_left[category.bins[index(row)]]; }, spare_);
    ground_.partition.divide_columns(now.part, left, right, spare_);
    const NodeId first = append_node(weight_of(left));
    append_node(weight_of(right));
    const auto id = index(now.node);
    tree_.left[id] = first;
    tree_.feature[id] = category.column->feature;
    tree_.threshold[id] = right_pieces[0].low;
    tree_.missing_left[id] = 1;  // missing values are the first piece, or a null child
    tree_.gain[id] = split.gain;
    open.push_back({first + 1, std::move(right), right_pieces});
    open.push_back({first, std::move(left), left_pieces});
  }

  double weight_of(const Part& part) const {
    double weight = 0.0;
    ground_.for_targets(part, [&](std::size_t i) { weight += ground_.mass(i); });
    return weight;
  }

  // Fills statistics_; false if no split can gain enough.
  bool sum_up(const Pending& node, const Penalty& lambda) {
    NodeStatistics& s = statistics_;
    s.rows = ground_.partition.rows(node.part);
    s.weight = node.weight;
    s.phi = s.link_sum = s.half_square = s.excess = 0.0;
    s.count = node.counts;
    s.prior = node.priors;
    const Branch branch = branch_of(node);
    s.distance = distance(branch);
    if (ground_.gini() && branch.rest > 0) {
      s.count.push_back(0.0);
      s.prior.push_back(branch.rest);
    }
    s.link.resize(s.count.size());
    s.phi_of.resize(s.count.size());
    for (std::size_t i = 0; i < s.count.size(); ++i) {
      const double count = s.count[i], prior = s.prior[i];
      s.link[i] = ground_.gini() ? prior : elementary::log(prior);
      s.phi_of[i] = ground_.phi(count);
      s.phi += s.phi_of[i];
      s.link_sum += count * s.link[i];
      s.half_square += 0.5 * prior * prior;
      s.excess += count * std::max(1.0 - prior, 0.0);
    }
    // The gain without penalty is at most the gain of a branch for every label.
    const double most_gain =
        ground_.gini() ? 0.5 * s.weight - s.link_sum + s.weight * s.half_square : -s.link_sum;
    // c_i - W_b u_i <= c_i (1 - u_i), so no branch is farther from its prior than twice `excess`,
    // nor are two together. One of less weight than `excess` is nearer, one of more pays more.
    const double reach = 2.0 * s.excess;
    const double share = reach > 0 ? 1.0 - lambda.of(s.excess) / reach : 0.0;
    if (share <= 0 || most_gain * share * (1.0 + 1e-6) < ground_.options.min_gain) return false;
    for (std::size_t i = 0; i < node.labels.size(); ++i) {
      place_of_[index(node.labels[i])] = static_cast<LabelId>(i);
    }
    ground_.for_targets(
        node.part, [&](std::size_t i) { ground_.places[i] = place_of_[index(ground_.labels[i])]; });
    if (!ground_.targets.starts.empty()) return true;
    s.places.resize(s.rows.size());
    for (std::size_t i = 0; i < s.rows.size(); ++i) s.places[i] = ground_.places[index(s.rows[i])];
    return true;
  }

  Split best_split(Pending& node, const Penalty& lambda) {
    auto& segments = node.part.segments;
    std::atomic<float> best{static_cast<float>(ground_.options.min_gain)};
    splits_.assign(segments.size(), {});
    constant_.assign(segments.size(), 0);
    const auto search = [&](std::size_t block, std::size_t worker) {
      const std::size_t first = block * columns_at_once;
      const std::size_t n = std::min(columns_at_once, segments.size() - first);
      searches_[worker]->run(statistics_, std::span(segments).subspan(first, n), lambda,
                             std::span(splits_).subspan(first, n),
                             std::span(constant_).subspan(first, n), best);
    };
    const std::size_t n_blocks = (segments.size() + columns_at_once - 1) / columns_at_once;
    if (workers_) {
      workers_->run(n_blocks, search);
    } else {
      for (std::size_t block = 0; block < n_blocks; ++block) {
        look_up();
        search(block, 0);
      }
    }
    for (const auto& own : searches_) own->settle(statistics_, lambda, best);
    Split winner;
    for (const Split& split : splits_) {
      if (split.column != none && split.better_than(winner)) winner = split;
    }
    promote_columns(segments);
    return winner;
  }

  // Good splits here are likely to be good below, and a high gain found early prunes the rest. A
  // column that is the same in all rows stays so.
  void promote_columns(std::vector<Segment>& segments) {
    constexpr std::size_t n_promoted = 8;
    for (std::size_t place = 0; place < std::min(n_promoted, splits_.size()); ++place) {
      std::size_t best = place;
      for (std::size_t i = place + 1; i < splits_.size(); ++i) {
        if (splits_[i].gain > splits_[best].gain) best = i;
      }
      std::swap(splits_[place], splits_[best]);
      std::swap(segments[place], segments[best]);
      std::swap(constant_[place], constant_[best]);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      segments[kept] = segments[i];
      kept += !constant_[i];
    }
    segments.resize(kept);
  }

  Pending child_of(const Pending& node, std::size_t begin, std::size_t end) {
    Pending child;
    child.depth = node.depth + 1;
    child.part.begin = begin;
    child.part.end = end;
    count_.assign(node.labels.size(), 0.0);
    ground_.for_targets(
        child.part, [&](std::size_t i) { count_[index(ground_.places[i])] += ground_.mass(i); });
    for (std::size_t i = 0; i < count_.size(); ++i) {
      if (count_[i] <= 0) continue;
      child.labels.push_back(node.labels[i]);
      child.counts.push_back(count_[i]);
      child.priors.push_back(node.priors[i]);
      child.weight += count_[i];
    }
    return child;
  }

  Branch branch_of(const Pending& child) const {
    double listed = 0.0;
    for (const double prior : child.priors) listed += prior;
    const bool all = child.labels.size() == ground_.root.size();
    return {child.counts, child.priors, child.weight, all ? 0.0 : std::max(1.0 - listed, 0.0)};
  }

  void solve_children(const Pending& left, const Pending& right, double weight,
                      const Penalty& lambda) {
    const Branch left_branch = branch_of(left), right_branch = branch_of(right);
    if (ground_.options.norm == Norm::linf) {
      std::tie(left_clip_, right_clip_) =
          solver_.solve_siblings(left_branch, right_branch, lambda.of(weight));
    } else {
      left_clip_ = solver_.solve(left_branch, lambda.of(left.weight));
      right_clip_ = solver_.solve(right_branch, lambda.of(right.weight));
    }
  }

  // Writes a child's distribution to the tree and to its priors; false if it is a leaf.
  bool keep_posterior(Pending& child, const Clip& clip) {
    const bool may_grow = child.labels.size() > 1 && child.part.n_rows() > 1;
    if (clip.terminates()) return may_grow && ground_.options.split_terminated;
    const auto id = index(child.node);
    const double factor = clip.low / child.weight;
    tree_.factor[id] = factor;
    for (std::size_t i = 0; i < child.labels.size(); ++i) {
      const double p = clip.apply(child.counts[i], child.priors[i]) / child.weight;
      const bool shrinks = child.counts[i] <= clip.floor(child.priors[i]) || child.counts[i] == 0.0;
      child.priors[i] = shrinks ? shrink(child.priors[i], factor) : p;
      if (!shrinks) listed_[id].push_back({child.labels[i], p});
    }
    return may_grow;
  }

  // Nodes were listed in order of creation; the file needs them in order of ids.
  void finish_lists() {
    for (const auto& list : listed_) {
      for (const auto& [label, p] : list) {
        tree_.labels.push_back(label);
        tree_.p.push_back(p);
      }
      tree_.starts.push_back(static_cast<std::int64_t>(tree_.labels.size()));
    }
  }

  Ground& ground_;
  const std::span<const std::unique_ptr<SplitSearch>> searches_;
  Workers* const workers_;
  SelfTerminatingTree tree_;
  std::vector<std::vector<std::pair<LabelId, double>>> listed_;
  std::vector<Pending> pending_;
  NodeStatistics statistics_;
  BranchSolver solver_;
  CategorySearch category_search_;
  std::vector<Split> splits_;
  std::vector<std::uint8_t> constant_;
  std::vector<LabelId> place_of_;  // by label
  std::vector<double> count_;
  Clip left_clip_, right_clip_;
  Partition::Spare spare_;
};

Pending root_of(const Ground& ground) {
  Pending root;
  root.part = ground.partition.all();
  std::erase_if(root.part.segments, [&](const Segment& segment) {
    return std::any_of(ground.categories.begin(), ground.categories.end(),
                       [&](const Category& c) { return c.number == segment.column; });
  });
  std::vector<double> count(ground.root.size(), 0.0);
  ground.for_targets(root.part,
                     [&](std::size_t i) { count[index(ground.labels[i])] += ground.mass(i); });
  for (std::size_t l = 0; l < count.size(); ++l) {
    if (count[l] <= 0) continue;
    root.labels.push_back(static_cast<LabelId>(l));
    root.counts.push_back(count[l]);
    root.priors.push_back(ground.root[l]);
    root.weight += count[l];
  }
  return root;
}

// Replaces a leaf by a subtree. Its root becomes the leaf, the other nodes get the next ids.
void graft(SelfTerminatingTree& tree, NodeId leaf, const SelfTerminatingTree& subtree) {
  const auto shift = static_cast<NodeId>(tree.n_nodes()) - 1;
  const auto moved = [&](NodeId left) { return left == none ? none : left + shift; };
  const auto id = index(leaf);
  tree.left[id] = moved(subtree.left[0]);
  tree.feature[id] = subtree.feature[0];
  tree.threshold[id] = subtree.threshold[0];
  tree.missing_left[id] = subtree.missing_left[0];
  tree.gain[id] = subtree.gain[0];
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin() + 1, from.end());
  };
  for (std::size_t node = 1; node < subtree.n_nodes(); ++node) {
    tree.left.push_back(moved(subtree.left[node]));
  }
  append(tree.feature, subtree.feature);
  append(tree.threshold, subtree.threshold);
  append(tree.missing_left, subtree.missing_left);
  append(tree.gain, subtree.gain);
  append(tree.weight, subtree.weight);
  append(tree.factor, subtree.factor);
  const auto n_listed = static_cast<std::int64_t>(tree.labels.size());
  for (std::size_t node = 2; node < subtree.starts.size(); ++node) {
    tree.starts.push_back(subtree.starts[node] + n_listed);
  }
  tree.labels.insert(tree.labels.end(), subtree.labels.begin(), subtree.labels.end());
  tree.p.insert(tree.p.end(), subtree.p.begin(), subtree.p.end());
}

}  // namespace

SelfTerminatingTree grow(const BinnedColumns& data, const Targets& targets,
                         std::span<const double> root, const Growing& options) {
  Workers workers(options.n_workers);
  Ground ground(data, targets, root, options);
  std::vector<std::unique_ptr<SplitSearch>> searches;
  std::vector<std::unique_ptr<Grower>> growers;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    searches.push_back(std::make_unique<SplitSearch>(ground.partition.data(), ground.targets,
                                                     ground.phi, root.size(), options.criterion,
                                                     options.norm));
  }
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    growers.push_back(
        std::make_unique<Grower>(ground, std::span(searches).subspan(worker, 1), nullptr));
  }
  Grower top(ground, searches, &workers);
  SelfTerminatingTree tree = top.run(root_of(ground));
  std::vector<SelfTerminatingTree> subtrees(top.deferred.size());
  workers.run(subtrees.size(), [&](std::size_t i, std::size_t worker) {
    subtrees[i] = growers[worker]->run(std::move(top.deferred[i]));
  });
  for (std::size_t i = 0; i < subtrees.size(); ++i) graft(tree, top.deferred[i].node, subtrees[i]);
  tree.root.assign(root.begin(), root.end());
  tree.link(std::numeric_limits<std::int32_t>::max());
  return tree;
}

}  // namespace labeltrees
