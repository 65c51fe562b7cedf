"""The contract of what learns row by row: labels come in any order, columns are sorted.

Columns and trees -> scikit-learn's metrics after `partial_fit` -> files.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from tests.contract.subjects import NAMES, NUMBERS, ONLINE, asked, of_online, training

import labeltrees
from labeltrees import ConditionalTreeClassifier, FilterTreeClassifier, LabelTree
from labeltrees.models.capabilities import Updates


def in_odd_order(subject, names=NAMES):
    """Return an estimator to which the last label came first, and the first one last."""
    X, y = training()
    labels = names[y]
    firsts = [int(np.flatnonzero(labels == name)[0]) for name in sorted(names, reverse=True)]
    order = np.concatenate([firsts, np.arange(len(y))])
    estimator = subject.new()
    if subject.on_stream:
        first = {"classes": sorted(names, reverse=True)} if needs_classes(subject) else {}
        for part in np.array_split(order, 10):
            estimator.partial_fit(X[part], labels[part], **first)
            first = {}
        return estimator
    some = labels > sorted(names)[2]
    if "PECOC" in subject.name:
        some[:] = True  # its tree does not grow
    return estimator.fit(X[some], labels[some]).partial_fit(X[order], labels[order])


def needs_classes(subject):
    return "given" in subject.name or subject.model == "PecocTreeModel"


@of_online
@pytest.mark.parametrize("names", [NAMES, NUMBERS], ids=["names", "numbers"])
def test_columns_are_sorted_and_the_model_keeps_the_order_of_arrival(subject, names):
    estimator = in_odd_order(subject, names)
    model, X = estimator.model_, asked()
    ids = model.vocabulary.ids(estimator.classes_)
    assert estimator.classes_.tolist() == sorted(names.tolist())
    assert np.array_equal(estimator.predict_proba(X), model.probabilities(model.rows(X))[:, ids])
    for column, label in enumerate(estimator.classes_):
        named = estimator.predict_label_proba(X, [label] * len(X))
        assert named == pytest.approx(estimator.predict_proba(X)[:, column], abs=1e-12)
    p = estimator.predict_proba(X)
    above = estimator.predict_above(X, 0.1)
    assert above.has_sorted_indices
    assert np.array_equal(above.toarray(), np.where(p >= 0.1, p, 0))
    if subject.on_stream and not needs_classes(subject):
        assert model.vocabulary.labels.tolist() == sorted(names.tolist(), reverse=True)


@of_online
def test_labels_that_come_later_take_their_sorted_places(subject):
    if needs_classes(subject) or "PECOC" in subject.name:
        return
    estimator = in_odd_order(subject)
    kept = estimator.classes_
    estimator.partial_fit(asked()[:2], ["a first label", "é40"])
    assert estimator.classes_.tolist() == sorted([*NAMES, "a first label", "é40"])
    assert kept.tolist() == sorted(NAMES)  # what was handed out does not change
    p = estimator.predict_proba(asked())
    for place, label in enumerate(estimator.classes_):
        named = estimator.predict_label_proba(asked(), [label] * len(p))
        assert named == pytest.approx(p[:, place], abs=1e-12)


@of_online
def test_the_leaves_of_the_tree_are_places_in_classes(subject):
    estimator = in_odd_order(subject)
    if not hasattr(estimator, "tree_"):
        return
    ours, own = estimator.tree_, estimator.model_.tree
    assert np.array_equal(ours.parent, own.parent)
    leaves = own.label >= 0
    assert np.array_equal(ours.label >= 0, leaves)
    named = estimator.model_.vocabulary.labels[own.label[leaves]]
    assert np.array_equal(estimator.classes_[ours.label[leaves]], named)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_tree_given_as_structure_has_places_in_classes_too(learn):
    X, y = training()
    tree = LabelTree.from_nested([[0, 1], [2, [3, [4, [5, [6, [7, 8]]]]]]])
    model = ConditionalTreeClassifier(structure=tree, n_trees=1)
    more = {"classes": sorted(NAMES, reverse=True)} if learn == "partial_fit" else {}
    getattr(model, learn)(X, NAMES[y], **more)
    assert model.tree_ == tree
    again = ConditionalTreeClassifier(structure=model.tree_, n_trees=1).fit(X, NAMES[y])
    assert again.tree_ == tree


def test_a_tree_taken_from_a_stream_can_be_given_to_fit():
    X, y = training()
    grown = ConditionalTreeClassifier().partial_fit(X[::-1], NAMES[y][::-1])
    again = ConditionalTreeClassifier(structure=grown.tree_).fit(X, NAMES[y])
    assert again.tree_ == grown.tree_
    deep = FilterTreeClassifier().partial_fit(X[::-1], NAMES[y][::-1], classes=NAMES)
    assert sorted(deep.tree_.label[deep.tree_.label >= 0].tolist()) == list(range(len(NAMES)))


# scikit-learn's metrics.


@of_online
@pytest.mark.parametrize("names", [NAMES, NUMBERS], ids=["names", "numbers"])
def test_metrics_of_scikit_learn_agree_with_the_labels_own_probabilities(subject, names):
    X, y = training()
    estimator, labels = in_odd_order(subject, names), names[y]
    whole = estimator.predict_proba(X)
    sums = whole.sum(axis=1)
    p = whole / sums[:, np.newaxis]  # novelty keeps some for labels to come
    own = estimator.predict_label_proba(X, labels) / sums
    loss = -np.log(np.clip(own, np.finfo(float).eps, 1)).mean()
    plain = labels.astype(str) if names is NAMES else labels
    assert log_loss(plain, p) == pytest.approx(loss, rel=1e-6)
    areas = [
        roc_auc_score(labels == name, estimator.predict_label_proba(X, [name] * len(X)) / sums)
        for name in sorted(names)
    ]
    area = roc_auc_score(plain, p, multi_class="ovr")
    assert area == pytest.approx(np.mean(areas), abs=1e-9)
    if not estimator.get_params().get("novelty", False):
        assert get_scorer("neg_log_loss")(estimator, X, plain) == pytest.approx(-loss, rel=1e-6)
        assert get_scorer("roc_auc_ovr")(estimator, X, plain) == pytest.approx(
            area, abs=0.01
        )  # ties


@pytest.mark.parametrize("subject", [s for s in ONLINE if s.on_stream][::4], ids=str)
def test_cross_validation_and_calibration_of_probabilities(subject):
    X, y = training()
    kept = y < 6
    X, labels = X[kept], NAMES[y[kept]].astype(str)
    losses = cross_val_score(ConditionalTreeClassifier(), X, labels, scoring="neg_log_loss", cv=3)
    assert (losses > -np.log(6)).all()  # better than saying one sixth
    estimator = subject.new()
    first = {"classes": sorted(set(labels), reverse=True)} if needs_classes(subject) else {}
    if "given" in subject.name:
        estimator.set_params(structure=LabelTree.balanced(6))
    estimator.partial_fit(X[::-1], labels[::-1], **first)
    calibrated = CalibratedClassifierCV(FrozenEstimator(estimator)).fit(X, labels)
    assert calibrated.classes_.tolist() == sorted(set(labels))
    assert calibrated.score(X, labels) > 0.5


# Files.


@of_online
def test_a_loaded_estimator_has_the_same_columns(subject, tmp_path):
    estimator = in_odd_order(subject)
    estimator.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert again.classes_.tolist() == estimator.classes_.tolist()
    assert np.array_equal(again.predict_proba(asked()), estimator.predict_proba(asked()))
    assert all(isinstance(each, Updates) for each in (again.model_, estimator.model_))
