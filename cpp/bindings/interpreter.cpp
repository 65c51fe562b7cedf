#include "interpreter.hpp"

#include <chrono>
#include <system_error>
#include <thread>

#include "labeltrees/platform/system.hpp"
#include "labeltrees/platform/turn_lock.hpp"

namespace labeltrees::bindings {
namespace {

// Set when the interpreter begins to shut down. Whoever would take the GIL after that could be
// killed in the middle of C++ code, which ends the process with an abort.
std::atomic<bool> is_ending{false};
std::atomic<std::size_t> n_coming_back{0};
std::thread::id last_thread;  // the one that shuts down

[[noreturn]] void sleep_for_ever() noexcept {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Called by atexit. No thread can enter Python after this, and threads about to enter it have done
// so.
void end() {
  last_thread = std::this_thread::get_id();
  is_ending = true;
  PyThreadState* const thread = PyEval_SaveThread();
  while (n_coming_back != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(thread);
}

void forget_other_threads() noexcept {  // in a child of fork
  n_coming_back = 0;
  is_ending = false;
}

// Gives the GIL back at the end of a scope.
struct Leaving {
  Leaving() = default;
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() { PyEval_SaveThread(); }
};

bool is_main_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

}  // namespace

void Released::come_back(PyThreadState* thread) noexcept {
  ++n_coming_back;
  if (is_ending && std::this_thread::get_id() != last_thread) {
    --n_coming_back;
    sleep_for_ever();
  }
  PyEval_RestoreThread(thread);
  --n_coming_back;
}

void hear_signals() {
  Released::come_back(PyGILState_GetThisThreadState());
  const Leaving leaving;
  if (is_main_thread() && PyErr_CheckSignals() != 0) throw nb::python_error();
}

void bind_interpreter() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end));
  system::notice_fork(&forget_other_threads);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const LeftHalfDone& error) {
      const nb::object kind = nb::module_::import_("labeltrees.errors").attr("ForkedModelError");
      PyErr_SetString(kind.ptr(), error.what());
    } catch (const std::system_error& error) {
      const nb::object args = nb::make_tuple(error.code().value(), error.what());
      PyErr_SetObject(PyExc_OSError, args.ptr());  // of the class that fits the number
    }
  });
}

}  // namespace labeltrees::bindings
