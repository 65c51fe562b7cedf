// A watch that is notified while rows are learned.
#pragma once

#include <cstddef>

namespace labeltrees {

// Called after every row, or with several threads after every batch, with the number of rows
// learned so far. The model is in a consistent state then. An exception thrown here ends learning
// at that row, and other threads may use the model during the call.
class LearningWatch {
 public:
  virtual void learned(std::size_t n_rows) = 0;

 protected:
  ~LearningWatch() = default;
};

}  // namespace labeltrees
