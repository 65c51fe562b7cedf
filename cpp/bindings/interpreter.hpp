// Working without the interpreter's lock (the GIL), and hearing the interpreter meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

#include "labeltrees/platform/attention.hpp"

namespace labeltrees::bindings {

namespace nb = nanobind;

// Releases the GIL during its lifetime. Unlike nanobind's own, it does not end the process when its
// thread returns to an interpreter that is shutting down. Such a thread sleeps forever.
class Released {
 public:
  Released() noexcept : thread_(PyEval_SaveThread()) {}
  ~Released() { come_back(thread_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

  static void come_back(PyThreadState* thread) noexcept;

 private:
  PyThreadState* thread_;
};

// Lets signals be handled, if this is the thread that handles them; what a handler raises (Ctrl-C)
// is thrown as nb::python_error. To be called without the GIL.
void hear_signals();

// For calls that may take long: the GIL is released, and look_up hears signals.
class LongWork {
 private:
  Released released_;
  Attentive attentive_{&hear_signals};
};

// The module calls this once, so that the end of the interpreter and forks are noticed.
void bind_interpreter();

}  // namespace labeltrees::bindings
