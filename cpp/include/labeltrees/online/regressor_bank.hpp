// Regressors that are always evaluated and trained together. There may be any number of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/online/prepared_row.hpp"
#include "labeltrees/online/regression.hpp"
#include "labeltrees/online/weight_table.hpp"

namespace labeltrees {

// Regressor i of a bank is slot i % 7 of block first_block + i / 7 of a weight table.
struct Bank {
  std::uint32_t first_block = 1;
  std::uint32_t n_regressors = 0;
  std::uint32_t n_blocks() const noexcept {
    return (n_regressors + static_cast<std::uint32_t>(block_size) - 1) /
           static_cast<std::uint32_t>(block_size);
  }
};

// w . x for the seven regressors of a block; the eighth is not used. Features are summed in order.
// O(nnz).
using Margins = std::array<float, block_size + 1>;
inline void add_line(const WeightLine& line, float x, Margins& margins) noexcept {
  for (std::size_t slot = 0; slot < margins.size(); ++slot) margins[slot] += x * line.value[slot];
}
Margins block_margins(const WeightTable& table, std::uint32_t block, const PreparedRow& row);

// margins[i] = w_i . x. O(n_regressors nnz).
void bank_margins(const WeightTable& table, const Bank& bank, const PreparedRow& row,
                  std::span<float> margins);

// Whether every regressor of a bank may learn the row, as `train` would. Changes no weight; margins
// is scratch memory of n_regressors. O(n_regressors nnz).
bool may_train(const WeightTable& table, const Bank& bank, const PreparedRow& row,
               std::span<const std::uint8_t> targets, float weight, const Learning& options,
               std::span<float> margins);

// One gradient step of every regressor of a bank. Keeps its scratch memory from call to call.
class BankTrainer {
 public:
  // Allocates all memory that train needs for this row and for banks of this number of blocks.
  // train then does not throw until the table has that many new lines. Throws std::bad_alloc.
  void make_room(WeightTable& table, std::size_t n_blocks, const PreparedRow& row);
  // Regressor i learns targets[i], 0 or 1, with the row's weight; margins[i] becomes its margin
  // before the step. False if a margin is not finite; that block has not changed then.
  // O(n_regressors nnz).
  bool train(WeightTable& table, const Bank& bank, const PreparedRow& row,
             std::span<const std::uint8_t> targets, float weight, const Learning& options,
             std::span<float> margins);

 private:
  std::vector<WeightLine*> lines_;
};

// Puts saved lines back into an empty table. keys are strictly increasing, with blocks in [1,
// n_blocks]. weights and sums: 7 per key, finite and not negative. Throws TreeError.
void restore_lines(WeightTable& table, std::span<const std::uint64_t> keys,
                   std::span<const float> weights, std::span<const float> sums,
                   std::uint64_t n_blocks);

// The least probability of one of n >= 2 outcomes. All outcomes together get no more than the two
// outcomes of a binary node.
inline double least_share(std::size_t n) noexcept {
  return 2 * probability_floor / static_cast<double>(n);
}

}  // namespace labeltrees
