"""`labeltrees.dask.fit` makes the model of `ExtremeRegressor.fit` on any number of workers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from tests.dask.conftest import cluster_of, cut, digest, rows

from labeltrees import ConditionalTreeClassifier, ExtremeRegressor
from labeltrees.dask import fit, predict_above, predict_top_k, top_rows
from labeltrees.errors import ArgumentError, DataError, TooLargeError

SMALL = {"n_trees": 2, "arity": 4, "max_leaf": 5, "max_epochs": 2}


def graded():
    X, _ = rows()
    Y = sparse.random(X.shape[0], 30, density=0.06, format="csr", random_state=5)
    return X, sparse.csr_array(Y)


def stars():
    X, y = rows()
    return X, [{label: 1 + len(label) % 3 for label in own} for own in y]


def one_each():
    X, y = rows()
    return X, [own[0] if own else "none" for own in y]


def mixed():
    """Lists that name a label twice beside dicts: twice counts as the largest number named."""
    X, y = rows()
    return X, [{own[0]: 3.0} if own and i % 5 == 0 else own * 2 for i, own in enumerate(y)]


CASES = {
    "lists": (rows, {}),
    "binary of graded": (graded, {"relevance": "binary"}),
    "graded with tail": (graded, {"tail": "pfastrexml"}),
    "propensity with tail": (rows, {"relevance": "propensity", "tail": "xreg"}),
    "propensity of stars": (stars, {"relevance": "propensity", "calibrate": False}),
    "one label per row": (one_each, {"loss": "hinge", "random_state": 7}),
    "mixed": (mixed, {"n_trees": 1}),
    "bounded memory": (rows, {"max_memory": 600_000}),
    "all labels in one node": (rows, {"max_leaf": 100, "objective": "mean"}),
}
RARE = {"propensity of stars", "all labels in one node", "binary of graded"}


@pytest.fixture(autouse=True)
def clustered_by_tasks(monkeypatch):
    """Few labels are shared out among tasks, too."""
    monkeypatch.setattr("labeltrees.dask._training._LEAST_LABELS", 2)


def fitted(client, X, y, n_parts, **parameters):
    parts = [[dask.delayed(part) for part in cut(data, n_parts)] for data in (X, y)]
    return fit(ExtremeRegressor(**parameters), *parts, client=client)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.thorough if case in RARE else ()) for case in CASES],
)
def test_the_model_is_that_of_one_machine(case, client, tmp_path):
    make, parameters = CASES[case]
    (X, y), parameters = make(), SMALL | parameters
    wanted = digest(ExtremeRegressor(**parameters).fit(X, y), tmp_path)
    found = fitted(client, X, y, 5, **parameters)
    assert digest(found, tmp_path) == wanted


def test_few_labels_are_clustered_by_one_task(client, tmp_path, monkeypatch):
    monkeypatch.setattr("labeltrees.dask._training._LEAST_LABELS", 41)
    X, y = rows()
    wanted = digest(ExtremeRegressor(**SMALL).fit(X, y), tmp_path)
    assert digest(fitted(client, X, y, 3, **SMALL), tmp_path) == wanted


def test_the_mean_features_of_all_labels_are_put_together_once(client, monkeypatch):
    submitted, submit = [], client.submit
    monkeypatch.setattr(
        client,
        "submit",
        lambda task, *a, **k: [submitted.append(task.__name__), submit(task, *a, **k)][1],
    )
    fitted(client, *rows(), 3, **SMALL | {"n_trees": 3})
    assert [submitted.count(task) for task in ("all_features", "crown_of", "plan_tree")] == [
        1,
        3,
        3,
    ]


def test_a_worker_process_makes_the_model_of_one_machine(tmp_path):
    X, y = rows()
    wanted = digest(ExtremeRegressor(**SMALL).fit(X, y), tmp_path)
    with cluster_of(1, tmp_path / "workers", processes=True) as client:
        assert digest(fitted(client, X, y, 3, **SMALL), tmp_path) == wanted


@pytest.mark.thorough
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_any_number_of_processes_and_partitions_makes_one_model(n_workers, tmp_path):
    cases = ["lists", "graded with tail", "propensity with tail"]
    with cluster_of(n_workers, tmp_path / "workers", processes=True) as client:
        for case in cases:
            make, parameters = CASES[case]
            (X, y), parameters = make(), {"n_trees": 2, "arity": 4, "max_leaf": 5} | parameters
            wanted = digest(ExtremeRegressor(**parameters).fit(X, y), tmp_path)
            for n_parts in (1, 5, 17):
                found = fitted(client, X, y, n_parts, **parameters)
                assert digest(found, tmp_path) == wanted


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["part_below", "pick_group", "train_group"])
def test_a_worker_that_is_killed_changes_nothing(task, tmp_path):
    X, y = rows(1500)
    parameters = {"n_trees": 2, "arity": 4, "max_leaf": 4, "max_epochs": 30}
    wanted = digest(ExtremeRegressor(**parameters).fit(X, y), tmp_path)
    with cluster_of(3, tmp_path / "workers", processes=True) as client:
        before = client.run(os.getpid)
        made = []
        work = threading.Thread(target=lambda: made.append(fitted(client, X, y, 3, **parameters)))
        work.start()
        wait_for(lambda: busiest(client, task) is not None)
        victim = busiest(client, task)
        is_under_way = work.is_alive()
        os.kill(before[victim], signal.SIGKILL)
        work.join()
        assert is_under_way
        wait_for(lambda: len(client.run(os.getpid)) == 3)
        assert before[victim] not in client.run(os.getpid).values()
    assert digest(made[0], tmp_path) == wanted


def busiest(client, task):
    """Return the address of the worker that holds the most results of a task, if there is one."""
    counts = client.run_on_scheduler(
        lambda dask_scheduler: {
            worker.address: sum(f"-{task}-" in str(each.key) for each in worker.has_what)
            for worker in dask_scheduler.workers.values()
        }
    )
    best = max(counts, key=counts.get)
    return best if counts[best] else None


def wait_for(happened):
    end = time.monotonic() + 900
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_dask_arrays_of_sparse_and_dense_blocks(client, tmp_path):
    X, Y = graded()
    wanted = digest(ExtremeRegressor(**SMALL).fit(X, Y), tmp_path)
    sizes = (100, 0, 140)
    left = da.from_array(X.toarray(), chunks=(sizes, -1)).map_blocks(sparse.csr_array)
    right = da.from_array(Y.toarray(), chunks=(sizes, -1))
    right = right.map_blocks(sparse.csr_array)
    model = fit(ExtremeRegressor(**SMALL), left, right, client=client)
    assert digest(model, tmp_path) == wanted


def test_files_are_read_where_they_lie(client, tmp_path):
    X, y = rows()
    paths = []
    for number, (part, labels) in enumerate(zip(cut(X, 4), cut(y, 4), strict=True)):
        paths.append(tmp_path / f"{number}.svm")
        with paths[-1].open("w") as file:
            for row, own in zip(part, labels, strict=True):
                pairs = zip(row.indices + 1, row.data, strict=True)
                names = ",".join(str(int(label.split()[1])) for label in own)
                file.write(f"{names} {' '.join(f'{c}:{v:.9g}' for c, v in pairs)}\n")
    wide = sparse.csr_array((X.data, X.indices + 1, X.indptr), shape=(X.shape[0], 61))
    numbers = [[int(label.split()[1]) for label in own] for own in y]
    wanted = digest(ExtremeRegressor(**SMALL).fit(wide, numbers), tmp_path)
    model = fit(ExtremeRegressor(**SMALL), paths, client=client)
    assert model.n_features_in_ == 61
    assert digest(model, tmp_path) == wanted


@pytest.fixture(scope="module")
def model(client):
    X, y = rows()
    return fitted(client, X, y, 5, **SMALL)


def test_predictions_are_lazy_and_those_of_one_machine(model, client):
    X, _ = rows(seed=9)
    blocks = da.from_array(X.toarray(), chunks=((90, 150), -1)).map_blocks(sparse.csr_array)
    top = predict_top_k(model, blocks, 3, client=client)
    assert top.labels.shape == (240, 3)
    assert not client.processing() or not any(client.processing().values())
    labels, p = dask.compute(*top)
    wanted = model.predict_top_k(X, 3)
    assert np.array_equal(labels, wanted.labels)
    assert np.array_equal(p, wanted.probabilities)
    above = predict_above(model, blocks, 0.05, client=client)
    assert above.shape == (240, len(model.classes_))
    assert (above.compute() != model.predict_above(X, 0.05)).nnz == 0


def test_a_list_of_partitions_is_answered_by_a_list(model):
    X, _ = rows(seed=9)
    parts = cut(X, 3)
    found = dask.compute(*predict_top_k(model, [dask.delayed(part) for part in parts], 2))
    for part, top in zip(parts, found, strict=True):
        assert np.array_equal(top.labels, model.predict_top_k(part, 2).labels)
    found = dask.compute(*predict_above(model, parts, 0.1))
    for part, above in zip(parts, found, strict=True):
        assert (above != model.predict_above(part, 0.1)).nnz == 0


def test_the_best_rows_of_all_partitions_are_those_of_one_matrix(model):
    X, _ = rows(seed=9)
    labels = ["label 3", "label 0"]
    wanted = model.top_rows(X, labels, 70, exact=True)
    found = top_rows(model, cut(X, 5), labels, 70, exact=True).compute()
    assert np.array_equal(found.rows, wanted.rows)
    assert np.array_equal(found.probabilities, wanted.probabilities)


def test_a_search_is_the_estimators_own(model, client):
    X, _ = rows(seed=9)
    (found,) = dask.compute(*predict_top_k(model, [X], 4, search="exact", client=client))
    assert np.array_equal(found.labels, model.predict_top_k(X, 4, search="exact").labels)


def test_a_model_is_sent_to_workers_once(model, client, monkeypatch):
    sent, scatter = [], client.scatter
    monkeypatch.setattr(client, "scatter", lambda *a, **k: [sent.append(a), scatter(*a, **k)][1])
    copy = pickle.loads(pickle.dumps(model))
    for _ in range(2):
        predict_top_k(copy, [dask.delayed(X2)], 1, client=client)
    assert len(sent) == 1


def test_an_updated_model_is_sent_anew(client):
    tree = ConditionalTreeClassifier().partial_fit(X2, ["sun", "rain"])
    dask.compute(*predict_top_k(tree, [X2], 1, client=client))
    tree.partial_fit(np.tile(X2, (50, 1)), ["snow", "fog"] * 50)
    (found,) = dask.compute(*predict_top_k(tree, [X2], 1, client=client))
    assert found.labels.tolist() == [["snow"], ["fog"]]


def test_the_estimator_given_stays_as_it_is(model, client):
    given = ExtremeRegressor(**SMALL)
    found = fit(given, *([part] for part in rows()), client=client)
    assert not hasattr(given, "model_")
    assert type(found) is ExtremeRegressor
    assert found.get_params() == given.get_params()
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


X2, Y2 = np.eye(2), [["sun"], ["rain"]]


@pytest.mark.parametrize(
    ("X", "y", "parameters", "error", "words"),
    [
        ([X2], [Y2], {"warm_start": True}, ArgumentError, "warm_start must be False"),
        ([X2], [Y2], {"n_trees": 0}, ArgumentError, "n_trees must be an integer"),
        ([X2, X2], [Y2], {}, ArgumentError, "y has 1 partitions, but X has 2"),
        (X2, Y2, {}, ArgumentError, "X must be a Dask collection or a list of partitions"),
        (["a.xc"], [Y2], {}, ArgumentError, "y must be None where X names files"),
        ([X2, X2], [Y2, Y2[:1]], {}, DataError, "partition 1: y has 1 rows for the 2 rows of X"),
        (
            [X2, np.eye(3)],
            [Y2, [[], [], []]],
            {},
            DataError,
            "same number of features, got \\[2, 3",
        ),
        ([X2, X2], [Y2, ["sun", "rain"]], {}, DataError, "must have the same form"),
        ([X2, X2], [np.eye(2), np.ones((2, 3))], {}, DataError, "different columns"),
        ([X2, X2], [[[], []], [[], []]], {}, DataError, "y has no label"),
        ([X2, X2], [np.zeros((2, 2))] * 2, {}, DataError, "no relevance above 0"),
        ([X2[:0]], [Y2[:0]], {}, DataError, "No partition of X has a row"),
        ([X2, X2 * np.nan], [Y2, Y2], {}, DataError, "partition 1: row 0 of X has NaN"),
        ([X2], [Y2], {"max_memory": 10}, TooLargeError, "over max_memory=10"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, parameters, error, words, client):
    with pytest.raises(error, match=words):
        fit(ExtremeRegressor(**parameters), X, y, client=client)


def test_files_name_their_labels_themselves(client):
    with pytest.raises(ArgumentError, match="classes must be None where X names files"):
        fit(ExtremeRegressor(), ["a.xc"], client=client, classes=["sun"])


def test_a_model_that_has_not_been_fitted_predicts_nothing(client):
    with pytest.raises(NotFittedError):
        predict_top_k(ExtremeRegressor(), [X2], 1, client=client)
