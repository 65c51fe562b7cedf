"""Conditional trees on a cluster: partitions in order as `partial_fit` learns them, and pools."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from tests.dask.conftest import cut, digest, rows

from labeltrees import (
    AdacondClassifier,
    ConditionalTreeClassifier,
    ExtremeRegressor,
    load_model,
)
from labeltrees.dask import fit, fit_pool
from labeltrees.errors import ArgumentError, DataError


def labelled():
    X, y = rows()
    return X, np.array([own[0] if own else "none" for own in y], dtype=object)


def delayed(data, n_parts):
    return [dask.delayed(part) for part in cut(data, n_parts)]


def test_the_exact_model_is_that_of_partial_fit_on_the_blocks(client, tmp_path):
    X, y = labelled()
    base = ConditionalTreeClassifier(optimizer="sgd", balance="examples")
    wanted = ConditionalTreeClassifier(optimizer="sgd", balance="examples")
    for part, labels in zip(cut(X, 5), cut(y, 5), strict=True):
        wanted.partial_fit(part, labels)
    found = fit(base, delayed(X, 5), delayed(y, 5), client=client)
    assert digest(found, tmp_path) == digest(wanted, tmp_path)
    assert not hasattr(base, "model_")


def test_dask_arrays_are_learned_block_by_block(client, tmp_path):
    X, y = labelled()
    numbers = np.unique(y, return_inverse=True)[1]
    wanted = ConditionalTreeClassifier()
    for part, labels in ((X[:100], numbers[:100]), (X[100:], numbers[100:])):
        wanted.partial_fit(part, labels)
    sizes = (100, 140)
    left = da.from_array(X.toarray(), chunks=(sizes, -1)).map_blocks(sparse.csr_array)
    right = da.from_array(numbers, chunks=(sizes,))
    found = fit(ConditionalTreeClassifier(), left, right, client=client)
    assert digest(found, tmp_path) == digest(wanted, tmp_path)


def test_files_are_learned_in_their_order(client, tmp_path):
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.tsv")
        lines = [f"sun{(i + number) % 4}\tit is warm {i % 4}\n" for i in range(50)]
        paths[-1].write_text("".join(lines))
    found = fit(ConditionalTreeClassifier(), paths, client=client)
    assert found.classes_.tolist() == ["sun0", "sun1", "sun2", "sun3"]


def test_a_pool_answers_by_the_mean_of_its_trees(client, tmp_path):
    X, y = labelled()
    tree = ConditionalTreeClassifier()
    found = fit_pool(tree, delayed(X, 7), delayed(y, 7), n_trees=3, client=client)
    parts = list(zip(cut(X, 7), cut(y, 7), strict=True))
    mean = np.zeros((X.shape[0], len(found.classes_)))
    for share in (parts[0:2], parts[2:4], parts[4:7]):
        tree = ConditionalTreeClassifier()
        for part, labels in share:
            tree.partial_fit(part, labels)
        mean[:, np.searchsorted(found.classes_, tree.classes_)] += tree.predict_proba(X) / 3
    assert isinstance(found, AdacondClassifier)
    assert np.allclose(found.predict_proba(X), mean, rtol=0, atol=1e-12)
    found.save(tmp_path / "pool")
    again = AdacondClassifier.around(load_model(tmp_path / "pool"))
    assert np.array_equal(again.predict_proba(X), found.predict_proba(X))


def test_a_pool_has_a_tree_for_each_worker(client):
    X, y = labelled()
    found = fit_pool(ConditionalTreeClassifier(), delayed(X, 5), delayed(y, 5), client=client)
    assert len(found.model_.members) == len(client.nthreads())


X2, Y2 = np.eye(2), np.array(["sun", "rain"])


@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        ([X2], [Y2, Y2], ArgumentError, "y has 2 partitions"),
        (["a.xc"], [Y2], ArgumentError, "y must be None"),
        ([X2[:0]], [Y2[:0]], DataError, "has a row with a label"),
    ],
)
@pytest.mark.parametrize("train", [fit, fit_pool])
def test_what_does_not_fit_is_refused(train, X, y, error, words, client):
    with pytest.raises(error, match=words):
        train(ConditionalTreeClassifier(), X, y, client=client)


@pytest.mark.parametrize(("train", "estimator"), [(fit, 3), (fit_pool, ExtremeRegressor())])
def test_another_estimator_is_refused(train, estimator, client):
    with pytest.raises(ArgumentError, match=r"estimator must be an? .*ConditionalTreeClassifier"):
        train(estimator, [X2], [Y2], client=client)


def test_a_pool_has_at_most_a_tree_for_each_partition(client):
    with pytest.raises(ArgumentError, match=r"n_trees must be an integer in \[1, n_partitions=1\]"):
        fit_pool(ConditionalTreeClassifier(), [X2], [Y2], n_trees=2, client=client)


def test_names_of_columns_are_not_for_trees_of_one_label(client):
    with pytest.raises(ArgumentError, match="classes must be None"):
        fit(ConditionalTreeClassifier(), [X2], [Y2], client=client, classes=["sun", "rain"])


def test_wrong_parameters_are_refused_before_anything_is_sent():
    with pytest.raises(ArgumentError, match="alpha must be in"):
        fit(ConditionalTreeClassifier(alpha=2), [X2], [Y2], client="none")
