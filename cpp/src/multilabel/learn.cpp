#include <algorithm>
#include <array>

#include "labeltrees/multilabel/marginals.hpp"
#include "labeltrees/multilabel/siblings.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {
namespace {

// The labels of one row.
struct RowLabels {
  std::span<const LabelId> ids;
  std::span<const float> relevance;
};

class MultilabelLearner {
 public:
  MultilabelLearner(MultilabelTree& model, const MultilabelLearning& options)
      : model_(model), options_(options), walker_(model, options.reading) {}

  // Reads the row, and finds its candidates if they are needed.
  void read(const SparseRow& row, std::size_t k) {
    p_root_ = walker_.start(row);
    proposal_.candidates.clear();
    const Shortlist& own = model_.shortlist();
    if (own.most > 0) {
      search_.run(model_, walker_, p_root_, own, proposal_);
    } else if (k > 0) {
      search_.run(model_, walker_, p_root_, {k, 0.0}, proposal_);
    }
  }

  // Learns the row that was read. p_label[i] becomes the prediction for its labels, by the tree or,
  // for candidates, by the rerankers.
  void observe(const RowLabels& labels, float weight, std::span<double> p_label) {
    make_room(labels);
    find_outside(labels);
    if (refines()) refiner_.expect(model_.rerankers(), row(), proposal_, outside_);
    place_new(labels);
    mark_nodes(labels);
    evaluate_nodes();
    update_top(labels, weight);
    update_nodes(weight);
    predict(labels);
    if (refines()) {
      refiner_.evaluate(model_.rerankers(), row(), proposal_, outside_);
      update_rerankers(labels, weight);
    }
    for (std::size_t i = 0; i < p_label.size(); ++i) p_label[i] = predicted_[i];
  }

  // The most likely candidates, refined; call it after evaluate_rerankers or observe.
  void top(std::size_t k, std::span<LabelId> labels, std::span<double> p) {
    order_.clear();
    for (std::size_t i = 0; i < proposal_.candidates.size(); ++i) {
      order_.push_back({proposal_.candidates[i].label,
                        refines() ? refiner_.q(i) : proposal_.candidates[i].p_trees});
    }
    std::sort(order_.begin(), order_.end(), [](const Found& a, const Found& b) {
      return a.p_label != b.p_label ? a.p_label > b.p_label : a.label < b.label;
    });
    for (std::size_t i = 0; i < k; ++i) {
      labels[i] = i < order_.size() ? order_[i].label : none;
      p[i] = i < order_.size() ? order_[i].p_label : 0.0;
    }
  }
  void evaluate_rerankers() {
    if (!refines()) return;
    refiner_.expect(model_.rerankers(), row(), proposal_, {});
    refiner_.evaluate(model_.rerankers(), row(), proposal_, {});
  }

  // Returns whether the row's weight and values leave all steps finite. Slopes are never above the
  // weight.
  bool may_learn(float weight) const noexcept {
    return !may_diverge(options_.reading) ||
           may_step(weight, row().largest(), options_.optimizer, options_.learning_rate);
  }

 private:
  // A node where the row has a label, and how relevant the most relevant below it is.
  struct Marked {
    NodeId node;
    float relevance;
    double p_path = 0;
  };

  const PreparedRow& row() const noexcept { return walker_.row(); }

  bool refines() const noexcept { return model_.shortlist().most > 0; }

  // All the memory that learning the row takes; from then on nothing throws.
  void make_room(const RowLabels& labels) {
    const WideTree& tree = model_.tree();
    std::size_t n_new = 0;
    LabelId largest = 0;
    for (const LabelId label : labels.ids) {
      n_new += tree.leaf_of(label) == none;
      largest = std::max(largest, label);
    }
    // New roots make paths longer, by no more levels than this loop counts.
    std::size_t height = tree.nodes_per_label();
    for (std::size_t n = labels.ids.size(); n_new > 0 && n > 0; n /= WideTree::most_children) {
      ++height;
    }
    const std::size_t n_blocks = 1 + labels.ids.size() * height;
    const std::size_t n = labels.ids.size();
    marked_.reserve(n * height);
    new_.reserve(n);
    outside_.reserve(n);
    predicted_.reserve(n);
    keys_.reserve(n_blocks * row().size());
    homes_.reserve(n_blocks * row().size());
    lines_.reserve(n_blocks * row().size());
    found_.reserve(n_blocks * row().size());
    outputs_.reserve(n_blocks);
    targets_.reserve(n + proposal_.candidates.size());
    order_.reserve(proposal_.candidates.size());
    model_.make_room(n_new, largest, n_blocks * row().size());
    place_of_.resize(model_.tree().n_nodes() + n * height, none);
    if (refines()) {
      refiner_.make_room(model_.rerankers(), row(), proposal_.candidates.size() + n);
    }
  }

  // Labels of the row that are not candidates. The tree's probabilities for them are set later.
  void find_outside(const RowLabels& labels) {
    outside_.clear();
    for (const LabelId label : labels.ids) {
      if (proposal_.find(label) < proposal_.candidates.size()) continue;
      const NodeId leaf = model_.tree().leaf_of(label);
      outside_.push_back({label, 0.0, leaf == none ? 0.0 : model_.mass(leaf)});
    }
  }

  void place_new(const RowLabels& labels) {
    new_.clear();
    root_before_ = model_.tree().root();
    for (std::size_t i = 0; i < labels.ids.size(); ++i) {
      if (model_.tree().leaf_of(labels.ids[i]) != none) continue;
      if (model_.tree().is_full()) model_.grow();
      const NodeId parent = find_place(labels);
      model_.add_child(parent, labels.ids[i]);
      new_.push_back(labels.ids[i]);
    }
  }

  // The node of height 1 that a new label joins. At every node this is the child that other labels
  // of the row are below, else the most likely child, if it is likely enough or no child can be
  // opened.
  NodeId find_place(const RowLabels& labels) {
    const WideTree& tree = model_.tree();
    NodeId node = tree.root();
    while (tree.at(node).height > 1) {
      const std::span<const NodeId> children = tree.children(node);
      const std::span<const double> eta = walker_.evaluate(node);
      NodeId best = none;
      double most = -1;
      for (std::size_t s = 0; s < children.size(); ++s) {
        if (tree.at(children[s]).is_leaf() || tree.at(children[s]).room == 0) continue;
        const double liking = eta[s] + (has_label_below(labels, children[s]) ? 1.0 : 0.0);
        if (liking > most) {
          most = liking;
          best = children[s];
        }
      }
      const bool can_open = children.size() < WideTree::most_children;
      if (best == none || (can_open && most < options_.branching_threshold)) {
        best = model_.add_child(node, none);
      }
      node = best;
    }
    return node;
  }

  bool has_label_below(const RowLabels& labels, NodeId node) const noexcept {
    const WideTree& tree = model_.tree();
    for (const LabelId label : labels.ids) {
      NodeId each = tree.leaf_of(label);
      while (each != none && each != node) each = tree.at(each).parent;
      if (each == node) return true;
    }
    return false;
  }

  // The inner nodes on the paths of the row's labels, parents first.
  void mark_nodes(const RowLabels& labels) {
    const WideTree& tree = model_.tree();
    for (const Marked& each : marked_) place_of_[index(each.node)] = none;
    marked_.clear();
    for (std::size_t i = 0; i < labels.ids.size(); ++i) {
      for (NodeId node = tree.leaf_of(labels.ids[i]); node != none; node = tree.at(node).parent) {
        std::int32_t& place = place_of_[index(node)];
        if (place == none) {
          place = static_cast<std::int32_t>(marked_.size());
          marked_.push_back({node, labels.relevance[i]});
        } else {
          Marked& known = marked_[index(place)];
          known.relevance = std::max(known.relevance, labels.relevance[i]);
        }
      }
    }
    std::sort(marked_.begin(), marked_.end(), [&](const Marked& a, const Marked& b) {
      const auto height = [&](const Marked& each) { return tree.at(each.node).height; };
      return height(a) != height(b) ? height(a) > height(b) : a.node < b.node;
    });
    for (std::size_t i = 0; i < marked_.size(); ++i) {
      place_of_[index(marked_[i].node)] = static_cast<std::int32_t>(i);
    }
  }

  // The lines of the at-th block that is updated; the top block is the first.
  std::span<CountedLine* const> lines_at(std::size_t at) const noexcept {
    return std::span(found_).subspan(at * row().size(), row().size());
  }

  // Finds or makes the lines of all blocks that will be updated, so that they wait for memory
  // together.
  void obtain_lines() {
    keys_.clear();
    const auto name = [&](std::uint32_t block) {
      for (const std::uint32_t feature : row().features) {
        keys_.push_back(CountedTable::key(block, feature));
      }
    };
    name(MultilabelTree::top_block);
    std::size_t n_blocks = 1;
    for (const Marked& each : marked_) {
      if (model_.tree().at(each.node).is_leaf()) continue;
      name(MultilabelTree::block_of(each.node));
      ++n_blocks;
    }
    outputs_.resize(n_blocks);
    homes_.resize(keys_.size());
    lines_.resize(keys_.size());
    found_.resize(keys_.size());
    model_.table().guess_all<true>(keys_, homes_, lines_);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      found_[i] = &model_.table().obtain(keys_[i], lines_[i]);
    }
  }

  void evaluate(std::size_t at, const SiblingPasts& pasts) {
    BlockOutput& output = outputs_[at];
    output.pasts = pasts;
    evaluate_siblings(lines_at(at), row().values, block_size, pasts, model_.mixtures(),
                      options_.reading, output.siblings);
  }

  // Evaluates the blocks of all marked nodes, from the root down, before any of them learns.
  // Predictions are those of the model before, although nodes share mixtures.
  void evaluate_nodes() {
    const WideTree& tree = model_.tree();
    obtain_lines();
    evaluate(0, pasts_of_top(model_));
    std::size_t at = 1;
    for (Marked& each : marked_) {
      if (each.node == root_before_) {  // a new root makes no prediction for the row that created
                                        // it
        each.p_path = outputs_[0].siblings.of[MultilabelTree::any_slot].p_node;
      }
      if (tree.at(each.node).is_leaf()) continue;
      evaluate(at, pasts_below(model_, each.node));
      const std::span<const NodeId> children = tree.children(each.node);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const std::int32_t place = place_of_[index(children[s])];
        if (place == none) continue;
        marked_[index(place)].p_path = each.p_path * outputs_[at].siblings.of[s].p_node;
      }
      ++at;
    }
  }

  void update(std::size_t at, const SiblingNumbers& targets, const SiblingNumbers& weights,
              std::size_t n_mixing) {
    update_siblings(lines_at(at), row(), outputs_[at].siblings, targets, weights,
                    outputs_[at].pasts, n_mixing, model_.mixtures(), options_);
  }

  void update_top(const RowLabels& labels, float weight) {
    float relevance = 0;
    for (const float each : labels.relevance) relevance = std::max(relevance, each);
    SiblingNumbers targets{}, weights{};
    targets[MultilabelTree::any_slot] = relevance;
    targets[MultilabelTree::yes_slot] = 1;
    weights[MultilabelTree::any_slot] = weight;
    weights[MultilabelTree::yes_slot] = weights[MultilabelTree::no_slot] = weight * relevance;
    update(0, targets, weights, 1);
    if (!options_.again) model_.add_row(weight);
  }

  void update_nodes(float weight) {
    const WideTree& tree = model_.tree();
    std::size_t at = 1;
    for (const Marked& each : marked_) {
      if (tree.at(each.node).is_leaf()) continue;
      SiblingNumbers targets{}, weights;
      const std::span<const NodeId> children = tree.children(each.node);
      for (std::size_t s = 0; s < children.size(); ++s) {
        const std::int32_t place = place_of_[index(children[s])];
        if (place != none) targets[s] = marked_[index(place)].relevance / each.relevance;
      }
      weights.fill(weight * each.relevance);
      update(at++, targets, weights, block_size);
    }
    if (options_.again) return;
    for (const Marked& each : marked_) model_.add_mass(each.node, weight * each.relevance);
  }

  // The tree's probability of the row's labels; 0 for new ones.
  void predict(const RowLabels& labels) {
    predicted_.assign(labels.ids.size(), 0.0);
    for (std::size_t i = 0; i < labels.ids.size(); ++i) {
      if (std::find(new_.begin(), new_.end(), labels.ids[i]) != new_.end()) continue;
      const NodeId leaf = model_.tree().leaf_of(labels.ids[i]);
      predicted_[i] = marked_[index(place_of_[index(leaf)])].p_path;
    }
    for (Candidate& each : outside_) {
      const auto at = std::find(labels.ids.begin(), labels.ids.end(), each.label);
      each.p_trees = predicted_[static_cast<std::size_t>(at - labels.ids.begin())];
    }
  }

  void update_rerankers(const RowLabels& labels, float weight) {
    const std::size_t n = proposal_.candidates.size();
    targets_.assign(n + outside_.size(), 0.0f);
    for (std::size_t i = 0; i < labels.ids.size(); ++i) {
      const std::size_t at = proposal_.find(labels.ids[i]);
      if (at < n) {
        targets_[at] = labels.relevance[i];
        predicted_[i] = refiner_.q(at);
      }
      for (std::size_t j = 0; j < outside_.size(); ++j) {
        if (outside_[j].label == labels.ids[i]) targets_[n + j] = labels.relevance[i];
      }
    }
    refiner_.update(model_.rerankers(), row(), proposal_, targets_, weight, options_);
  }

  MultilabelTree& model_;
  const MultilabelLearning& options_;
  CountedTable::Growing growing_{model_.table()};
  PairTable::Growing rerankers_growing_{model_.rerankers().table()};
  WideWalker walker_;
  WideSearch search_;
  Proposal proposal_;
  MarginalRefiner refiner_;
  double p_root_ = 0;
  std::vector<Candidate> outside_;
  std::vector<LabelId> new_;
  NodeId root_before_ = none;
  std::vector<Marked> marked_;
  std::vector<std::int32_t> place_of_;  // in marked_, by node
  std::vector<double> predicted_;       // by label of the row
  std::vector<float> targets_;
  std::vector<Found> order_;
  std::vector<std::uint64_t> keys_;  // by block that is updated, the top block first
  std::vector<CountedTable::Home> homes_;
  std::vector<const CountedLine*> lines_;
  std::vector<CountedLine*> found_;
  struct BlockOutput {
    SiblingOutputs siblings;
    SiblingPasts pasts;
  };
  std::vector<BlockOutput> outputs_;  // by block that is updated
};

}  // namespace

void learn(MultilabelTree& model, const CsrView& X, const LabelRows& labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const MultilabelPrediction& prediction, const MultilabelLearning& options,
           LearningWatch* watch) {
  MultilabelLearner learner(model, options);
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  std::size_t entry = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = order.empty() ? i : static_cast<std::size_t>(order[i]);
    const float weight = weights.empty() ? 1.0f : weights[r];
    const SparseRow own = labels.row(r);
    const std::size_t k = prediction.k;
    const std::size_t n_own = prediction.p_label.empty() ? 0 : own.size();
    const std::span<double> p_label =
        prediction.p_label.empty() ? std::span<double>{} : prediction.p_label.subspan(entry, n_own);
    if (weight > 0 || k > 0) {
      learner.read(X.row(r), k);
      if (weight > 0) {
        if (!learner.may_learn(weight)) throw Diverged(r);
        learner.observe({own.indices, own.values}, weight, p_label);
      } else {
        learner.evaluate_rerankers();
      }
    }
    if (k > 0) learner.top(k, prediction.top.subspan(i * k, k), prediction.p_top.subspan(i * k, k));
    entry += own.size();
    if (watch != nullptr) watch->learned(i + 1);
  }
}

}  // namespace labeltrees
