"""The contract of every model: its questions agree, its file is all of it, bad calls are refused.

Agreement of the questions -> boundaries -> files -> learning -> refusals.
"""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from tests.contract.questions import CAPABILITIES, NO_WEIGHTS, differing, every_answer, learn
from tests.contract.subjects import (
    CAN,
    FITTED,
    MADE,
    N_FEATURES,
    NAMES,
    NUMBERS,
    ONLINE,
    SUBJECTS,
    Made,
    asked,
    copied,
    saved,
    targets,
    training,
)

import labeltrees
from labeltrees.data.rows import as_rows
from labeltrees.errors import (
    ArgumentError,
    DataError,
    FrozenModelError,
    LabelTypeError,
    ModelFormatError,
    TooLargeError,
)
from labeltrees.models.capabilities import Above, BeamSearch, BestRows, Explains, Learns, Samples
from labeltrees.models.registry import model_class


def every(made):
    """Parametrise with these models."""
    return pytest.mark.parametrize("made", made, ids=str)


def able(capability, among=MADE):
    return every([made for made in among if capability in CAN[made.subject.model]])


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
    assert made.model.frozen == (made.way == "frozen" and made.subject.learns)
    assert made.model.n_features == N_FEATURES
    assert type(made.model.settings) is made.model.settings_class


@every(MADE)
def test_probabilities_are_in_range_and_sum_to_one(made):
    model, rows, full = question(made)
    assert full.dtype == np.float64
    assert full.shape == (rows.n_rows, len(model.vocabulary))
    assert full.min() >= 0
    if made.subject.model == "ExtremeModel":  # each label by itself
        assert full.max() <= model.scale
        assert full.max() > 1 or model.scale < 5  # relevance as it was learned, from 2 to 5
        return
    assert full.max() <= 1
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
        if getattr(model, "tail", None) is None:  # a tail classifier ranks by another score
            assert np.array_equal(p, -np.sort(-full, axis=1)[:, :k])


@able(Above)
def test_the_labels_above_a_threshold_are_those_of_all(made):
    model, rows, full = question(made)
    scale = getattr(model, "scale", 1.0)
    reached = float(np.median(full.max(axis=1)))  # itself included, to the last bit
    for threshold in (1e-9 * scale, 0.02 * scale, 0.3 * scale, reached, scale):
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
    for k in (1, 5, rows.n_rows):
        found, p = model.top_rows(rows, labels, k, **exact)
        assert found.shape == p.shape == (len(labels), k)
        for place, column in enumerate(model.vocabulary.ids(labels).tolist()):
            best = np.argsort(-full[:, column], kind="stable")[:k]
            assert len(set(found[place].tolist())) == k
            if is_extreme or made.subject.model == "AdacondModel":  # ties within rounding
                assert p[place] == pytest.approx(full[best, column], rel=1e-12, abs=1e-15)
                assert full[found[place], column] == pytest.approx(p[place], rel=1e-12, abs=1e-15)
            else:
                assert found[place].tolist() == best.tolist()
                assert np.array_equal(p[place], full[best, column])


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
    assert "feature " in named
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
            np.repeat(halves.coords[1], 2),
            2 * np.concatenate([[0], np.cumsum(np.bincount(halves.coords[0], minlength=len(X)))]),
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
    expected = getattr(model, "scale", 1.0)
    tolerance = 0.3 * expected if subject.model == "ExtremeModel" else 1e-12
    assert model.vocabulary.labels.tolist() == [label]
    mass = getattr(model, "novelty_mass", 0.0)
    assert model.probabilities(rows) == pytest.approx(expected * (1 - mass), abs=tolerance)
    assert set(model.top_labels(rows, 1).labels[:, 0].tolist()) == {label}
    if Samples in CAN[type(model).__name__]:
        assert set(model.sample(rows, np.linspace(0, 0.999, rows.n_rows)).tolist()) == {label}
    again = type(model).from_tensors(*model.to_tensors(keep_state=True))
    assert np.array_equal(again.probabilities(rows), model.probabilities(rows))


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
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


# Files.


def same_state(ours, theirs):
    for one, other in zip(ours[0].items(), theirs[0].items(), strict=True):
        assert one[0] == other[0]
        assert one[1].dtype == other[1].dtype, one[0]
        assert np.array_equal(one[1], other[1]), one[0]
    assert ours[1] == theirs[1]


@every(MADE)
@pytest.mark.parametrize("keep_state", [True, False])
def test_tensors_and_facts_are_all_of_a_model(made, keep_state):
    if made.way == "frozen":
        keep_state = False
    model = made.model
    tensors, facts = model.to_tensors(keep_state=keep_state)
    assert json.loads(json.dumps(facts)) == facts
    again = type(model).from_tensors(tensors, facts)
    same_state(again.to_tensors(keep_state=keep_state), (tensors, facts))
    assert again.settings == model.settings
    assert again.frozen == (model.frozen or (not keep_state and made.subject.learns))
    if keep_state or made.way == "frozen":
        assert differing(every_answer(again, asked()), every_answer(model, asked())) == []


@every(MADE)
def test_a_saved_or_pickled_model_answers_alike(made, tmp_path):
    model = made.model
    expected = every_answer(model, asked())
    assert differing(every_answer(pickle.loads(pickle.dumps(model)), asked()), expected) == []
    model.save(tmp_path / "m", keep_state=not model.frozen)
    for mapped in (False, True):
        again = labeltrees.load_model(tmp_path / "m", mapped=mapped)
        assert again.settings == model.settings
        assert differing(every_answer(again, asked()), expected) == []
    again.save(tmp_path / "n", keep_state=not model.frozen)
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_a_frozen_model_answers_nearly_the_same_and_learns_no_more(subject, tmp_path):
    model, small = Made(subject, "fitted").model, Made(subject, "frozen").model
    rows = model.rows(asked())
    # float16 weights have 11 bits, and a path some turns of them
    near = pytest.approx(model.probabilities(rows), abs=5e-3)
    assert small.probabilities(rows) == near
    assert saved(subject.name, False).stat().st_size <= saved(subject.name).stat().st_size
    small.save(tmp_path / "again", keep_state=True)
    assert (tmp_path / "again").read_bytes() == saved(subject.name, False).read_bytes()
    copy = pickle.loads(pickle.dumps(small))
    assert copy.frozen == small.frozen == subject.learns
    if subject.model in ("SelfTerminatingTreeModel", "ExtremeModel", "LomTreeModel"):
        assert np.array_equal(small.probabilities(rows), model.probabilities(rows))
    if not subject.learns:
        return
    X, y = training()
    for each in (small, copy):
        with pytest.raises(FrozenModelError, match="keep_state=False"):
            learn(each, X, NAMES[y])
    assert small.describe()["can_learn"] is False
    assert model.describe()["can_learn"] is True


@every(MADE)
def test_a_description_is_json_and_a_drawing_is_dot(made):
    model = made.model
    facts = model.describe()
    assert json.loads(json.dumps(facts)) == facts
    assert facts
    names = [f'"{label}"\\' for label in model.vocabulary.labels]
    for max_nodes in (1, 3, 1000):
        drawing = model.to_dot(names, max_nodes=max_nodes)
        assert drawing.startswith("digraph")
        assert drawing.rstrip().endswith("}")
        quotes = drawing.replace("\\\\", "").replace('\\"', "").count('"')
        assert quotes % 2 == 0
        assert drawing.count("->") <= 2 * max_nodes


def with_settings(facts, change):
    """Return facts with the settings changed; those of a pool are its members'."""
    if "settings" in facts:
        return facts | {"settings": change(facts["settings"])}
    first, *others = facts["members"]
    forged = first | {"facts": with_settings(first["facts"], change)}
    return facts | {"members": [forged, *others]}


FORGERIES = {
    "nothing": lambda s: None,
    "a number": lambda s: 3,
    "a list": list,
    "no settings": lambda s: {},
    "one too many": lambda s: s | {"colour": "green"},
    "one too few": lambda s: dict(list(s.items())[1:]),
    "another name": lambda s: {f"{name}_": value for name, value in s.items()},
}


@every(FITTED)
def test_forged_settings_are_refused(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for forge in FORGERIES.values():
        with pytest.raises(ModelFormatError):
            type(model).from_tensors(tensors, with_settings(facts, forge))


@every(FITTED)
def test_a_setting_out_of_range_is_refused_in_a_file_as_well(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for name in model.settings.names():
        for value in ["oak"] if name == "structure" else [[[]], {"a": 1}, float("nan")]:
            forged = with_settings(facts, lambda s, n=name, v=value: s | {n: v})
            with pytest.raises(ModelFormatError):
                type(model).from_tensors(tensors, forged)


@every(FITTED)
def test_missing_facts_and_tensors_are_refused(made):
    model = made.model
    tensors, facts = model.to_tensors(keep_state=True)
    for name in facts:
        with pytest.raises(ModelFormatError):
            type(model).from_tensors(tensors, {n: v for n, v in facts.items() if n != name})
    for name in tensors:
        with pytest.raises(ModelFormatError):
            type(model).from_tensors({n: t for n, t in tensors.items() if n != name}, facts)


# Learning.


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_learning_after_a_detour_over_a_file_is_learning_without(subject, tmp_path):
    X, y = training()
    model = copied(Made(subject, "fitted").model)
    model.save(tmp_path / "m")
    others = [copied(model), labeltrees.load_model(tmp_path / "m")]
    others.append(labeltrees.load_model(tmp_path / "m", mapped=True))
    others.append(model_class(subject.model).from_tensors(*model.to_tensors(keep_state=True)))
    before = model.probabilities(model.rows(asked()))
    for each in (model, *others):
        learn(each, X[:60], NAMES[y[::-1][:60]])
    state = model.to_tensors(keep_state=True)
    assert not np.array_equal(model.probabilities(model.rows(asked())), before)
    for other in others:
        same_state(other.to_tensors(keep_state=True), state)
        assert differing(every_answer(other, asked()), every_answer(model, asked())) == []


IN_TURN = [s for s in ONLINE if s.model != "PooledTreesModel" and "threads" not in s.name]


@pytest.mark.parametrize("subject", IN_TURN, ids=str)
def test_what_is_foreseen_is_what_the_model_said_before(subject):
    X, y = training()
    labels = NAMES[y][::-1]
    model = copied(Made(subject, "fitted").model)
    twin = copied(model)
    grows = subject.model != "PecocTreeModel"
    if grows:
        labels[[5, 11]] = "late"
    seen = model.learn(model.rows(X[:25]), labels[:25], NO_WEIGHTS, foresee_top=True)
    assert np.flatnonzero(seen.is_new).tolist() == ([5] if grows else [])
    for i in range(25):
        row = twin.rows(X[i : i + 1])
        p_label = twin.label_probabilities(row, labels[i : i + 1])
        top, p_top = twin.top_labels(row, 1)
        assert seen.p_label[i] == p_label[0]
        assert (seen.top[i], seen.p_top[i]) == (top[0, 0], p_top[0, 0])
        learn(twin, X[i : i + 1], labels[i : i + 1])
    same_state(model.to_tensors(keep_state=True), twin.to_tensors(keep_state=True))


@pytest.mark.parametrize("subject", IN_TURN, ids=str)
def test_foresight_changes_nothing_that_is_learned(subject):
    X, y = training()
    states = []
    for foresee, top in ((True, True), (True, False), (False, False)):
        model = copied(Made(subject, "fitted").model)
        seen = model.learn(
            model.rows(X[:40]), NAMES[y[:40]][::-1], NO_WEIGHTS, foresee=foresee, foresee_top=top
        )
        assert len(seen.top) == len(seen.p_top) == (40 if top else 0)
        states.append(model.to_tensors(keep_state=True))
    same_state(states[0], states[1])
    same_state(states[0], states[2])


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_a_row_of_weight_zero_is_not_learned(subject):
    X, y = training()
    labels = NAMES[y][:60].copy()
    weights = np.ones(60, dtype=np.float32)
    weights[::3] = 0
    labels[0] = "strange"
    weighted, without = (copied(Made(subject, "fitted").model) for _ in range(2))
    weighted.learn(weighted.rows(X[:60]), labels, weights, foresee=False)
    learn(without, X[:60][weights > 0], labels[weights > 0])
    same_state(weighted.to_tensors(keep_state=True), without.to_tensors(keep_state=True))


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_an_empty_row_is_learned(subject):
    model = copied(Made(subject, "fitted").model)
    learn(model, np.zeros((3, N_FEATURES)), NAMES[:3])
    assert model.probabilities(model.rows(asked())).max() <= 1


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_threads_may_ask_while_one_learns(subject):
    X, y = training()
    model = copied(Made(subject, "fitted").model)
    failures, done = [], threading.Event()
    # Whole distributions of a frequency table need its lock around the number of labels as well.
    answers_all = subject.model != "FrequencyTableModel"

    def ask():
        rows = model.rows(asked())
        label = NAMES[0]
        try:
            while True:
                last = done.is_set()
                p = model.top_labels(rows, 3).probabilities
                assert ((p >= 0) & (p <= 1)).all()
                p = model.label_probabilities(rows, [label] * rows.n_rows)
                assert ((p >= 0) & (p <= 1)).all()
                if answers_all:
                    assert model.probabilities(rows).sum(axis=1).max() < 1 + 1e-9
                    model.labels_above(rows, 0.1)
                    model.top_rows(rows, [label], 2)
                    model.sample(rows, np.linspace(0, 0.9, rows.n_rows))
                if Explains in CAN[subject.model]:
                    model.explain(rows.take(np.array([0])), label)
                if BeamSearch in CAN[subject.model]:
                    model.beam_labels(rows, 2, beam_width=3)
                if last:
                    return
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    # A PECOC tree does not grow; the trees of a pool learn of a new label one after the other.
    grows = subject.model not in ("PecocTreeModel", "PooledTreesModel")
    for start in range(0, 120, 8):
        labels = NAMES[y[start : start + 8]].copy()
        if grows:
            labels[0] = f"new {start}"
        learn(model, X[start : start + 8], labels)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


# Refusals: each names what is wrong, and the model stays as it was.


@every(MADE)
def test_k_is_between_one_and_the_number_of_labels(made):
    model, n_known = made.model, len(made.known)
    rows = model.rows(asked())
    for k in (0, -1, n_known + 1, 1.5, True, "2", None):
        with pytest.raises(ArgumentError, match=rf"k must be .* \[1, n_labels={n_known}\], got"):
            model.top_labels(rows, k)
    model.top_labels(rows, np.int32(n_known))


@every(MADE)
def test_rows_of_another_width_and_bad_numbers_are_refused(made):
    model = made.model
    for width in (N_FEATURES - 1, N_FEATURES + 1):
        message = f"X must have {N_FEATURES} features, got {width}"
        with pytest.raises(DataError, match=message):
            model.rows(np.ones((2, width)))
        with pytest.raises(DataError, match=message):
            model.check_width(as_rows(np.ones((2, width))))
    for bad in (np.inf, 1e300) + (() if model.missing else (np.nan,)):
        X = asked().astype(np.float64)
        X[2, 3] = bad
        with pytest.raises(DataError, match="row 2 of X has"):
            model.rows(X)


REFUSED = {
    "labels for rows": (
        None,
        lambda m, rows, known: m.label_probabilities(rows, known[:1]),
        ArgumentError,
        "y has 1 labels for the 23 rows of X",
    ),
    "label type": (
        None,
        lambda m, rows, known: m.label_probabilities(rows, [1.5] * rows.n_rows),
        LabelTypeError,
        "strings or",
    ),
    "all too large": (
        None,
        lambda m, rows, known: m.probabilities(rows, max_bytes=8 * rows.n_rows - 1),
        TooLargeError,
        "23 rows x .* labels need .* over max_bytes=183",
    ),
    "above too large": (
        Above,
        lambda m, rows, known: m.labels_above(rows, 1e-9, max_bytes=24),
        TooLargeError,
        "23 rows have more than 2 labels .*max_bytes=24",
    ),
    "best rows, k = 0": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, known, 0),
        ArgumentError,
        r"k must be an integer in \[1, n_rows=23\], got 0",
    ),
    "best rows, k > n": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, known, 24),
        ArgumentError,
        r"k must be an integer in \[1, n_rows=23\], got 24",
    ),
    "best rows, True": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, known, True),
        ArgumentError,
        r"k must be an integer in \[1, n_rows=23\], got True",
    ),
    "best rows, unknown": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, [known[1], _strange(known)], 1),
        ArgumentError,
        r"labels\[1\] must be one of the \d+ labels learned, got",
    ),
    "best rows, label type": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, [1.5], 1),
        LabelTypeError,
        "strings or",
    ),
    "best rows, one label": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, known[0], 1),
        DataError,
        "one dimension",
    ),
    "best rows, too large": (
        BestRows,
        lambda m, rows, known: m.top_rows(rows, known[:2], 2, max_bytes=127),
        TooLargeError,
        "2 rows for each of 2 labels need 128 bytes, over max_bytes=127",
    ),
    "explain, two rows": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(2), known[0]),
        ArgumentError,
        "x must be one row, got '2 rows'",
    ),
    "explain, unknown": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(1), _strange(known)),
        ArgumentError,
        r"label must be one of the \d+ labels learned, got",
    ),
    "explain, label type": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(1), 1.5),
        LabelTypeError,
        "strings or",
    ),
    "explain, -1 features": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(1), known[0], n_features=-1),
        ArgumentError,
        "n_features must be an integer >= 0, got -1",
    ),
    "explain, 1.5 features": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(1), known[0], n_features=1.5),
        ArgumentError,
        "n_features must be an integer >= 0, got 1.5",
    ),
    "explain, few names": (
        Explains,
        lambda m, rows, known: m.explain(rows.head(1), known[0], feature_names=["x"]),
        ArgumentError,
        "feature_names must be 7 names, one per feature, got '1'",
    ),
    "beam, k = 0": (
        BeamSearch,
        lambda m, rows, known: m.beam_labels(rows, 0, beam_width=3),
        ArgumentError,
        "k must be .*got 0",
    ),
    "beam, k > n": (
        BeamSearch,
        lambda m, rows, known: m.beam_labels(rows, 100, beam_width=100),
        ArgumentError,
        "k must be .*n_labels=.*got 100",
    ),
    "beam narrower than k": (
        BeamSearch,
        lambda m, rows, known: m.beam_labels(rows, 2, beam_width=1),
        ArgumentError,
        "beam_width must be an integer >= 2, got 1",
    ),
    "beam 1.5": (
        BeamSearch,
        lambda m, rows, known: m.beam_labels(rows, 1, beam_width=1.5),
        ArgumentError,
        "beam_width must be",
    ),
    "beam True": (
        BeamSearch,
        lambda m, rows, known: m.beam_labels(rows, 1, beam_width=True),
        ArgumentError,
        "beam_width must be",
    ),
}


def _strange(known):
    return "strange" if isinstance(known[0], str) else 123


@pytest.mark.parametrize("case", REFUSED)
def test_bad_questions_are_refused_and_change_nothing(case):
    capability, ask, error, message = REFUSED[case]
    able = [m for m in MADE if capability is None or capability in CAN[m.subject.model]]
    assert able
    for made in able:
        model, rows = made.model, made.model.rows(asked())
        if made.subject.model == "ExtremeModel" and case == "best rows, label type":
            continue
        before = pickle.dumps(model)
        with pytest.raises(error, match=message):
            ask(model, rows, made.known)
        assert pickle.dumps(model) == before, made


@able(Above)
def test_a_threshold_is_above_zero_and_at_most_the_largest_probability(made):
    model, rows = made.model, made.model.rows(asked())
    scale = getattr(model, "scale", 1.0)
    bad = (0, -0.1, scale * 1.1, np.nan, np.inf, "0.5", None, True, np.complex128(1))
    for threshold in bad:
        with pytest.raises(ArgumentError, match=r"threshold must be in \(0, .*\], got"):
            model.labels_above(rows, threshold)


ANNOUNCING = [made for made in MADE if made.unlearned]


@every([made for made in ANNOUNCING if made.subject.model != "FrequencyTableModel"])
def test_a_label_that_is_only_announced_has_no_best_rows(made):
    model, rows = made.model, made.model.rows(asked())
    for label in made.unlearned:
        with pytest.raises(ArgumentError, match=r"labels\[0\] must be one of the \d+ labels"):
            model.top_rows(rows, [label], 1)


@pytest.mark.parametrize("subject", ONLINE, ids=str)
def test_bad_rows_to_learn_are_refused_and_change_nothing(subject):
    X, _ = training()
    model = copied(Made(subject, "fitted").model)
    before = pickle.dumps(model)
    cases = [
        (np.ones((2, 3)), NAMES[:2], DataError, "X must have 7 features, got 3"),
        (X[:2], np.array([1, 2]), LabelTypeError, "this model's are str, got int"),
        (X[:2], np.array(["a", 3], dtype=object), LabelTypeError, "all strings or all integers"),
        (X[:2], np.array([None, "a"], dtype=object), LabelTypeError, "NoneType"),
    ]
    for rows, labels, error, message in cases:
        with pytest.raises(error, match=message):
            model.learn(as_rows(rows), labels, NO_WEIGHTS, foresee=False)
        assert pickle.dumps(model) == before


@able(Learns, FITTED)
def test_every_capability_s_method_is_there_only_if_it_answers(made):
    for capability in CAPABILITIES:
        method = next(name for name in vars(capability) if not name.startswith("_"))
        assert hasattr(made.model, method) == (capability in CAN[made.subject.model])
