#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "../check.hpp"
#include "labeltrees/platform/turn_lock.hpp"

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace labeltrees;

namespace {

void wait_until(const auto& holds) {
  while (!holds()) std::this_thread::yield();
}

}  // namespace

TEST(threads_one_alone_or_many_sharing) {
  TurnLock lock;
  std::atomic<int> n_sharing{0};
  std::atomic<bool> were_apart{true};
  int changed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const std::unique_lock alone(lock);
        ++changed;
        if (n_sharing != 0) were_apart = false;
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        const std::shared_lock shared(lock);
        ++n_sharing;
        if (changed < 0) were_apart = false;  // reads what the others write
        --n_sharing;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(were_apart);
  CHECK(changed == 600);
  CHECK(!lock.is_contended());
}

TEST(threads_who_comes_to_share_waits_behind_who_waits_to_be_alone) {
  TurnLock lock;
  std::vector<int> order;
  std::shared_lock first(lock);
  std::thread writer([&] {
    const std::unique_lock alone(lock);
    order.push_back(1);
  });
  wait_until([&] { return lock.is_contended(); });
  std::thread reader([&] {
    const std::shared_lock shared(lock);
    order.push_back(2);
  });
  first.unlock();  // whether the reader has come by now or not, the writer is first or alone
  writer.join();
  reader.join();
  CHECK(order.size() == 2);
}

// With the std::shared_mutex of most systems, threads that share in turns keep a learner out
// forever.
TEST(threads_neither_side_starves) {
  TurnLock lock;
  std::atomic<bool> is_over{false};
  std::atomic<long> n_shared{0};
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t) {
    waiters.emplace_back([&] {
      while (!is_over) {
        const std::shared_lock shared(lock);
        ++n_shared;
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::unique_lock alone(lock);
    const long before = n_shared;
    std::this_thread::yield();
    CHECK(n_shared == before);
  }
  is_over = true;
  for (std::thread& waiter : waiters) waiter.join();
  // And the other way round: one shares while two take exclusive turns again and again.
  is_over = false;
  std::vector<std::thread> learners;
  for (int t = 0; t < 2; ++t) {
    learners.emplace_back([&] {
      while (!is_over) {
        const std::unique_lock alone(lock);
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 200; ++i) const std::shared_lock shared(lock);
  is_over = true;
  for (std::thread& learner : learners) learner.join();
}

#if defined(__unix__) && !defined(__SANITIZE_THREAD__)
// 0: free; 1: left half done.
static int in_child(TurnLock& lock) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    try {
      {
        const std::shared_lock shared(lock);
      }
      {
        const std::unique_lock alone(lock);
      }
      _exit(0);
    } catch (const LeftHalfDone&) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_child_of_fork_finds_the_lock_free_or_gets_an_error) {
  TurnLock lock;
  CHECK(in_child(lock) == 0);
  {
    const std::shared_lock shared(lock);
    CHECK(in_child(lock) == 0);
  }
  {
    const std::unique_lock alone(lock);
    CHECK(in_child(lock) == 1);
  }
  CHECK(in_child(lock) == 0);
}
#endif
