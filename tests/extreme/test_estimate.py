"""What training will take: sizes from a sample are near those of the model; what errors say.

Seconds are not compared with anything: they depend on what else the machine does.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labeltrees import ExtremeRegressor
from labeltrees.errors import ArgumentError, DataError
from labeltrees.models.extreme import estimate
from labeltrees.models.extreme.settings import ExtremeSettings
from labeltrees.models.extreme.training import tree_shape

N_ROWS, N_FEATURES = 6000, 800


@pytest.fixture(autouse=True)
def measured_once(monkeypatch):
    monkeypatch.setattr(estimate, "_LEAST_SECONDS", 0.0)


def made_up(n_rows=N_ROWS, n_labels=300, seed=0):
    """Rows of words that their labels like, and of others; labels by Zipf's law."""
    random = np.random.default_rng(seed)
    likely = 1 / np.arange(1, n_labels + 1)
    liked = random.integers(0, N_FEATURES, (n_labels, 25))
    labels = random.choice(n_labels, (n_rows, 3), p=likely / likely.sum())
    words = liked[labels[:, :, None], random.integers(0, 25, (n_rows, 3, 4))].reshape(n_rows, -1)
    words = np.hstack([words, random.integers(0, N_FEATURES, (n_rows, 6))])
    return matrix(words, N_FEATURES), matrix(labels, n_labels)


def matrix(columns, width):
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    ones = np.ones(columns.size, dtype=np.float32)
    shape = (len(columns), width)
    whole = sparse.csr_array((ones, (rows, columns.ravel())), shape=shape)
    whole.data[:] = 1
    return whole


def label_lists(Y):
    return [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])]


def file_bytes(model, folder):
    path = folder / "model"
    model.save(path)
    return path.stat().st_size


# Labels


def test_a_first_doubling_without_new_labels_leaves_the_next_powers_as_large():
    assert estimate._labels_of([100, 100, 150], 3.0, 10**6) == pytest.approx(150 * 1.5**3)


def test_powers_of_new_labels_fall_as_they_fell():
    # 400 = 100 * 2^2, 800 = 400 * 2^1; then 2^(1/2) and 2^(1/4).
    assert estimate._labels_of([100, 400, 800], 2.0, 10**6) == pytest.approx(800 * 2**0.75)


@pytest.mark.parametrize("n_doublings", [0.0, 1.0, 2.5])
def test_no_new_labels_so_far_are_none_later(n_doublings):
    assert estimate._labels_of([7, 7, 7], n_doublings, 7) == 7


def test_labels_that_are_known_but_not_met_are_all_there_are():
    assert estimate._labels_of([100, 200, 400], 5.0, 450) == 450
    assert estimate._labels_of([100, 200, 400], 1.0, 400) == pytest.approx(800)


def test_the_mean_number_of_labels_of_some_rows_is_that_of_all_ways_to_draw_them():
    # Of 4 rows one has label 0, three have label 1: two rows of them lack label 0 in 3 of 6 cases.
    assert estimate._mean_labels(np.array([1, 3]), 4, 2) == pytest.approx(0.5 + 1)
    assert estimate._mean_labels(np.array([1, 3]), 4, 4) == pytest.approx(2)


def test_labels_of_all_rows_are_foreseen_from_a_quarter():
    _, Y = made_up(n_labels=1500)
    true = len(np.unique(Y.indices))
    met = np.bincount(Y[: N_ROWS // 4].indices)
    met = met[met > 0]
    assert len(met) < 0.8 * true
    for n_known in (len(met), 10**6):
        found = estimate._expected_labels(met, N_ROWS // 4, N_ROWS, n_known)
        assert found == pytest.approx(true, rel=0.15)


def test_labels_of_the_sample_itself_are_those_it_has():
    assert estimate._expected_labels(np.array([1, 1, 1, 5]), 8, 8, 100) == 4


# Leaves


@pytest.mark.parametrize("arity", [2, 16])
@pytest.mark.parametrize("n_labels", [99, 100, 101, 1600, 1601, 5000])
@pytest.mark.parametrize("share", [0.3, 0.55, 0.97, 1.0])
def test_a_share_of_the_labels_has_trees_as_deep_with_smaller_leaves(n_labels, share, arity):
    settings = ExtremeSettings(arity=arity)
    n_met = round(share * n_labels)
    smaller = estimate._with_leaves_of(settings, n_met / n_labels)
    assert smaller.max_leaf <= settings.max_leaf
    depths = [
        int(tree_shape(n, each).depths().max())
        for n, each in ((n_met, smaller), (n_labels, settings))
    ]
    assert depths[0] == depths[1]


def test_leaves_have_two_labels_at_least():
    assert estimate._with_leaves_of(ExtremeSettings(), 1e-9).max_leaf == 2


# Sizes


@pytest.mark.parametrize("form", ["matrix", "lists"])
@pytest.mark.parametrize("parameters", [{}, {"n_trees": 1, "calibrate": False}])
def test_the_file_is_foreseen_from_a_quarter_of_the_rows(form, parameters, tmp_path):
    X, Y = made_up()
    y = Y if form == "matrix" else label_lists(Y)
    model = ExtremeRegressor(**parameters)
    sample = slice(0, N_ROWS // 4)
    found = model.estimate_training(X[sample], y[sample], n_rows=N_ROWS)
    assert found.model_bytes == pytest.approx(file_bytes(model.fit(X, y), tmp_path), rel=0.3)
    assert found.memory_bytes > found.model_bytes
    assert found.seconds > 0


@pytest.mark.parametrize(
    "parameters",
    [{}, {"tail": "xreg"}, {"relevance": "propensity"}, {"loss": "hinge", "max_leaf": 256}],
)
def test_the_file_of_the_sample_itself_is_foreseen_nearly_exactly(parameters, tmp_path):
    X, Y = made_up(n_rows=2000)
    model = ExtremeRegressor(**parameters)
    found = model.estimate_training(X, Y, n_rows=2000)
    assert found.model_bytes == pytest.approx(file_bytes(model.fit(X, Y), tmp_path), rel=0.05)


def test_more_rows_have_larger_models_and_take_more_memory():
    X, Y = made_up(n_rows=1000)
    model = ExtremeRegressor(n_trees=1)
    found = [model.estimate_training(X, Y, n_rows=1000 * 2**i) for i in range(6)]
    for name in ("model_bytes", "memory_bytes"):
        sizes = [getattr(each, name) for each in found]
        assert sizes == sorted(set(sizes))


def test_sizes_are_the_same_each_time():
    X, Y = made_up(n_rows=600)
    first, second = (ExtremeRegressor().estimate_training(X, Y, n_rows=9000) for _ in range(2))
    assert first[1:] == second[1:]


def test_every_tree_adds_its_bytes():
    X, Y = made_up(n_rows=600)
    one, two, four = (
        ExtremeRegressor(n_trees=n).estimate_training(X, Y, n_rows=600).model_bytes
        for n in (1, 2, 4)
    )
    assert four - two == pytest.approx(2 * (two - one), abs=2)


# Boundaries


@pytest.mark.parametrize("labels", [["a"] * 100, [["a"]] + [[]] * 99, [[]] * 99 + [["a", "b"]]])
def test_one_label_or_one_labelled_row_is_enough(labels):
    found = ExtremeRegressor().estimate_training(np.eye(100), labels, n_rows=1000)
    assert 0 < found.model_bytes < found.memory_bytes


def test_rows_without_features_are_enough():
    found = ExtremeRegressor().estimate_training(np.zeros((100, 3)), [0, 1] * 50, n_rows=1000)
    assert 0 < found.model_bytes < found.memory_bytes


# Errors


@pytest.mark.parametrize("y", [[[]] * 200, sparse.csr_array((200, 5), dtype=np.float32)])
def test_rows_without_any_label_are_an_error(y):
    X = np.eye(200, dtype=np.float32)
    with pytest.raises(DataError, match=r"At least one row needs a label"):
        ExtremeRegressor().estimate_training(X, y, n_rows=1000)


@pytest.mark.parametrize(
    ("n_sampled", "n_rows", "error", "words"),
    [
        (99, 1000, ArgumentError, "a sample of at least 100 rows"),
        (200, 199, ArgumentError, "n_rows"),
        (200, 1e6, ArgumentError, "n_rows"),
    ],
)
def test_a_sample_too_small_or_larger_than_all_is_an_error(n_sampled, n_rows, error, words):
    X, y = np.eye(n_sampled), ["a", "b"] * n_sampled
    with pytest.raises(error, match=words):
        ExtremeRegressor().estimate_training(X, y[:n_sampled], n_rows=n_rows)


def test_labels_of_other_rows_are_an_error():
    with pytest.raises(DataError, match="y has 150 rows for the 200 rows of X"):
        ExtremeRegressor().estimate_training(np.eye(200), ["a"] * 150, n_rows=1000)
