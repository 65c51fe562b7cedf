#include "bindings.hpp"

NB_MODULE(_core, module) {
  using namespace labeltrees::bindings;
  module.doc() = "The compiled core: arrays in, arrays out.";
  bind_python_examples(module);
  bind_tree(module);
}
