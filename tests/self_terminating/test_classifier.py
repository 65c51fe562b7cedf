"""SelfTerminatingTreeClassifier: agrees with its definition, stops by itself, refuses bad input.

Worked example -> agreement with tests/reference.py and scikit-learn -> invariants -> boundaries ->
errors. What it shares with every estimator is in tests/contract.
"""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier
from tests.references.self_terminating import ReferenceSelfTerminatingTree

import labeltrees
from labeltrees import SelfTerminatingTreeClassifier, store
from labeltrees.data.readers import open_reader
from labeltrees.errors import (
    ArgumentError,
    DataError,
    ModelFormatError,
    TooLargeError,
)


def blobs(seed, n_rows=400, n_features=6, n_labels=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n_rows)
    X = rng.normal(size=(n_labels, n_features))[y] + 0.8 * rng.normal(size=(n_rows, n_features))
    X[rng.random(X.shape) < 0.3] = 0
    return X.astype(np.float32), y


# A worked example.


def test_one_split_by_hand():
    # 3 of 4 rows are "no". Root: (75.5, 25.5) / 101. Left branch W = 75: all "no", penalty 2, so
    # W p(yes) = 1; right branch W = 25: W p(no) = 1. Both children are pure and stop.
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 25, ["no", "no", "no", "yes"] * 25
    tree = SelfTerminatingTreeClassifier(penalty=2.0, weight_power=0, min_gain=0).fit(X, y)
    assert tree.get_n_leaves() == 2
    assert tree.apply([[2.5], [2.6]]).tolist() == [1, 2]
    assert tree.predict_proba([[0.0], [3.0]]) == pytest.approx(
        np.array([[74 / 75, 1 / 75], [1 / 25, 24 / 25]]), abs=1e-12
    )
    nothing = SelfTerminatingTreeClassifier(penalty=60, weight_power=0, min_gain=0).fit(X, y)
    assert nothing.get_n_leaves() == 1
    assert nothing.predict_proba([[0.0]])[0] == pytest.approx([75.5 / 101, 25.5 / 101])


# Agreement with the reference.


@st.composite
def problems(draw):
    n, n_features = draw(st.integers(2, 24)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = np.array([-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 3.0])
    X = rng.choice(pool, size=(n, n_features)).astype(np.float32)
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    n_labels = draw(st.integers(2, 5))
    kind = draw(st.sampled_from(["labels", "distributions"]))
    if kind == "distributions":
        y = rng.dirichlet(np.full(n_labels, 0.4), size=n)
        y[y < 0.05] = 0
        y /= y.sum(axis=1, keepdims=True)
    else:
        y = np.concatenate([np.arange(min(n, n_labels)), rng.integers(n_labels, size=n)])[:n]
    # Weights without pattern: with equal ones two splits often gain exactly the same, or a branch
    # stands exactly at its radius, and rounding decides.
    weights = rng.uniform(0.2, 2, size=n).astype(np.float32)
    options = {
        "penalty": draw(st.sampled_from([0.0, 0.3, 1.0, 2.0])),
        "weight_power": draw(st.sampled_from([0.0, 0.5])),
        "min_gain": draw(st.sampled_from([0.0, 0.5])),
        "split_terminated": draw(st.booleans()),
    }
    return X, y, weights, options


@settings(max_examples=60, deadline=None)
@given(problems())
def test_growing_agrees_with_the_reference(problem):
    X, y, weights, options = problem
    masses = y if y.ndim == 2 else np.eye(y.max() + 1)[y]
    masses = masses * weights.astype(float)[:, None]
    reference = ReferenceSelfTerminatingTree(X, masses, **options)
    tree = SelfTerminatingTreeClassifier(criterion="entropy", **options)
    tree.fit(X, y, sample_weight=weights)
    assert tree.predict_proba(X) == pytest.approx(reference.p, abs=1e-9)
    assert tree.get_n_leaves() == reference.n_leaves


@st.composite
def matrices_with_stored_zeros(draw):
    """CSR in which any entry may be absent, a stored zero or a value; and the dense matrix."""
    n, n_features = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    entry = st.sampled_from([None, None, 0.0, 0.0, -0.0, 1.0, 3.0, -2.0])
    cells = draw(st.lists(st.lists(entry, min_size=n_features, max_size=n_features),
                          min_size=n, max_size=n))  # fmt: skip
    stored = np.array([[cell is not None for cell in row] for row in cells])
    dense = np.array([[cell or 0.0 for cell in row] for row in cells], dtype=np.float32)
    starts = np.append(0, np.cumsum(stored.sum(axis=1)))
    rows = sparse.csr_array((dense[stored], np.nonzero(stored)[1], starts), shape=dense.shape)
    return rows, dense, draw(st.integers(0, 2**32))


@settings(max_examples=150, deadline=None)
@given(matrices_with_stored_zeros())
def test_stored_zeros_are_zeros(problem):
    rows, X, seed = problem
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(2, size=len(X) - 2))
    weights = rng.uniform(0.2, 2, size=len(X)).astype(np.float32)
    options = {"penalty": 0.3, "weight_power": 0, "min_gain": 0, "split_terminated": False}
    reference = ReferenceSelfTerminatingTree(X, np.eye(2)[y] * weights[:, None], **options)
    tree = SelfTerminatingTreeClassifier(criterion="entropy", **options)
    tree.fit(rows, y, sample_weight=weights)
    assert tree.predict_proba(rows) == pytest.approx(reference.p, abs=1e-9)
    assert tree.get_n_leaves() == reference.n_leaves


@pytest.mark.parametrize("n_rows", [2, 3, 50, 5000])
def test_zeros_stored_in_one_row_are_not_taken_for_complete_rows(n_rows):
    # As many stored entries as rows times features that are not zero everywhere, all in row 0.
    starts = np.full(n_rows + 1, n_rows)
    starts[0] = 0
    values = np.zeros(n_rows, np.float32)
    values[-1] = 3
    X = sparse.csr_array((values, np.arange(n_rows), starts), shape=(n_rows, n_rows))
    y = np.arange(n_rows) % 3
    tree = SelfTerminatingTreeClassifier(penalty=0.1, weight_power=0, min_gain=0).fit(X, y)
    tidy = X.copy()
    tidy.eliminate_zeros()
    other = clone(tree).fit(tidy, y)
    assert (tree.predict_proba(X) == other.predict_proba(tidy)).all()
    assert set(np.flatnonzero(tree.feature_importances_)) <= {n_rows - 1}


@pytest.mark.parametrize("seed", range(4))
def test_growing_under_the_joint_norm_agrees_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(4, size=(8, 1)).astype(np.float32), rng.integers(3, size=8)
    y[:3] = np.arange(3)
    weights = rng.uniform(0.5, 2, size=8).astype(np.float32)
    options = {"penalty": (0.3, 1.5)[seed % 2], "norm": "linf", "weight_power": 0, "min_gain": 0}
    reference = ReferenceSelfTerminatingTree(X, np.eye(3)[y] * weights[:, None], **options)
    tree = SelfTerminatingTreeClassifier(criterion="entropy", **options)
    tree.fit(X, y, sample_weight=weights)
    assert tree.predict_proba(X) == pytest.approx(reference.p, abs=1e-7)
    assert tree.get_n_leaves() == reference.n_leaves


@pytest.mark.parametrize("seed", range(5))
def test_without_a_penalty_it_grows_as_by_information_gain(seed):
    rng = np.random.default_rng(seed)  # no two values are equal, so no two splits tie near the top
    X = rng.normal(size=(240, 4)).astype(np.float32)
    y = (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(240, 3))).argmax(axis=1)
    depth = 3
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0).fit(X, y)
    ours = SelfTerminatingTreeClassifier(
        criterion="entropy", penalty=[0.0] * depth + [np.inf], weight_power=0, min_gain=0
    ).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)
    used = theirs.tree_.feature >= 0
    assert sorted(ours.model_.core.threshold()[ours.model_.core.left() >= 0]) == pytest.approx(
        sorted(theirs.tree_.threshold[used]), abs=1e-6
    )


# Invariants.


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_number_of_threads_changes_no_bit(norm):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = (np.nan_to_num(X) @ rng.normal(size=(20, 6))).argmax(axis=1)
    trees = [
        SelfTerminatingTreeClassifier(penalty=2.0, min_gain=0.5, norm=norm, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2, 3, 5)
    ]
    assert trees[0].get_n_leaves() > 20
    states = [pickle.dumps(tree.model_.to_tensors(keep_state=True)[0]) for tree in trees]
    assert states[1:] == states[:1] * 3


def test_dense_and_sparse_are_the_same_tree():
    X, y = blobs(2)
    dense = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    thin = SelfTerminatingTreeClassifier(penalty=1.0).fit(sparse.csc_array(X), y)
    assert pickle.dumps(dense.model_) == pickle.dumps(thin.model_)
    assert np.array_equal(dense.apply(X), thin.apply(sparse.csr_array(X)))


def test_order_of_rows_does_not_matter_and_weights_repeat_rows():
    X, y = blobs(3)
    model = SelfTerminatingTreeClassifier(penalty=1.0, min_gain=0.5)
    order = np.random.default_rng(0).permutation(len(X))
    p = model.fit(X, y).predict_proba(X)
    assert np.array_equal(clone(model).fit(X[order], y[order]).predict_proba(X), p)
    weights = np.arange(len(X)) % 3
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = clone(model).fit(X, y, sample_weight=weights)
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-12)


def test_labels_and_their_one_hot_rows_are_the_same_targets():
    X, y = blobs(4)
    by_label = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    one_hot = np.eye(5)[y]
    by_row = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, one_hot)
    named = SelfTerminatingTreeClassifier(penalty=1.0).fit(
        X, sparse.csr_array(one_hot), classes=list("abcde")
    )
    assert by_row.predict_proba(X) == pytest.approx(by_label.predict_proba(X), abs=1e-12)
    assert by_row.classes_.tolist() == [0, 1, 2, 3, 4]
    assert named.predict(X[:1])[0] == "abcde"[by_label.predict(X[:1])[0]]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, 0.5]), st.sampled_from(["entropy", "gini"]))
def test_a_larger_penalty_never_splits_a_root_that_a_smaller_one_does_not(seed, power, criterion):
    X, y = blobs(seed, n_rows=80)
    options = {"weight_power": power, "min_gain": 0.5, "criterion": criterion}
    trees = [
        SelfTerminatingTreeClassifier(penalty=penalty, **options).fit(X, y)
        for penalty in 2.0 ** np.arange(-3, 8)
    ]
    gains = np.array([tree.model_.core.gain()[0] for tree in trees])
    assert np.all(np.diff(gains) <= 1e-6 * gains[0])
    roots = np.array([tree.get_n_leaves() for tree in trees]) > 1
    assert np.all(np.diff(roots.astype(int)) <= 0)
    assert not roots[-1]


@pytest.mark.parametrize("data", [load_digits, load_iris])
@pytest.mark.parametrize("options", [{"weight_power": 0, "min_gain": 0}, {}])
def test_trees_shrink_as_the_penalty_grows(data, options):
    X, y = data(return_X_y=True)
    sizes = [
        SelfTerminatingTreeClassifier(penalty=penalty, **options).fit(X, y).get_n_leaves()
        for penalty in (1, 2, 4, 8, 16, 32, 64, 2000)
    ]
    # No theorem: see docs/self_terminating.md. By factors of 2 it holds on these data.
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_a_larger_least_gain_is_a_smaller_part_of_the_same_tree(criterion):
    X, y = load_digits(return_X_y=True)
    options = {"penalty": 1.0, "criterion": criterion}
    small, large = (
        SelfTerminatingTreeClassifier(min_gain=gain, **options).fit(X, y) for gain in (3.0, 0.5)
    )
    assert small.get_n_leaves() < large.get_n_leaves()
    core = large.model_.core
    parent, gain = core.parent(), core.gain()
    kept = np.zeros(core.n_nodes, dtype=bool)  # nodes below questions of enough gain only
    kept[0] = True
    for node in range(1, core.n_nodes):
        kept[node] = kept[parent[node]] and gain[parent[node]] >= 3.0
    ends = large.apply(X)
    while not kept[ends].all():
        ends = np.where(kept[ends], ends, parent[ends])
    assert np.array_equal(core.distributions_at(ends), small.predict_proba(X))
    assert len(set(ends)) == len(set(small.apply(X)))


def test_auto_chooses_a_penalty_and_keeps_to_it():
    X, y = blobs(6)
    auto = SelfTerminatingTreeClassifier(min_gain=0.5).fit(X, y)
    again = SelfTerminatingTreeClassifier(penalty=auto.penalty_, min_gain=auto.min_gain_).fit(X, y)
    assert np.array_equal(auto.predict_proba(X), again.predict_proba(X))
    assert auto.penalty_ == SelfTerminatingTreeClassifier(min_gain=0.5).fit(X, y).penalty_
    noise = SelfTerminatingTreeClassifier(min_gain=0.5).fit(
        X, np.random.default_rng(0).permutation(y)
    )
    assert noise.get_n_leaves() < 10 < auto.get_n_leaves()


def test_penalties_by_depth_may_be_a_list_or_a_callable():
    X, y = blobs(7)
    options = {"weight_power": 0, "min_gain": 0}
    by_list = SelfTerminatingTreeClassifier(penalty=[1.0, 1.0, np.inf], **options).fit(X, y)
    by_call = SelfTerminatingTreeClassifier(
        penalty=lambda depth: 1.0 if depth < 2 else np.inf, **options
    ).fit(X, y)
    assert by_list.get_depth() == 2
    assert np.array_equal(by_list.predict_proba(X), by_call.predict_proba(X))
    assert by_call.penalty_ == [1.0, 1.0, np.inf]


def test_missing_values_go_to_the_better_side():
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=300)
    x = np.where(y == 1, np.nan, rng.normal(size=300))
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(x[:, None], y)
    assert tree.predict([[np.nan], [0.0], [-5.0]]).tolist() == [1, 0, 0]
    assert "feature 0 is missing" in tree.export_text()
    both = np.column_stack([np.where(rng.random(300) < 0.3, np.nan, y), rng.normal(size=300)])
    mixed = SelfTerminatingTreeClassifier(penalty=1.0).fit(both, y)
    assert mixed.predict([[1.0, 0.0], [0.0, 0.0]]).tolist() == [1, 0]


def test_paths_importances_and_texts_describe_the_tree():
    X, y = load_iris(return_X_y=True)
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    path, leaves = tree.decision_path(X), tree.apply(X)
    assert path.shape == (150, tree.model_.core.n_nodes)
    assert np.array_equal(path.toarray()[np.arange(150), leaves], np.ones(150))
    assert np.all(path.toarray()[:, 0] == 1)
    assert np.array_equal(np.asarray(path.sum(axis=1)).ravel() - 1, tree.model_.depths()[leaves])
    assert tree.feature_importances_.sum() == pytest.approx(1)
    assert tree.feature_importances_[2:].sum() > 0.9  # petals
    text = tree.export_text(["sepal l", "sepal w", "petal l", "petal w"])
    assert text.startswith("petal ")
    assert len(text.splitlines()) == tree.model_.core.n_nodes
    dot = tree.export_dot(max_nodes=3)
    assert dot.startswith("digraph tree {")
    assert dot.count("[label=") == 5  # three nodes, two edges


def test_plot_draws_every_node_or_says_what_it_needs(monkeypatch):
    X, y = load_iris(return_X_y=True)
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        tree.plot()
    monkeypatch.undo()
    pytest.importorskip("matplotlib").use("agg")
    ax = tree.plot(max_depth=1)
    shown = [text.get_text() for text in ax.texts]
    assert len(shown) == 3 + 2  # nodes, and the answers that lead to two of them
    assert {"yes", "no"} < set(shown)
    ax.figure.canvas.draw()  # warns, and fails, if its layout has no room for the axes


def test_plot_is_as_large_as_the_tree_and_coloured_where_labels_are_few():
    pytest.importorskip("matplotlib").use("agg")
    X, y = load_iris(return_X_y=True)
    stump = SelfTerminatingTreeClassifier(penalty=[1.0, np.inf]).fit(X, y)
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    assert stump.get_depth() == 1 < tree.get_depth()
    small, large = stump.plot(), tree.plot()
    assert small.figure.get_figwidth() < large.figure.get_figwidth()
    fills = {text.get_bbox_patch().get_facecolor() for text in large.texts}
    assert len(fills) > 3
    many = SelfTerminatingTreeClassifier(penalty=0.1).fit(X, np.arange(len(X)))
    assert {text.get_bbox_patch().get_facecolor() for text in many.plot().texts} == {(1, 1, 1, 1)}


def test_saving_and_loading_gives_the_same_model(tmp_path):
    X, y = blobs(9)
    names = np.array([f"étiquette {label}" for label in y], dtype=object)
    model = SelfTerminatingTreeClassifier(penalty=lambda depth: 1.0 + depth).fit(X, names)
    model.save(tmp_path / "m", keep_state=False)
    again = labeltrees.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.classes_, model.classes_)
    assert again.penalty_ == model.penalty_
    assert again.model_.describe() == model.model_.describe()
    again.save(tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    twin = pickle.loads(pickle.dumps(model.model_))
    assert twin.describe() == model.model_.describe()


FORGERIES = {
    "a child that is its parent": {"tree.left": lambda a: np.zeros_like(a)},
    "a child past the end": {"tree.left": lambda a: np.where(a >= 0, len(a), a).astype("i4")},
    "a feature past the width": {"tree.feature": lambda a: np.full_like(a, 99)},
    "a threshold that is no number": {"tree.threshold": lambda a: np.full_like(a, np.nan)},
    "a factor above 1": {"tree.factor": lambda a: a + 1},
    "a probability above 1": {"tree.p": lambda a: a + 1},
    "a label nobody named": {"tree.labels": lambda a: a + 100},
    "a root that is too short": {"tree.root": lambda a: a[1:].copy()},
    "floats for children": {"tree.left": lambda a: a.astype(float)},
    "starts that go back": {"tree.starts": lambda a: a[::-1].copy()},
    "weights of nothing": {"tree.weight": lambda a: np.full_like(a, np.nan)},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_with_right_checksums_is_refused(tmp_path, forgery):
    X, y = blobs(10)
    SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y).save(tmp_path / "m")
    stored = store.read(tmp_path / "m")
    changed = {name: change(stored.tensors[name]) for name, change in FORGERIES[forgery].items()}
    fields = (stored.model, stored.facts, stored.tensors | changed)
    store.write(tmp_path / "m", store.StoredModel(*fields))
    with pytest.raises(ModelFormatError):
        labeltrees.load(tmp_path / "m")


# Boundaries.


def test_one_label_one_row_and_constant_features_give_one_leaf():
    one = SelfTerminatingTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert one.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert one.feature_importances_.tolist() == [0.0]
    same = SelfTerminatingTreeClassifier(penalty=0.1).fit([[3.0, 0.0]] * 20, [0, 1] * 10)
    assert same.get_n_leaves() == 1
    empty = SelfTerminatingTreeClassifier().fit(sparse.csr_array((20, 3)), [0, 1] * 10)
    assert empty.predict_proba(sparse.csr_array((1, 3))).tolist() == [[0.5, 0.5]]


def test_more_values_than_bins_are_cut_into_even_bins():
    rng = np.random.default_rng(11)
    x = rng.normal(size=5000)
    y = (np.abs(x) > 0.7).astype(int)
    for max_bins in (3, 16, 255):
        tree = SelfTerminatingTreeClassifier(penalty=1.0, max_bins=max_bins).fit(x[:, None], y)
        accuracy = (tree.predict(x[:, None]) == y).mean()
        assert accuracy > {3: 0.5, 16: 0.9, 255: 0.99}[max_bins]


def test_a_long_chain_of_nodes_keeps_every_probability_above_zero():
    n = 600
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n) % 2
    tree = SelfTerminatingTreeClassifier(penalty=0.01, weight_power=0, min_gain=0).fit(X, y)
    assert tree.get_depth() >= 8
    assert np.all(tree.predict_proba(X) > 0)


def test_thousands_of_labels_store_only_what_each_node_has_seen():
    rng = np.random.default_rng(12)
    y = rng.integers(4000, size=8000)
    X = np.column_stack([y % 17, y // 300, rng.normal(size=8000)])
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(X, y)
    described = tree.model_.describe()
    assert described["leaves"] > 50
    assert described["probabilities_stored"] < 0.1 * described["nodes"] * 4000
    assert tree.predict_proba(X[:3]).sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-9)


def test_a_model_may_be_asked_of_features_past_2_to_24():
    near = 2**24
    X = sparse.csr_array(([1.0] * 40, [near, near + 1] * 20, range(41)), shape=(40, 2**31 - 1))
    tree = SelfTerminatingTreeClassifier(penalty=0.5).fit(X, [0, 1] * 20)
    assert tree.predict(X).tolist() == [0, 1] * 20


# Errors: each names what is wrong, and the model stays as it was.

X2 = [[1.0, 0.0], [0.0, 1.0]]
BAD_X = {
    "inf": ([[np.inf, 1.0]], DataError, r"row 0 of X has inf"),
    "past float32": ([[0.0, 0.0], [0.0, 1e300]], DataError, r"row 1 of X has .*past float32"),
    "wrong width": ([[1.0, 2.0, 3.0]], DataError, "3 features.*2 features"),
    "one dimension": ([1.0, 2.0], DataError, "Reshape your data"),
    "no rows": (np.empty((0, 2)), DataError, r"0 sample\(s\)"),
    "complex": (np.ones((1, 2), dtype=complex), DataError, "Complex"),
    "words": ([["a", "b"]], DataError, "numbers"),
}


@pytest.mark.parametrize("case", BAD_X)
@pytest.mark.parametrize("method", ["apply", "decision_path"])
def test_bad_features_are_refused(case, method):
    X, error, message = BAD_X[case]
    tree = SelfTerminatingTreeClassifier(penalty=1).fit(
        [[1.0, 0.0], [0.0, 1.0]] * 5, list("ab") * 5
    )
    with pytest.raises(error, match=message):
        getattr(tree, method)(X)


BAD_FITS = {
    "rows that sum to 2": (X2, [[1.0, 1.0], [0.5, 0.5]], {}, DataError, "row 0 sums to 2"),
    "negative": (X2, [[1.5, -0.5], [0.5, 0.5]], {}, DataError, "probabilities >= 0"),
    "NaN target": (X2, [[np.nan, 1.0], [0.5, 0.5]], {}, DataError, "probabilities"),
    "too few rows": (X2, [[0.5, 0.5]] * 3, {}, DataError, "y has 3 rows for the 2 rows"),
    "words for p": (X2, [["a", "b"], ["c", "d"]], {}, DataError, "rows of probabilities"),
    "classes twice": (X2, np.eye(2), {"classes": ["a", "a"]}, ArgumentError, "2 different labels"),
    "classes of labels": (X2, [0, 1], {"classes": [0, 1]}, ArgumentError, "classes must be None"),
    "no weight": (X2, np.eye(2), {"sample_weight": [0, 0]}, ArgumentError, "above zero"),
}


@pytest.mark.parametrize("case", BAD_FITS)
def test_bad_targets_are_refused_and_change_nothing(case):
    X, y, more, error, message = BAD_FITS[case]
    tree = SelfTerminatingTreeClassifier(penalty=1).fit(X2 * 5, ["a", "b"] * 5)
    before = pickle.dumps(tree.model_)
    with pytest.raises(error, match=message):
        tree.fit(X, y, **more)
    assert pickle.dumps(tree.model_) == before


def test_the_command_line_asks_a_saved_tree(tmp_path, capsys):
    from labeltrees.cli import main

    data = tmp_path / "data.svm"
    data.write_text("".join(f"{i % 2} 1:{i % 2 + 1} 2:{i}\n" for i in range(60)))
    rows = next(iter(open_reader(str(data), format="svmlight")))
    tree = SelfTerminatingTreeClassifier(penalty=1.0).fit(rows.features, rows.labels)
    tree.save(tmp_path / "m", extra={"input": {"format": "svmlight"}})
    for command in (["inspect", "--json"], ["predict", str(data)], ["evaluate", str(data)]):
        assert main([command[0], str(tmp_path / "m"), *command[1:]]) == 0
    shown = capsys.readouterr().out
    assert "SelfTerminatingTreeModel" in shown
    assert "squared loss" in shown
    with pytest.raises(TooLargeError, match="2147483647 features"):
        tree.feature_importances_  # noqa: B018
