#include <atomic>
#include <stdexcept>
#include <thread>

#include "../check.hpp"
#include "../failing_allocator.hpp"
#include "labeltrees/platform/workers.hpp"

using namespace labeltrees;

TEST(workers_that_cannot_all_be_started_do_the_work_with_fewer) {
  const auto work = [] {
    Workers workers(4);
    std::atomic<std::size_t> sum{0};
    workers.run(100, [&](std::size_t number, std::size_t worker) {
      CHECK(worker < workers.size());
      sum += number;
    });
    CHECK(sum == 4950);
  };
  const long n = tests::count_allocations(work);
  CHECK(n >= 4);
  for (long k = 0; k <= n; ++k) {
    tests::runs_out_of_memory(k, false, work);
    tests::runs_out_of_memory(k, true, work);
  }
}

TEST(a_task_that_throws_ends_the_work_once_and_the_workers_continue) {
  Workers workers(3);
  constexpr std::size_t n_tasks = 200'000;
  for (int round = 0; round < 3; ++round) {
    std::atomic<std::size_t> n_done{0};
    const auto work = [&] {
      workers.run(n_tasks, [&](std::size_t number, std::size_t) {
        if (number == 5) throw std::runtime_error("the fifth");
        std::this_thread::yield();
        ++n_done;
      });
    };
    CHECK_THROWS(work(), std::runtime_error);
    CHECK(n_done < n_tasks / 2);
    std::atomic<std::size_t> sum{0};
    workers.run(10, [&](std::size_t number, std::size_t) { sum += number; });
    CHECK(sum == 45);
  }
}
