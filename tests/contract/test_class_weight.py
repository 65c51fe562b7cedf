"""The contract of every classifier: `class_weight` is a sample weight, and `verbose` shows a bar.

Weights -> partial_fit -> files -> refusals -> progress.
"""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight
from tests.contract.subjects import (
    BY_NAME,
    NAMES,
    NUMBERS,
    ONE_OF_EACH,
    PLAIN,
    SUBJECTS,
    asked,
    fitted,
    of_online,
    targets,
    training,
)

import labeltrees
from labeltrees import ConditionalTreeClassifier, ExtremeRegressor
from labeltrees.errors import ArgumentError

CLASSIFIERS = [s for s in SUBJECTS if not s.several and not s.by_itself]
of_classifiers = pytest.mark.parametrize("subject", CLASSIFIERS, ids=str)


def imbalanced():
    X, y = training()
    kept = (y != 2) | (np.arange(len(y)) % 5 == 0)
    return X[kept], NAMES[y[kept]]


@of_classifiers
def test_balanced_is_the_sample_weight_that_scikit_learn_computes(subject):
    X, labels = imbalanced()
    weights = compute_sample_weight("balanced", labels.astype(str))
    ours = subject.new().set_params(class_weight="balanced").fit(X, labels)
    theirs = subject.new().fit(X, labels, sample_weight=weights)
    assert np.array_equal(ours.predict_proba(asked()), theirs.predict_proba(asked()))
    plain = subject.new().fit(X, labels).predict_proba(asked())
    assert not np.array_equal(plain, theirs.predict_proba(asked()))


@of_classifiers
def test_a_dict_multiplies_the_rows_own_weights(subject):
    X, labels = imbalanced()
    own = np.array([0.5, 1.0, 2.0])[np.arange(len(X)) % 3]
    weights = np.where(labels == NAMES[1], 3 * own, np.where(labels == NAMES[4], 0, own))
    given = {NAMES[1]: 3, NAMES[4]: 0.0, "a label that does not come": 7}
    ours = subject.new().set_params(class_weight=given)
    if "given" in subject.name:  # whose tree has a leaf for every label
        return
    ours.fit(X, labels, sample_weight=own)
    theirs = subject.new().fit(X, labels, sample_weight=weights)
    assert NAMES[4] not in ours.classes_
    assert np.array_equal(ours.predict_proba(asked()), theirs.predict_proba(asked()))


def test_rows_of_weight_zero_do_not_count_for_balance():
    X, labels = imbalanced()
    own = np.ones(len(X))
    own[::3] = 0
    kept = own > 0
    ours = ConditionalTreeClassifier(**PLAIN, class_weight="balanced", shuffle=False)
    theirs = labeltrees.FrequencyTableClassifier(class_weight="balanced")
    for model in (ours, theirs):
        p = model.fit(X, labels, sample_weight=own).predict_proba(asked())
        without = model.fit(X[kept], labels[kept]).predict_proba(asked())
        assert p == pytest.approx(without, abs=1e-6)


@of_online
def test_partial_fit_takes_a_dict_and_refuses_balance(subject):
    if not subject.on_stream:
        return
    X, y = training()
    labels, weights = NUMBERS[y], {7: 2.0, -3: 0.5}
    classes = {"classes": NUMBERS}
    own = np.array([weights.get(int(label), 1.0) for label in labels])
    ours = subject.new().set_params(class_weight=weights).partial_fit(X, labels, **classes)
    theirs = subject.new().partial_fit(X, labels, **classes, sample_weight=own)
    for estimator, more in ((ours, {}), (theirs, {"sample_weight": own[:20]})):
        estimator.partial_fit(X[:20], labels[:20], **more)
    assert np.array_equal(ours.predict_proba(asked()), theirs.predict_proba(asked()))
    with pytest.raises(ArgumentError, match="class_weight must be None or a dict for partial_fit"):
        subject.new().set_params(class_weight="balanced").partial_fit(X, labels, **classes)


@pytest.mark.parametrize("subject", [s for s in ONE_OF_EACH if s in CLASSIFIERS], ids=str)
def test_label_weights_come_back_from_a_file(subject, tmp_path):
    X, y = training()
    for labels, weights in ((NAMES[y], {NAMES[0]: 2.5}), (NUMBERS[y], {7: 2.0, 2**40: 1.0})):
        subject.new().set_params(class_weight=weights).fit(X, labels).save(tmp_path / "m")
        assert labeltrees.load(tmp_path / "m").class_weight == weights


def test_what_class_weight_cannot_do_is_refused():
    X, y = training()
    for name in ("self-terminating, distributions", "Adacond, distributions"):
        P, more = targets(BY_NAME[name], y, NAMES)
        model = BY_NAME[name].new().set_params(class_weight="balanced")
        with pytest.raises(ArgumentError, match="class_weight must be None where y has distrib"):
            model.fit(X, P, **more)
    nothing = ConditionalTreeClassifier(class_weight=dict.fromkeys(NAMES, 0.0))
    with pytest.raises(
        ArgumentError, match="class_weight must be above zero for at least one label of y"
    ):
        nothing.fit(X, NAMES[y])


# Progress.


class Terminal(io.StringIO):
    def isatty(self):
        return True


SHOWING = [s for s in ONE_OF_EACH if "verbose" in s.estimator.get_params()]


@pytest.mark.parametrize("subject", [*SHOWING, BY_NAME["pool"]], ids=str)
def test_verbose_shows_one_bar_on_a_terminal_and_nothing_in_a_pipe(subject, monkeypatch, capsys):
    X, y = training()
    given, more = targets(subject, y, NAMES)
    loud = subject.new().set_params(verbose=1)
    loud.fit(X, given, **more)
    assert capsys.readouterr() == ("", "")  # no terminal
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    subject.new().fit(X, given, **more)
    assert terminal.getvalue() == ""  # silent by default
    loud.fit(X, given, **more)
    said = terminal.getvalue()
    assert any(word in said for word in ("learning", "trees", "rounds"))
    assert said.count("\n") <= 2  # one bar, redrawn in its place
    expected = fitted(subject.name).predict_proba(asked())
    assert np.array_equal(loud.predict_proba(asked()), expected)  # watching changes nothing
    assert capsys.readouterr().out == ""


def test_what_is_verbose():
    shown = {type(subject.estimator).__name__ for subject in SHOWING}
    assert shown == {
        "ConditionalTreeClassifier",
        "FilterTreeClassifier",
        "MultiLabelTreeClassifier",
        "LOMTreeClassifier",
        "OneAgainstAllClassifier",
        "AdacondClassifier",
        ExtremeRegressor.__name__,
    }
