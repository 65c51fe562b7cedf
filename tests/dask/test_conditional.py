"""`DaskConditionalTree`: blocks in order as `partial_fit` learns them, and pools of trees."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from tests.dask.conftest import cut, digest, rows

from labeltrees import AdacondClassifier, ConditionalTreeClassifier, load_model
from labeltrees.dask import DaskConditionalTree
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
    found = DaskConditionalTree(client=client, base=base).fit(delayed(X, 5), delayed(y, 5))
    assert digest(found.to_local(), tmp_path) == digest(wanted, tmp_path)
    assert not hasattr(base, "model_")


def test_dask_arrays_are_learned_block_by_block(client, tmp_path):
    X, y = labelled()
    numbers = np.unique(y, return_inverse=True)[1]
    wanted = ConditionalTreeClassifier()
    for part, labels in ((X[:100], numbers[:100]), (X[100:], numbers[100:])):
        wanted.partial_fit(part, labels)
    sizes = (100, 140)
    left = da.from_array(X.toarray(), chunks=(sizes, -1)).map_blocks(sparse.csr_array)
    found = DaskConditionalTree(client=client).fit(left, da.from_array(numbers, chunks=(sizes,)))
    assert digest(found.to_local(), tmp_path) == digest(wanted, tmp_path)


def test_files_are_learned_in_their_order(client, tmp_path):
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.tsv")
        lines = [f"sun{(i + number) % 4}\tit is warm {i % 4}\n" for i in range(50)]
        paths[-1].write_text("".join(lines))
    found = DaskConditionalTree(client=client).fit(paths)
    assert found.classes_.tolist() == ["sun0", "sun1", "sun2", "sun3"]


def test_a_pool_answers_by_the_mean_of_its_trees(client, tmp_path):
    X, y = labelled()
    found = DaskConditionalTree(client=client, mode="pool", n_trees=3)
    found.fit(delayed(X, 7), delayed(y, 7))
    parts = list(zip(cut(X, 7), cut(y, 7), strict=True))
    mean = np.zeros((X.shape[0], len(found.classes_)))
    for share in (parts[0:2], parts[2:4], parts[4:7]):
        tree = ConditionalTreeClassifier()
        for part, labels in share:
            tree.partial_fit(part, labels)
        mean[:, np.searchsorted(found.classes_, tree.classes_)] += tree.predict_proba(X) / 3
    local = found.to_local()
    assert isinstance(local, AdacondClassifier)
    assert np.allclose(local.predict_proba(X), mean, rtol=0, atol=1e-12)
    local.save(tmp_path / "pool")
    again = AdacondClassifier.around(load_model(tmp_path / "pool"))
    assert np.array_equal(again.predict_proba(X), local.predict_proba(X))


def test_a_pool_has_a_tree_for_each_worker(client):
    X, y = labelled()
    found = DaskConditionalTree(client=client, mode="pool").fit(delayed(X, 5), delayed(y, 5))
    assert len(found.to_local().model_.members) == len(client.nthreads())


X2, Y2 = np.eye(2), np.array(["sun", "rain"])


@pytest.mark.parametrize(
    ("X", "y", "parameters", "error", "words"),
    [
        ([X2], [Y2], {"mode": "mean"}, ArgumentError, "mode must be"),
        ([X2], [Y2], {"base": 3}, (ArgumentError, TypeError), "."),
        ([X2], [Y2], {"mode": "pool", "n_trees": 2}, ArgumentError, "n_trees must be"),
        ([X2], [Y2, Y2], {}, ArgumentError, "y has 2 partitions"),
        (["a.xc"], [Y2], {}, ArgumentError, "y must be None"),
        ([X2[:0]], [Y2[:0]], {}, DataError, "no row with a label"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, parameters, error, words, client):
    with pytest.raises(error, match=words):
        DaskConditionalTree(client=client, **parameters).fit(X, y)
