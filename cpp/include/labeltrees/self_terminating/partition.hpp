// Which rows and entries of which columns belong to which node of a growing tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/self_terminating/binned_columns.hpp"
#include "labeltrees/self_terminating/split_search.hpp"

namespace labeltrees {

// A node's part of the data: a range of rows, and of the columns that may still split it.
struct Part {
  std::size_t begin = 0, end = 0;
  std::vector<Segment> segments;
  std::size_t n_rows() const noexcept { return end - begin; }
};

// Divides a node's part between its children, in place. Different nodes' parts never overlap, so
// workers may divide theirs at the same time; each needs its own Spare.
class Partition {
 public:
  struct Spare {
    std::vector<std::int32_t> rows;
    std::vector<std::uint8_t> bins;
  };
  // The place where the right child's rows begin, and a value between the values left and right of
  // the cut.
  struct Cut {
    std::size_t middle;
    float threshold;
    bool missing_seen;
  };

  explicit Partition(const BinnedColumns& data);

  const BinnedColumns& data() const noexcept { return data_; }
  Part all() const;
  std::span<const std::int32_t> rows(const Part& part) const noexcept {
    return std::span(rows_).subspan(part.begin, part.n_rows());
  }
  // O(rows).
  Cut divide_rows(const Part& part, const Split& split, Spare& spare);
  // Puts the rows for which goes_left(row) before the others; returns where those begin. O(rows).
  template <typename GoesLeft>
  std::size_t divide_rows_by(const Part& part, GoesLeft goes_left, Spare& spare) {
    for (const std::int32_t row : rows(part)) {
      goes_left_[static_cast<std::size_t>(row)] = goes_left(row);
    }
    return move_rows(part, spare);
  }
  // After dividing rows; left and right know their rows. Entries keep their order by bin.
  // O(entries) of the sparse columns.
  void divide_columns(const Part& part, Part& left, Part& right, Spare& spare);

 private:
  using Bins = std::array<std::uint8_t, missing_bin + 1>;
  Bins mark_rows(const Part& part, const Split& split);
  std::size_t move_rows(const Part& part, Spare& spare);
  void keep(Part& part, const Segment& segment) const;

  BinnedColumns data_;
  std::vector<std::int32_t> rows_;
  std::vector<std::uint8_t> goes_left_;  // by row
};

}  // namespace labeltrees
