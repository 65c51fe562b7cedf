#include "tree_queries.hpp"

namespace labeltrees::bindings {

void bind_queries(nb::module_& module) { def_tree_queries<ConditionalTree>(module); }

}  // namespace labeltrees::bindings
