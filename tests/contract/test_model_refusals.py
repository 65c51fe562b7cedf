"""The contract of every model: a bad question names what is wrong and changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.contract.questions import (
    CAPABILITIES,
    NO_WEIGHTS,
)
from tests.contract.subjects import (
    CAN,
    FITTED,
    MADE,
    N_FEATURES,
    NAMES,
    Made,
    able,
    asked,
    copied,
    every,
    of_online,
    training,
)

from labeltrees.data.labels import RaggedLabels
from labeltrees.data.rows import as_rows
from labeltrees.errors import (
    ArgumentError,
    DataError,
    LabelTypeError,
    TooLargeError,
)
from labeltrees.models.capabilities import Above, BeamSearch, BestRows, Explains, Updates


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
        if made.subject.by_itself and case == "best rows, label type":
            continue
        before = pickle.dumps(model)
        with pytest.raises(error, match=message):
            ask(model, rows, made.known)
        assert pickle.dumps(model) == before, made


@able(Above)
def test_a_threshold_is_above_zero_and_at_most_one(made):
    model, rows = made.model, made.model.rows(asked())
    bad = (0, -0.1, 1.1, np.nan, np.inf, "0.5", None, True, np.complex128(1))
    for threshold in bad:
        with pytest.raises(ArgumentError, match=r"threshold must be in \(0, 1\], got"):
            model.labels_above(rows, threshold)


ANNOUNCING = [made for made in MADE if made.unlearned]


@every(ANNOUNCING)
def test_a_label_that_is_only_announced_has_no_best_rows(made):
    model, rows = made.model, made.model.rows(asked())
    for label in made.unlearned:
        with pytest.raises(ArgumentError, match=r"labels\[0\] must be one of the \d+ labels"):
            model.top_rows(rows, [label], 1)


@of_online
def test_bad_rows_to_learn_are_refused_and_change_nothing(subject):
    X, _ = training()
    model = copied(Made(subject, "fitted").model)
    before = pickle.dumps(model)
    cases = [
        (np.ones((2, 3)), NAMES[:2], DataError, "X must have 7 features, got 3"),
        (X[:2], np.array([1, 2]), LabelTypeError, "labels of this model are str, got int"),
        (X[:2], np.array(["a", 3], dtype=object), LabelTypeError, "all strings or all integers"),
        (X[:2], np.array([None, "a"], dtype=object), LabelTypeError, "NoneType"),
    ]
    for rows, labels, error, message in cases:
        with pytest.raises(error, match=message):
            model.update(as_rows(rows), RaggedLabels.of_single(labels), NO_WEIGHTS, predict=False)
        assert pickle.dumps(model) == before


@able(Updates, FITTED)
def test_every_capability_s_method_is_there_only_if_it_answers(made):
    for capability in CAPABILITIES:
        method = next(name for name in vars(capability) if not name.startswith("_"))
        has_it = getattr(made.model, method, None) is not None
        assert has_it == (capability in CAN[made.subject.model])
