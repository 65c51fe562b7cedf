// How far a tree's histograms are to be trusted, learned from rows before they are taught.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace labeltrees {

// Think of a row's label as drawn so: at the end of the row's way from the node's histogram with a
// chance called the node's trust, else in the same manner from its parent, at last from the shares
// of all labels. Nodes of a class have one trust: the share of rows whose label was drawn there of
// those that had got so far (online expectation maximisation). A row is divided among the nodes of
// its way, each as likely as it is to have drawn the label.
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
  // So many more rows got to nodes of the class, and the labels of so many were drawn there.
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
