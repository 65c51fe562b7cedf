"""The contract of every model: its questions agree with each other, at the boundaries as well.

Agreement of the questions -> boundaries.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from tests.contract.questions import (
    CAPABILITIES,
    differing,
    every_answer,
)
from tests.contract.subjects import (
    CAN,
    FITTED,
    MADE,
    N_FEATURES,
    NUMBERS,
    SUBJECTS,
    able,
    asked,
    every,
    of_all,
    targets,
    training,
)

from labeltrees.models.capabilities import Above, BeamSearch, BestRows, Explains, Samples
from labeltrees.models.extreme.tail import unit_rows


def question(made):
    """Return model, rows to ask about and all their probabilities."""
    rows = made.model.rows(asked())
    return made.model, rows, made.model.probabilities(rows)


def equal_for(made, ours, theirs):
    """Whether two answers are the same: a mixture adds its members' in another order."""
    if made.subject.model == "AdacondModel":
        return ours == pytest.approx(theirs, abs=1e-15)
    return np.array_equal(ours, theirs)


# The questions agree.


@every(MADE)
def test_the_model_is_of_the_class_and_says_what_it_can(made):
    assert type(made.model).__name__ == made.subject.model
    assert {each for each in CAPABILITIES if made.can(each)} == CAN[made.subject.model]
    assert made.model.frozen == (made.way == "frozen" and made.subject.goes_on)
    assert made.model.n_features == N_FEATURES
    assert type(made.model.settings) is made.model.settings_class


def ranks_by_probability(model):
    """Whether neither a tail classifier nor propensities rank labels otherwise."""
    weighted = getattr(model.settings, "relevance", None) is not None
    return getattr(model, "tail", None) is None and not weighted


@every(MADE)
def test_probabilities_are_in_range_and_sum_to_one(made):
    model, rows, full = question(made)
    assert full.dtype == np.float64
    assert full.shape == (rows.n_rows, len(model.vocabulary))
    assert full.min() >= 0
    assert full.max() <= 1
    if made.subject.by_itself:
        if not hasattr(model, "relevances"):
            return
        relevance = model.relevances(rows)
        assert 0 <= relevance.min() <= relevance.max() <= model.scale
        assert relevance.max() > 1 or model.scale < 5  # as it was learned, from 2 to 5
        return
    left = 1 - getattr(model, "novelty_mass", 0.0)
    assert full.sum(axis=1) == pytest.approx(np.full(rows.n_rows, left), abs=1e-12)


@every(MADE)
def test_a_label_s_probability_is_that_of_its_column(made):
    model, rows, full = question(made)
    for column, label in enumerate(model.vocabulary.labels.tolist()):
        if label not in made.unlearned:
            p = model.label_probabilities(rows, [label] * rows.n_rows)
            assert equal_for(made, p, full[:, column])
    mixed = np.arange(rows.n_rows) % len(made.known)
    columns = model.vocabulary.ids([made.known[i] for i in mixed])
    p = model.label_probabilities(rows, [made.known[i] for i in mixed])
    assert equal_for(made, p, full[np.arange(rows.n_rows), columns])


@every(MADE)
def test_the_top_labels_are_those_of_sorting_all(made):
    model, rows, full = question(made)
    n_known = len(made.known)
    for k in sorted({1, 3, n_known}):
        labels, p = model.top_labels(rows, k)
        assert labels.shape == p.shape == (rows.n_rows, k)
        assert all(len(set(row)) == k for row in labels.tolist())
        columns = model.vocabulary.ids(labels.ravel()).reshape(labels.shape)
        assert np.array_equal(np.take_along_axis(full, columns, axis=1), p)
        if ranks_by_probability(model):
            assert np.array_equal(p, -np.sort(-full, axis=1)[:, :k])
        if made.subject.by_itself and hasattr(model, "top_scores"):
            ranked, scores = model.top_scores(rows, k)
            assert np.array_equal(ranked, labels)
            assert (np.diff(scores, axis=1) <= 0).all()


@able(Above)
def test_the_labels_above_a_threshold_are_those_of_all(made):
    model, rows, full = question(made)
    reached = float(np.median(full.max(axis=1)))  # itself included, to the last bit
    for threshold in (1e-9, 0.02, 0.3, reached, 1.0):
        above = model.labels_above(rows, threshold)
        assert above.shape == full.shape
        assert above.has_canonical_format
        assert (above.data >= threshold).all()
        wanted = np.where(full >= threshold, full, 0.0)
        if made.subject.model == "AdacondModel":  # a sum may be below it by one bit
            wanted[np.abs(full - threshold) < 1e-15] = 0
            above = np.where(np.abs(full - threshold) < 1e-15, 0, above.toarray())
            assert above == pytest.approx(wanted, abs=1e-15)
        else:
            assert np.array_equal(above.toarray(), wanted)


@able(BestRows)
def test_the_best_rows_of_a_label_are_those_of_sorting_its_column(made):
    model, rows, full = question(made)
    labels = [*made.known[::2], made.known[0]]  # one of them twice
    is_extreme = made.subject.model == "ExtremeModel"
    exact = {"exact": True} if is_extreme else {}
    relevance = model.relevances(rows) if is_extreme else full
    ranking = model.scores(rows) if hasattr(model, "scores") else relevance
    if getattr(model, "tail", None):
        ranking = _by_tail(model, rows, relevance)
    for k in (1, 5, rows.n_rows):
        found, p = model.top_rows(rows, labels, k, **exact)
        assert found.shape == p.shape == (len(labels), k)
        for place, column in enumerate(model.vocabulary.ids(labels).tolist()):
            best = np.lexsort((-relevance[:, column], -ranking[:, column]))[:k]
            assert len(set(found[place].tolist())) == k
            if is_extreme or made.subject.model == "AdacondModel":  # ties within rounding
                assert p[place] == pytest.approx(full[best, column], rel=1e-12, abs=1e-15)
                assert full[found[place], column] == pytest.approx(p[place], rel=1e-12, abs=1e-15)
            else:
                assert found[place].tolist() == best.tolist()
                assert np.array_equal(p[place], full[best, column])


def _by_tail(model, rows, relevance):
    row, label = np.indices(relevance.shape)
    return model.tail.scores(unit_rows(rows), row, label, relevance)


@able(Samples)
def test_draws_have_the_frequencies_of_the_distribution(made):
    model, _, full = question(made)
    n = 1000
    uniforms = (np.arange(n) + 0.5) / n
    for row in (0, 15, len(full) - 1):
        drawn = model.sample(model.rows(asked()[[row] * n]), uniforms)
        shares = np.bincount(model.vocabulary.ids(drawn), minlength=full.shape[1]) / n
        # A label's numbers are an interval; in a mixture one for each of its parts.
        is_mixture = made.subject.model in ("AdacondModel", "LomTreeModel")
        limit = 4 / n if is_mixture else 1 / n
        assert shares == pytest.approx(full[row] / full[row].sum(), abs=limit + 1e-9)


@able(Explains)
def test_an_explanation_has_the_label_s_probability_and_is_text_and_json(made):
    model, rows, full = question(made)
    for row, label in ((0, made.known[0]), (rows.n_rows - 1, made.known[-1])):
        one, column = rows.take(np.array([row])), int(model.vocabulary.ids([label])[0])
        reason = model.explain(one, label, n_features=2)
        assert reason.p_label == full[row, column]
        told = json.loads(json.dumps(reason.to_dict()))
        assert told["label"] == label
        assert told["p_label"] == full[row, column]
        assert str(label) in reason.to_text()
        assert str(reason) == reason.to_text()


@able(Explains)
def test_an_explanation_names_features_as_asked(made):
    model, rows, _ = question(made)
    one = rows.take(np.array([0]))
    names = [f"feature {chr(97 + i)}" for i in range(N_FEATURES)]
    plain = model.explain(one, made.known[0], n_features=N_FEATURES).to_text()
    named = model.explain(one, made.known[0], n_features=N_FEATURES, feature_names=names).to_text()
    assert "feature " not in plain
    has_paths = "pool of PECOC" not in str(made)  # whose trees say only how likely the label is
    assert ("feature " in named) == has_paths
    none = model.explain(one, made.known[0], n_features=0, feature_names=names).to_text()
    assert "feature " not in none.replace("features", "")


@able(BeamSearch)
def test_a_full_beam_is_exact_and_a_narrow_one_tells_what_it_knows(made):
    model, rows, full = question(made)
    n_known = len(made.known)
    labels, p, certified = model.beam_labels(rows, n_known, beam_width=100)
    exact = model.top_labels(rows, n_known)
    assert certified.all()
    assert np.array_equal(labels, exact.labels)
    assert np.array_equal(p, exact.probabilities)
    labels, p, certified = model.beam_labels(rows, 2, beam_width=2)
    columns = model.vocabulary.ids(labels.ravel()).reshape(labels.shape)
    assert np.array_equal(np.take_along_axis(full, columns, axis=1), p)
    assert np.array_equal(p[certified], exact.probabilities[certified, :2])


@every(MADE)
def test_answers_do_not_depend_on_batches(made, monkeypatch):
    model = made.model
    X = asked()
    whole = every_answer(model, X)
    half = len(X) // 2
    parts = [every_answer(model, X[:half]), every_answer(model, X[half:])]
    for name in ("probabilities", "label_probabilities", "top_labels", "top_labels, p"):
        assert np.array_equal(np.concatenate([part[name] for part in parts]), whole[name])
    monkeypatch.setattr("labeltrees.models.dense.PIECE_BYTES", 200)  # two rows at a time
    assert differing(every_answer(model, X), whole) == []


@every(FITTED)
def test_the_layout_of_the_rows_changes_nothing(made):
    model = made.model
    X = asked()
    csr = sparse.csr_array(X)
    expected = model.probabilities(model.rows(csr))
    if not model.missing:  # else zeros of dense rows are kept, which the trees read alike
        assert np.array_equal(model.probabilities(model.rows(X)), expected)
    for same in (sparse.csc_array(X), sparse.coo_array(X), X.astype(np.float64).tolist()):
        assert np.array_equal(model.probabilities(model.rows(same)), expected)
    turned = csr.copy()
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        turned.indices[begin:end] = csr.indices[begin:end][::-1]
        turned.data[begin:end] = csr.data[begin:end][::-1]
    turned.has_sorted_indices = False
    assert np.array_equal(model.probabilities(model.rows(turned)), expected)
    halves = sparse.coo_array(X)
    twice = sparse.csr_array(
        (
            np.repeat(halves.data / 2, 2),
            np.repeat(halves.col, 2),
            2 * np.concatenate([[0], np.cumsum(np.bincount(halves.row, minlength=len(X)))]),
        ),
        shape=X.shape,
    )
    assert np.array_equal(model.probabilities(model.rows(twice)), expected)


@every(FITTED)
def test_a_stored_zero_is_no_feature(made):
    if made.model.missing:  # zeros are kept among the rows
        return
    X = asked()
    stored = sparse.csr_array(np.where(X == 0, 1, X))
    stored.data[stored.data == 1] = 0
    stored.data[:] = X.ravel()
    assert stored.nnz == X.size
    model = made.model
    assert np.array_equal(
        model.probabilities(model.rows(stored)), model.probabilities(model.rows(X))
    )


# Boundaries.


@every(MADE)
def test_a_label_never_seen_has_probability_zero_or_the_novelty_mass(made):
    model, rows, full = question(made)
    strange = "never" if isinstance(made.known[0], str) else 123
    expected = getattr(model, "novelty_mass", 0.0)
    p = model.label_probabilities(rows, [strange] * rows.n_rows)
    assert p.tolist() == [expected] * rows.n_rows
    for label in made.unlearned:
        p = model.label_probabilities(rows, [label] * rows.n_rows)
        assert p.tolist() == [expected] * rows.n_rows
        assert not full[:, model.vocabulary.ids([label])[0]].any()


@every(MADE)
def test_an_empty_row_is_answered(made):
    model = made.model
    empty = model.rows(sparse.csr_array((2, N_FEATURES), dtype=np.float32))
    p = model.probabilities(empty)
    assert np.isfinite(p).all()
    assert np.array_equal(p[0], p[1])
    assert np.array_equal(p, model.probabilities(model.rows(np.zeros((2, N_FEATURES)))))
    assert np.array_equal(model.top_labels(empty, 1).probabilities[:, 0], p.max(axis=1)) or (
        getattr(model, "tail", None) is not None
    )


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if "given" not in s.name], ids=str)
@pytest.mark.parametrize("label", ["only", -7])
def test_one_label_alone_has_probability_one(subject, label):
    X = training()[0][:30]
    y = [{label: 2.0}] * 30 if subject.several == "dicts" else [label] * 30
    more = {}
    if subject.several in ("matrix", "distributions"):
        y, more = np.ones((30, 1)), {"classes": [label]}
        y = sparse.csr_array(y)
    model = subject.new().fit(X, y, **more).model_
    rows = model.rows(asked())
    tolerance = 0.3 if subject.by_itself else 1e-12
    assert model.vocabulary.labels.tolist() == [label]
    mass = getattr(model, "novelty_mass", 0.0)
    assert model.probabilities(rows) == pytest.approx(1 - mass, abs=tolerance)
    assert set(model.top_labels(rows, 1).labels[:, 0].tolist()) == {label}
    if Samples in CAN[type(model).__name__]:
        assert set(model.sample(rows, np.linspace(0, 0.999, rows.n_rows)).tolist()) == {label}
    again = type(model).from_tensors(*model.to_tensors(keep_state=True))
    assert np.array_equal(again.probabilities(rows), model.probabilities(rows))


@of_all
def test_other_names_for_the_labels_change_nothing_else(subject):
    X, y = training()
    order = np.argsort(NUMBERS)  # names that sort as the numbers do
    words = np.empty(len(NUMBERS), dtype=object)
    words[order] = [f"w{i}" for i in range(len(NUMBERS))]
    answers = []
    for names in (NUMBERS, words):
        given, more = targets(subject, y, names)
        model = subject.new().fit(X, given, **more).model_
        rows = model.rows(asked())
        top = model.top_labels(rows, 3)
        ids = model.vocabulary.ids(top.labels.ravel())
        answers.append((model.probabilities(rows), top.probabilities, ids))
        assert set(model.vocabulary.labels.tolist()) == set(names.tolist())
    for ours, theirs in zip(*answers, strict=True):
        assert np.array_equal(ours, theirs)
