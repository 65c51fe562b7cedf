"""Every estimator in its variants, and every model that they make: what the contract holds for.

A variant is here because its model takes another way through the code: another class, another
search, a scale on its probabilities, something more in its file.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import labeltrees
from labeltrees import (
    AdacondClassifier,
    Bm25Ranker,
    ConditionalTreeClassifier,
    DismecRanker,
    ExtremeRegressor,
    FilterTreeClassifier,
    FrequencyTableClassifier,
    LabelTree,
    LeastSquaresRegressor,
    LemlRegressor,
    LOMTreeClassifier,
    MultiLabelTreeClassifier,
    OneAgainstAllClassifier,
    PfastreXmlRanker,
    ProxmlRanker,
    RankSvmRanker,
    SelfTerminatingTreeClassifier,
    XlrRanker,
)
from labeltrees.models.capabilities import (
    Above,
    BeamSearch,
    BestRows,
    Descends,
    Explains,
    HasTree,
    Samples,
    SamplesSets,
    Updates,
    can,
)
from labeltrees.models.registry import model_class

N_ROWS, N_FEATURES, N_LABELS = 240, 7, 9
NAMES = np.array([f"é{i}" for i in (4, 2, 8, 0, 6, 1, 3, 7, 5)], dtype=object)
NUMBERS = np.array([7, -3, 2**40, 0, 12, 1, 99, -(2**33), 5])
ANNOUNCED = 2**41
"""A number that is announced in ``classes`` and never learned; above all others, so that the given
tree has no leaf for it."""

DENSE = {Above, BestRows, Samples}
SCORES = {Above, BestRows}
CAN = {
    "ConditionalTreeModel": DENSE | {Explains, BeamSearch, Descends, HasTree, Updates},
    "PecocTreeModel": DENSE | {HasTree, Updates},
    "PooledTreesModel": DENSE | {Explains, HasTree, Updates},
    "RefinedTreesModel": DENSE | {Explains, BeamSearch, HasTree, Updates},
    "FilterTreeModel": DENSE | {Explains, HasTree, Updates},
    "LomTreeModel": DENSE | {Explains, Updates},
    "SelfTerminatingTreeModel": DENSE,
    "ExtremeModel": {Above, BestRows, Explains},
    "MultiLabelTreeModel": {Above, BestRows, Explains, HasTree, SamplesSets, Updates},
    "AdacondModel": DENSE,
    "OneAgainstAllModel": DENSE | {Updates},
    "FrequencyTableModel": DENSE | {Updates},
    "LeastSquaresModel": SCORES,
    "LemlModel": SCORES,
    "PfastreXmlModel": SCORES,
    "Bm25Model": SCORES,
    "DismecModel": SCORES,
    "ProxmlModel": SCORES,
    "RankSvmModel": SCORES,
    "XlrModel": SCORES,
}
"""What the model of each class can answer besides what all can, said once more."""
BY_ITSELF = {"ExtremeModel", "MultiLabelTreeModel", *(name for name in CAN if CAN[name] == SCORES)}
"""Models that give each label a probability by itself, as a row may have many."""


ON_ONE_BASE = {name for name in CAN if CAN[name] == SCORES} - {"LeastSquaresModel"}
"""Models whose states are those of a base that they share with least squares."""
THOROUGH = os.environ.get("LABELTREES_TESTS") == "thorough"


@dataclass(frozen=True)
class Subject:
    """An estimator that has learned nothing, and what is special about it."""

    name: str
    estimator: object
    model: str
    """The name of its model's class."""
    several: str = ""
    """How rows have several labels: "lists", "dicts", "matrix" or "distributions", if they do."""
    on_stream: bool = True
    """Whether, if it learns row by row, the first rows may be the beginning of a stream."""

    def __str__(self):
        return self.name

    @property
    def by_itself(self):
        """Whether probabilities are those of each label by itself."""
        return self.model in BY_ITSELF

    @property
    def learns(self):
        """Whether it learns row by row, from one label per row."""
        return self.goes_on and not model_class(self.model).takes_label_sets

    @property
    def goes_on(self):
        """Whether it learns row by row, from one label per row or from sets of them."""
        return Updates in CAN[self.model]

    def new(self):
        return clone(self.estimator)


PLAIN = {"structure": "online", "n_trees": 1, "refine": 0}
"""The parameters of one tree without experts that grows with the labels."""
TREE = ConditionalTreeClassifier(**PLAIN)
STUMP = SelfTerminatingTreeClassifier(penalty=0.5, min_gain=0)
NESTED = [[[0, 1], [2, [3, 4]]], [5, [6, [7, 8]]]]

SUBJECTS = [
    Subject("conditional", ConditionalTreeClassifier(), "RefinedTreesModel"),
    Subject(
        "refined, one tree",
        ConditionalTreeClassifier(structure="online", n_trees=1, refine=3),
        "RefinedTreesModel",
    ),
    Subject(
        "refined, two trees and novelty",
        ConditionalTreeClassifier(structure="random", n_trees=2, refine=20, novelty=True),
        "RefinedTreesModel",
        on_stream=False,
    ),
    Subject("conditional, plain", TREE, "ConditionalTreeModel"),
    Subject(
        "conditional of the paper",
        ConditionalTreeClassifier(
            balance="labels", loss="squared", optimizer="sgd", learning_rate=0.3
        ),
        "ConditionalTreeModel",
    ),
    Subject(
        "conditional, novelty",
        ConditionalTreeClassifier(**PLAIN, novelty=True),
        "ConditionalTreeModel",
    ),
    Subject(
        "conditional, given tree",
        ConditionalTreeClassifier(structure=LabelTree.from_nested(NESTED)),
        "RefinedTreesModel",
    ),
    Subject(
        "conditional, huffman",
        ConditionalTreeClassifier(structure="huffman", n_passes=2, refine=0),
        "ConditionalTreeModel",
        on_stream=False,
    ),
    Subject(
        "conditional, threads",
        ConditionalTreeClassifier(structure="random", n_jobs=2, max_memory=2**20),
        "ConditionalTreeModel",
    ),
    Subject("PECOC", ConditionalTreeClassifier(arity=4), "PecocTreeModel"),
    Subject(
        "pool",
        ConditionalTreeClassifier(structure="kmeans", n_trees=2, refine=0),
        "PooledTreesModel",
        on_stream=False,
    ),
    Subject(
        "pool of PECOC",
        ConditionalTreeClassifier(n_trees=2, arity=4),
        "PooledTreesModel",
        on_stream=False,
    ),
    Subject("filter tree", FilterTreeClassifier(), "FilterTreeModel"),
    Subject(
        "filter tree, random", FilterTreeClassifier(structure="random"), "FilterTreeModel"
    ),
    Subject("LOMtree", LOMTreeClassifier(n_passes=2), "LomTreeModel"),
    Subject(
        "LOMtree, recycled",
        LOMTreeClassifier(max_splits=4, swap_resistance=1, back_off=0.5),
        "LomTreeModel",
    ),
    Subject("self-terminating", STUMP, "SelfTerminatingTreeModel"),
    Subject(
        "self-terminating, by depth",
        SelfTerminatingTreeClassifier(penalty=[0.5, 1.0], criterion="entropy", norm="linf"),
        "SelfTerminatingTreeModel",
    ),
    Subject("self-terminating, auto", SelfTerminatingTreeClassifier(), "SelfTerminatingTreeModel"),
    Subject(
        "self-terminating, distributions",
        SelfTerminatingTreeClassifier(penalty=1.0),
        "SelfTerminatingTreeModel",
        several="distributions",
    ),
    Subject("one against all", OneAgainstAllClassifier(n_passes=2), "OneAgainstAllModel"),
    Subject("frequency table", FrequencyTableClassifier(), "FrequencyTableModel"),
    Subject("frequency table alone", FrequencyTableClassifier(back_off=0), "FrequencyTableModel"),
    Subject(
        "Adacond of stumps", AdacondClassifier(STUMP, eta=0.9, n_rounds=3), "AdacondModel"
    ),
    Subject("Adacond of trees", AdacondClassifier(TREE, eta=0.9, n_rounds=3), "AdacondModel"),
    Subject(  # its members have the labels in another order
        "Adacond, distributions",
        AdacondClassifier(TREE, eta=0.8, n_rounds=2),
        "AdacondModel",
        several="distributions",
    ),
    Subject(
        "extreme",
        ExtremeRegressor(n_trees=1, arity=3, max_leaf=4),
        "ExtremeModel",
        several="lists",
    ),
    Subject(
        "extreme, graded",
        ExtremeRegressor(n_trees=3, arity=3, max_leaf=4, calibrate=False),
        "ExtremeModel",
        several="dicts",
    ),
    Subject(
        "extreme, tail",
        ExtremeRegressor(n_trees=2, loss="hinge", relevance="propensity", tail="xreg"),
        "ExtremeModel",
        several="matrix",
    ),
    Subject("extreme, one label", ExtremeRegressor(n_trees=1, n_jobs=2), "ExtremeModel"),
    Subject("many labels", MultiLabelTreeClassifier(), "MultiLabelTreeModel", several="lists"),
    Subject(
        "many labels, no experts",
        MultiLabelTreeClassifier(structure="online", refine=0, n_jobs=2),
        "MultiLabelTreeModel",
        several="matrix",
    ),
    Subject("many labels, one each", MultiLabelTreeClassifier(refine=3), "MultiLabelTreeModel"),
    Subject("least squares", LeastSquaresRegressor(), "LeastSquaresModel", several="dicts"),
    Subject(
        "least squares, propensity",
        LeastSquaresRegressor(relevance="propensity", calibrate=False),
        "LeastSquaresModel",
        several="matrix",
    ),
    Subject("LEML", LemlRegressor(rank=5), "LemlModel", several="dicts"),
    Subject(
        "PfastreXML",
        PfastreXmlRanker(n_trees=3, max_leaf=4, cost=10, n_jobs=2),
        "PfastreXmlModel",
        several="matrix",
    ),
    Subject(
        "FastXML",
        PfastreXmlRanker(n_trees=2, relevance=None, tail_weight=1, calibrate=False),
        "PfastreXmlModel",
        several="lists",
    ),
    Subject("BM25", Bm25Ranker(), "Bm25Model", several="lists"),
    Subject("DiSMEC", DismecRanker(n_jobs=2), "DismecModel", several="lists"),
    Subject("ProXML", ProxmlRanker(), "ProxmlModel"),
    Subject("RankSVM", RankSvmRanker(max_iterations=20), "RankSvmModel", several="dicts"),
    Subject("XLR", XlrRanker(n_factors=2, n_rounds=2), "XlrModel", several="matrix"),
]  # fmt: skip
BY_NAME = {subject.name: subject for subject in SUBJECTS}
ONLINE = [subject for subject in SUBJECTS if subject.learns]
ONE_OF_EACH = list({type(s.estimator): s for s in reversed(SUBJECTS)}.values())[::-1]
"""A subject of every estimator class."""


@cache
def training():
    """Rows, half of which come again, and label ids; the last label is seen once."""
    rng = np.random.default_rng(0)
    half = N_ROWS // 2
    y = rng.integers(N_LABELS - 1, size=N_ROWS)
    y[: N_LABELS - 1] = np.arange(N_LABELS - 1)
    y[N_LABELS - 1] = N_LABELS - 1
    centres = rng.normal(size=(N_LABELS, N_FEATURES))
    X = centres[y] + 0.8 * rng.normal(size=(N_ROWS, N_FEATURES))
    X[rng.random(X.shape) < 0.4] = 0
    again = rng.integers(half, size=half)
    X[half:] = X[again]
    same = (rng.random(half) < 0.7) & (y[again] != N_LABELS - 1)
    y[half:] = np.where(same, y[again], y[half:])
    return X.astype(np.float32), y


@cache
def asked():
    """Rows to ask about: some learned, one of them twice, some new, one far off, one empty."""
    X, _ = training()
    rng = np.random.default_rng(1)
    new = rng.normal(size=(8, N_FEATURES)) * (rng.random((8, N_FEATURES)) < 0.6)
    far, empty = np.full((1, N_FEATURES), 50.0), np.zeros((1, N_FEATURES))
    return np.vstack([X[:12], X[:1], new, far, empty]).astype(np.float32)


def targets(subject, y, labels):
    """Return label ids as what the subject learns from, and what names the columns if needed."""
    if not subject.several:
        return labels[y], {}
    also = (y + 1 + np.arange(len(y)) % 2) % N_LABELS
    if subject.several in ("matrix", "distributions"):
        first, second = (0.7, 0.3) if subject.several == "distributions" else (1.0, 1.0)
        matrix = first * np.eye(N_LABELS)[y] + second * np.eye(N_LABELS)[also]
        return matrix, {"classes": labels}
    pairs = zip(labels[y].tolist(), labels[also].tolist(), strict=True)
    if subject.several == "dicts":
        return [{first: 2.0, second: 5.0} for first, second in pairs], {}
    return [[] if i % 20 == 19 else [*pair] for i, pair in enumerate(pairs)], {}


@cache
def fitted(name, labels="names"):
    """Return the estimator of a subject, fitted; it is shared: copy it before it learns more."""
    X, y = training()
    subject = BY_NAME[name]
    given, more = targets(subject, y, NAMES if labels == "names" else NUMBERS)
    return subject.new().fit(X, given, **more)


@cache
def streamed(name):
    """Return an estimator that learned numbers in pieces; in the last of them one is new."""
    X, y = training()
    subject, labels = BY_NAME[name], NUMBERS[y]
    late = y == y[N_ROWS - 1]
    first = np.flatnonzero(~late[:150])
    last = np.arange(150, N_ROWS)
    if subject.model == "PecocTreeModel" or "PECOC" in name or "given" in name:
        first = np.arange(150)  # all labels must have their leaves
    estimator = subject.new()
    if subject.on_stream:
        classes = [*NUMBERS.tolist(), ANNOUNCED]
        estimator.partial_fit(X[first], labels[first], classes=classes)
    else:
        estimator.fit(X[first], labels[first])
    for part in np.array_split(last, 3):
        estimator.partial_fit(X[part], labels[part])
    return estimator


@cache
def folder():
    """Return a folder of this process, which is there to its end."""
    path = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, path)
    return Path(path)


@cache
def saved(name, keep_state=True):
    """Return the path of a file that the fitted estimator wrote."""
    path = folder() / f"{list(BY_NAME).index(name)}-{keep_state}.safetensors"
    fitted(name).save(path, keep_state=keep_state)
    return path


WAYS = {
    "fitted": lambda name: fitted(name).model_,
    "of numbers": lambda name: fitted(name, "numbers").model_,
    "streamed": lambda name: streamed(name).model_,
    "frozen": lambda name: labeltrees.load_model(saved(name, False)),
}
"""How models of different states come about; a loaded one has the state of the fitted one."""


@dataclass(frozen=True)
class Made:
    """A model and how it came about."""

    subject: Subject
    way: str

    def __str__(self):
        return f"{self.subject}, {self.way}"

    @property
    def model(self):
        """The model; it is shared: copy it before it learns more."""
        return _made(self.subject.name, self.way)

    @property
    def unlearned(self):
        """The labels that are announced and not learned."""
        knows_all = ("OneAgainstAllModel", "PecocTreeModel", "FilterTreeModel")
        known = self.subject.model in knows_all or self.way != "streamed"
        return [] if known or not self.subject.on_stream else [ANNOUNCED]

    @property
    def known(self):
        """The labels that can be asked for."""
        labels = self.model.vocabulary.labels.tolist()
        return [label for label in labels if label not in self.unlearned]

    def can(self, capability):
        return can(self.model, capability)


@cache
def _made(name, way):
    return WAYS[way](name)


MADE = [
    Made(subject, way)
    for subject in SUBJECTS
    for way in WAYS
    if way != ("streamed" if not subject.learns else "of numbers")
    and (way == "fitted" or subject.model not in ON_ONE_BASE or THOROUGH)
]
FITTED = [made for made in MADE if made.way == "fitted"]


def copied(model):
    """Return a copy that may learn."""
    return pickle.loads(pickle.dumps(model))


of_each = pytest.mark.parametrize("subject", ONE_OF_EACH, ids=str)
of_all = pytest.mark.parametrize("subject", SUBJECTS, ids=str)
of_online = pytest.mark.parametrize("subject", ONLINE, ids=str)


def every(made):
    """Parametrise with these models."""
    return pytest.mark.parametrize("made", made, ids=str)


def able(capability, among=MADE):
    return every([made for made in among if capability in CAN[made.subject.model]])


def learners(estimator):
    """Return the methods by which an estimator learns."""
    return [getattr(estimator, m) for m in ("fit", "partial_fit") if hasattr(estimator, m)]
