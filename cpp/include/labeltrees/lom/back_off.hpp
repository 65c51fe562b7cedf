// The trust in a tree's histograms, estimated from rows before they are learned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace labeltrees {

// Model of how a row's label is drawn. At the end of the row's path it is drawn from the node's
// histogram with a probability called the node's trust. Otherwise it is drawn in the same manner
// from the parent, and at last from the shares of all labels. Nodes of a class have one trust. It
// is the share of rows whose label was drawn there among the rows that reached that step (online
// expectation maximisation). A row is divided among the nodes of its path in proportion to the
// probability that each drew the label.
class BackOff {
 public:
  static constexpr std::size_t n_sizes = 20, n_repeats = 8;
  static constexpr std::size_t n_classes = 2 * n_sizes * n_repeats;

  BackOff();
  // A state saved earlier, n_classes each. Throws TreeError.
  BackOff(std::span<const double> reached, std::span<const double> drawn);

  // Leaves and inner nodes apart, by the powers of two of a node's examples n > 0 and of its
  // examples per label.
  static std::size_t class_of(bool is_leaf, double n, std::uint32_t n_labels) noexcept;
  // In (0, 1).
  double trust(std::size_t c) const noexcept { return drawn_[c] / reached_[c]; }
  // Adds `reached` rows that reached nodes of the class, and `drawn` rows whose label was drawn
  // there.
  void add(std::size_t c, double reached, double drawn) noexcept {
    reached_[c] += reached;
    drawn_[c] += drawn;
  }

  std::span<const double> reached() const noexcept { return reached_; }
  std::span<const double> drawn() const noexcept { return drawn_; }

 private:
  std::array<double, n_classes> reached_, drawn_;
};

}  // namespace labeltrees
