#include "bindings.hpp"
#include "interpreter.hpp"

NB_MODULE(_core, module) {
  using namespace labeltrees::bindings;
  nb::set_leak_warnings(false);  // at exit others may still hold our objects; that is their right
  module.doc() = "The compiled core: arrays in, arrays out.";
  bind_interpreter();
  bind_csr(module);
  bind_text_formats(module);
  bind_python_examples(module);
  bind_tree(module);
  bind_regression(module);
  bind_conditional_tree(module);
  bind_queries(module);
  bind_refined_trees(module);
  bind_multilabel_tree(module);
  bind_pecoc_tree(module);
  bind_one_against_all(module);
  bind_ndcg_trees(module);
  bind_self_terminating_tree(module);
  bind_lom_tree(module);
  bind_filter_tree(module);
  bind_relevance_training(module);
  bind_relevance_forest(module);
  bind_one_vs_rest(module);
}
