// Array types that all binding files share, and their conversion to views and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace labeltrees::bindings {

namespace nb = nanobind;

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OwnedVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using OwnedMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <typename T>
std::span<const T> view(const Vector<T>& array) {
  return {array.data(), array.shape(0)};
}

// Gives a vector's memory to NumPy without copying it.
template <typename T>
OwnedVector<T> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return OwnedVector<T>(owned->data(), {owned->size()}, owner);
}

template <typename T>
OwnedMatrix<T> give(std::vector<T>&& values, std::size_t n_columns) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t n_rows = n_columns == 0 ? 0 : owned->size() / n_columns;
  return OwnedMatrix<T>(owned->data(), {n_rows, n_columns}, owner);
}

// One function per header of the core.
void bind_csr(nb::module_& module);
void bind_conditional_tree(nb::module_& module);
void bind_filter_tree(nb::module_& module);
void bind_lom_tree(nb::module_& module);
void bind_multilabel_tree(nb::module_& module);
void bind_ndcg_trees(nb::module_& module);
void bind_one_against_all(nb::module_& module);
void bind_one_vs_rest(nb::module_& module);
void bind_pecoc_tree(nb::module_& module);
void bind_text_formats(nb::module_& module);
void bind_python_examples(nb::module_& module);
void bind_queries(nb::module_& module);
void bind_refined_trees(nb::module_& module);
void bind_regression(nb::module_& module);
void bind_relevance_forest(nb::module_& module);
void bind_relevance_training(nb::module_& module);
void bind_self_terminating_tree(nb::module_& module);
void bind_tree(nb::module_& module);

}  // namespace labeltrees::bindings
