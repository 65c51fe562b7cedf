"""Online label trees: what they answer, how they grow, go on and forget nothing.

Answers -> growing -> forms of y -> going on and files -> limits -> errors. That they learn what
they should is in test_reference.py; what all models share is in tests/contract.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees
from labeltrees import MultiLabelTreeClassifier
from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError, DataError, DivergedError, TooLargeError
from labeltrees.metrics import precision_at_k
from labeltrees.models.multilabel.model import MultiLabelTreeModel


def problem(seed=0, n_rows=300, n_labels=40, n_features=30):
    """Sparse rows whose features tell their labels, nearly."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(min(4, n_labels + 1), size=n_rows)
    sets = [rng.choice(n_labels, size=size, replace=False) for size in sizes]
    own = rng.random((n_labels, n_features)) < 0.15
    X = np.array([own[labels].sum(axis=0) for labels in sets], dtype=np.float32)
    X += rng.random(X.shape) < 0.03
    return sparse.csr_array(X), [[f"l{label}" for label in labels] for labels in sets]


# Answers.


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([1, 5, 40]), st.sampled_from([0, 1, 4, 16]),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_every_question_agrees_with_the_whole_answer(seed, n_labels, refine, mixing, is_fitted):
    X, y = problem(seed, n_rows=60, n_labels=n_labels, n_features=8)
    y[0] = ["l0"]
    model = MultiLabelTreeClassifier(refine=refine, mixing=mixing, n_passes=2)
    model = model.fit(X, y) if is_fitted else model.partial_fit(X, y)
    rows, n = X[:8], len(model.classes_)
    full = model.predict_proba(rows)
    assert ((full > 0) & (full < 1)).all()
    for k in {1, min(3, n), n}:
        labels, p = model.predict_top_k(rows, k)
        order = np.argsort(-full, axis=1, kind="stable")[:, :k]
        assert np.array_equal(p, np.take_along_axis(full, order, axis=1))  # provably the top k
        places = np.searchsorted(model.classes_, labels.ravel()).reshape(labels.shape)
        assert np.array_equal(np.take_along_axis(full, places, axis=1), p)
    for threshold in (1e-6, 0.1, float(full.max())):
        above = model.predict_above(rows, threshold).toarray()
        assert np.array_equal(above, np.where(full >= threshold, full, 0))
    for column, label in enumerate(model.classes_):
        named = model.predict_label_proba(rows, [label] * 8)
        assert np.array_equal(named, full[:, column])
    assert model.predict_count(rows) == pytest.approx(full.sum(axis=1), abs=1e-3)
    best, p = model.top_rows(rows, model.classes_[:2], 3)
    assert np.array_equal(p, -np.sort(-full[:, : len(best)].T, axis=1)[:, :3])
    reason = model.explain(rows[[0]], model.classes_[0])
    assert reason.p_label == full[0, 0]
    path = reason.p_any * np.prod([step.p_node for step in reason.steps])
    assert reason.p_tree == pytest.approx(path, rel=1e-12)
    assert model.classes_[0] in reason.to_text()


def test_draws_have_every_label_with_its_probability():
    X, y = problem(1, n_labels=12)
    model = MultiLabelTreeClassifier(refine=4).fit(X, y)
    n = 4000  # of a proportion: deviation at most .008
    row = sparse.csr_array(np.repeat(X[:1].toarray(), n, axis=0))
    share = model.sample_sets(row, random_state=0).toarray().mean(axis=0)
    assert share == pytest.approx(model.predict_proba(X[:1])[0], abs=0.04)
    again = model.sample_sets(row[:50], random_state=0).toarray()
    assert np.array_equal(again, model.sample_sets(row[:50], random_state=0).toarray())


def test_it_learns_what_there_is_to_learn():
    X, y = problem(2, n_rows=3000, n_labels=60, n_features=60)
    Y = MultiLabelBinarizer().fit_transform(y)
    for model in (
        MultiLabelTreeClassifier().partial_fit(X[:2500], Y[:2500]),
        MultiLabelTreeClassifier().fit(X[:2500], Y[:2500]),
    ):
        p = model.predict_proba(X[2500:])
        has_label = Y[2500:].any(axis=1)
        precision = precision_at_k(
            sparse.csr_array(Y[2500:][has_label]), sparse.csr_array(p[has_label]), 1
        )
        assert precision > 0.75  # the most frequent label alone has about .03
        gap = abs(p.sum() / Y[2500:].sum() - 1)
        assert gap < 0.2  # as many labels are expected as there are


def test_the_best_label_wins_after_one_look_at_a_new_one():
    X = np.eye(4, dtype=np.float32)
    model = MultiLabelTreeClassifier().partial_fit(X[:3], [["a"], ["b"], ["a", "b"]])
    model.partial_fit(X[3:], [["new"]])
    assert model.predict_top_k(X[3:], 1).labels.tolist() == [["new"]]


def test_labels_may_have_any_names_and_come_in_any_order():
    X, y = problem(7)
    names = {f"l{label}": new for label, new in enumerate(np.random.default_rng(7).permutation(40))}
    model = MultiLabelTreeClassifier().partial_fit(X, y)
    other = MultiLabelTreeClassifier().partial_fit(X, [[names[each] for each in row] for row in y])
    columns = np.searchsorted(other.classes_, [names[label] for label in model.classes_])
    assert np.array_equal(other.predict_proba(X)[:, columns], model.predict_proba(X))
    # Sorted by label, the worst order: what is learned early is not forgotten.
    order = sorted(range(len(y)), key=lambda r: sorted(y[r]))
    by_label = MultiLabelTreeClassifier().partial_fit(X[order], [y[r] for r in order])
    assert by_label.score(X, y) > 0.8 * model.score(X, y)


# Growing.


def test_leaves_never_move_and_depth_is_logarithmic():
    X, y = problem(3, n_rows=2000, n_labels=400)
    model = MultiLabelTreeClassifier(refine=0)
    paths = {}
    for begin in range(0, 2000, 100):
        model.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
        parents, slots, labels, *_ = model.model_.core.snapshot()
        for node, label in enumerate(labels.tolist()):
            if label >= 0:
                place = (int(parents[node]), int(slots[node]))
                assert paths.setdefault(label, place) == place
    n_labels = len(model.classes_)
    assert n_labels > 343
    assert model.tree_.depth == 4  # 7^3 < n_labels <= 7^4


@pytest.mark.parametrize("branching_threshold", [0.0, 0.3, 1.0])
def test_a_row_of_many_new_labels_makes_as_many_levels_as_needed(branching_threshold):
    model = MultiLabelTreeClassifier(branching_threshold=branching_threshold)
    model.partial_fit([[1.0, 2.0]], [[f"l{i}" for i in range(60)]])
    assert model.tree_.n_labels == 60
    assert model.tree_.depth == 3
    assert (model.predict_proba([[1.0, 2.0]]) > 0).all()


def test_rows_without_a_label_teach_that_there_is_none():
    X = [[1.0, 0.0], [0.0, 1.0]] * 60
    model = MultiLabelTreeClassifier().partial_fit(X, [["a"], []] * 60)
    any_label = [model.explain(x, "a").p_any for x in X[:2]]
    assert any_label[0] > 0.8 > 0.2 > any_label[1]
    assert model.predict(X[:2]).tolist() == [["a"], []]


def test_relevance_between_no_and_yes_is_learned_as_such():
    X = [[1.0, 0.0], [0.0, 1.0]] * 300
    y = [{"a": 1.0, "b": 0.25}, {"a": 0.5}] * 300
    model = MultiLabelTreeClassifier(n_passes=5).fit(X, y)
    p = model.predict_proba(X[:2])
    assert p == pytest.approx(np.array([[1.0, 0.25], [0.5, 0.0]]), abs=0.12)


# Forms of y.


def test_every_form_of_y_teaches_the_same():
    X, y = problem(4, n_labels=9)
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform(y)
    expected = MultiLabelTreeClassifier(structure="online", shuffle=False).fit(X, y)
    p = expected.predict_proba(X[:20])
    forms = {
        "sets": ([set(labels) for labels in y], None),
        "dicts": ([dict.fromkeys(labels, 1.0) for labels in y], None),
        "tuples": ([tuple(labels) for labels in y], None),
        "matrix": (Y, binarizer.classes_),
        "sparse": (sparse.csr_array(Y), binarizer.classes_),
        "twice": ([[*labels, *labels] for labels in y], None),
    }
    for name, (given_y, classes) in forms.items():
        model = MultiLabelTreeClassifier(structure="online", shuffle=False)
        model.fit(X, given_y, classes=classes)
        assert np.array_equal(model.predict_proba(X[:20]), p), name
    matrix = MultiLabelTreeClassifier().fit(X, Y).predict(X)
    assert matrix.shape == Y.shape
    assert set(np.unique(matrix)) <= {0, 1}
    assert sparse.issparse(MultiLabelTreeClassifier().fit(X, sparse.csr_array(Y)).predict(X))


def test_a_matrix_without_an_entry_is_rows_without_labels():
    model = MultiLabelTreeClassifier()
    model.partial_fit(np.eye(3), np.zeros((3, 2)))
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.predict_proba(np.eye(3)), np.zeros((3, 2)))
    model.partial_fit(np.eye(3), np.array([[1, 0], [0, 1], [0, 0]]))
    assert (model.predict_proba(np.eye(3)) > 0).all()


# Going on.


def test_a_stream_cut_anywhere_and_saved_is_the_same_to_the_last_bit(tmp_path):
    X, y = problem(5)
    whole = MultiLabelTreeClassifier().partial_fit(X, y)
    model = MultiLabelTreeClassifier()
    for begin, end in ((0, 1), (1, 70), (70, 71), (71, 300)):
        model.partial_fit(X[begin:end], y[begin:end])
        model.save(tmp_path / "m")
        model = labeltrees.load(tmp_path / "m")
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))
    whole.save(tmp_path / "w")
    assert (tmp_path / "w").read_bytes() == (tmp_path / "m").read_bytes()


def test_predictions_are_those_before_the_row():
    X, y = problem(6, n_rows=120)
    model, twin = MultiLabelTreeClassifier(refine=50), MultiLabelTreeClassifier(refine=50)
    seen = model.progressive_fit(X, y, k=3)
    flat = 0
    for r in range(120):
        known = set() if r == 0 else set(twin.classes_.tolist())
        p = {}
        if known:
            p = dict(zip(twin.classes_.tolist(), twin.predict_proba(X[[r]])[0], strict=True))
            k = min(3, len(known))
            top = twin.predict_top_k(X[[r]], k)
            assert np.array_equal(seen.p_top[r, :k], top.probabilities[0])
            assert seen.top[r, :k].tolist() == top.labels[0].tolist()
        for label in y[r]:
            assert seen.is_new[flat] == (label not in known)
            assert seen.p_label[flat] == p.get(label, 0.0)
            flat += 1
        twin.partial_fit(X[[r]], [y[r]])
    assert flat == len(seen.p_label)


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X, y = problem(7)
    weights = np.ones(300)
    weights[::3] = 0
    kept = np.flatnonzero(weights)
    ours = MultiLabelTreeClassifier().partial_fit(X, y, sample_weight=weights)
    theirs = MultiLabelTreeClassifier().partial_fit(X[kept], [y[i] for i in kept])
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_threads_answer_alike_and_may_ask_while_one_learns():
    X, y = problem(8, n_rows=1500)
    model = MultiLabelTreeClassifier(n_jobs=2).partial_fit(X[:600], y[:600])
    one = MultiLabelTreeClassifier(n_jobs=1).partial_fit(X[:600], y[:600])
    assert np.array_equal(model.predict_top_k(X, 3).labels, one.predict_top_k(X, 3).labels)
    failures = []

    def ask():
        try:
            for _ in range(30):
                p = model.predict_top_k(X[:50], 2).probabilities
                assert ((p > 0) & (p < 1)).all()
        except Exception as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    model.partial_fit(X[600:], y[600:])
    asking.join()
    assert failures == []
    one.partial_fit(X[600:], y[600:])
    assert np.array_equal(model.predict_proba(X[:50]), one.predict_proba(X[:50]))


# Limits.


def test_memory_stays_within_its_limit_and_answers_stay_sound():
    rng = np.random.default_rng(0)
    n_rows, width = 4000, 10**6
    columns = rng.integers(width, size=(n_rows, 20))
    X = sparse.csr_array(
        (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 20)),
        shape=(n_rows, width),
    )
    y = [[int(a), int(b)] for a, b in rng.integers(300, size=(n_rows, 2))]
    free = MultiLabelTreeClassifier(refine=2).partial_fit(X, y)
    bound = MultiLabelTreeClassifier(refine=2, max_memory=2**22).partial_fit(X, y)
    in_use = [m.model_.core.n_bytes + m.model_.core.n_pair_bytes for m in (free, bound)]
    assert in_use[0] > 2**23
    assert in_use[1] <= 2**22
    p = bound.predict_proba(X[:20])
    assert ((p > 0) & (p < 1)).all()


# Errors.


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], None, "y is None"),
        ([[1.0]], [["a"], ["b"]], "y has 2 rows for the 1 rows of X"),
        ([[1.0]], [{"a": 2.0}], r"row 0 of y has 2, but relevance must be in \[0, 1\]"),
        ([[1.0], [1.0]], [[0.0, 1.0], [3.0, 0.0]], r"row 1 of y has 3, but relevance"),
        ([[np.nan]], [["a"]], "NaN"),
        ([[1.0]], [[]], "y has no label"),
        ([[1.0]], np.ones((1, 1, 1)), "one or two dimensions"),
    ],
)
def test_bad_data_is_refused_and_nothing_changes(X, y, message):
    with pytest.raises(DataError, match=message):
        MultiLabelTreeClassifier().fit(X, y)
    if message == "y has no label":
        return  # a stream may begin with such rows
    model = MultiLabelTreeClassifier().partial_fit([[1.0]], [["a"]])
    before = model.predict_proba([[1.0]])
    with pytest.raises(DataError, match=message):
        model.partial_fit(X, y)
    assert np.array_equal(model.predict_proba([[1.0]]), before)
    assert model.classes_.tolist() == ["a"]


def test_labels_of_another_kind_are_refused_before_anything_is_learned():
    model = MultiLabelTreeClassifier().partial_fit([[1.0]], [["a"]])
    with pytest.raises(labeltrees.errors.LabelTreesError, match="label"):
        model.partial_fit([[1.0]], [[7]])
    assert model.classes_.tolist() == ["a"]


def test_bad_questions_are_refused():
    model = MultiLabelTreeClassifier().partial_fit([[1.0]] * 3, [["a", "b"]] * 3)
    with pytest.raises(ArgumentError, match=r"k must be an integer in \[1, n_labels=2\], got 3"):
        model.predict_top_k([[1.0]], 3)
    with pytest.raises(ArgumentError, match="threshold"):
        model.predict_above([[1.0]], 0)
    with pytest.raises(TooLargeError, match="max_bytes"):
        model.predict_proba([[1.0]], max_bytes=8)
    with pytest.raises(ArgumentError, match="label"):
        model.explain([1.0], "c")
    with pytest.raises(ArgumentError, match="k must be"):
        model.progressive_fit([[1.0]], [["a"]], k=-1)


def test_values_past_all_measure_are_refused_and_the_rows_before_are_kept():
    model = MultiLabelTreeClassifier(normalize=False, optimizer="sgd", learning_rate=1e6)
    with pytest.raises(DivergedError, match="learning_rate"):
        model.partial_fit([[1.0], [1e30]], [["a"], ["b"]])
    model = MultiLabelTreeClassifier(normalize=False).partial_fit([[1.0]], [["a"]])
    with pytest.raises(DivergedError):
        model.partial_fit([[2.0], [3e38]], [["b"], ["a"]])
    assert model.predict_proba([[1.0]]).shape == (1, 2)


def test_label_sets_name_the_line_of_a_bad_relevance():
    from labeltrees.data.chunk import Chunk

    grades = np.array([1.0, 4.0], np.float32)
    labels = RaggedLabels(np.array(["a", "b"], dtype=object), np.array([0, 1, 2]), grades)
    chunk = Chunk(as_rows([[1.0], [2.0]]), labels, None, 5)
    with pytest.raises(
        DataError, match=r"line 6 has relevance 4, but relevance must be in \[0, 1\]"
    ):
        RaggedLabels.of_chunk(chunk)


def test_a_file_of_0_2_0_has_another_name_for_the_branching_threshold():
    X, y = problem(3, n_rows=40)
    model = MultiLabelTreeClassifier(branching_threshold=0.5).partial_fit(X, y).model_
    tensors, facts = model.to_tensors(keep_state=True)
    settings = dict(facts["settings"])
    settings["openness"] = settings.pop("branching_threshold")
    old = MultiLabelTreeModel.from_tensors(tensors, facts | {"settings": settings})
    assert old.settings == model.settings
