"""A small file of every kind that the library writes: what the damage is done to."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

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
from labeltrees.store import StoredModel

if TYPE_CHECKING:
    from labeltrees.models.model import FittedModel

N_ROWS, N_FEATURES, N_LABELS = 40, 6, 5
PLAIN = {"structure": "online", "n_trees": 1, "refine": 0}
TREE = ConditionalTreeClassifier(**PLAIN)
STUMP = SelfTerminatingTreeClassifier(penalty=0.2, min_gain=0)

ESTIMATORS = {
    "conditional": TREE,
    "conditional, novelty": ConditionalTreeClassifier(**PLAIN, novelty=True),
    "conditional, max_memory": ConditionalTreeClassifier(max_memory=2**20, loss="squared"),
    "conditional, given tree": ConditionalTreeClassifier(
        structure=LabelTree.from_nested([[0, 1], [2, [3, 4]]]), refine=0
    ),
    "conditional, nested lists": ConditionalTreeClassifier(
        structure=[["a0", "a1"], ["a2", ["a3", "a4"]]], refine=0
    ),
    "refined": ConditionalTreeClassifier(structure="online", n_trees=1, refine=3),
    "refined, two trees": ConditionalTreeClassifier(
        structure="kmeans", n_trees=2, refine=20, novelty=True
    ),
    "PECOC": ConditionalTreeClassifier(arity=4),
    "pool": ConditionalTreeClassifier(structure="random", n_trees=2, refine=0),
    "pool of PECOC": ConditionalTreeClassifier(n_trees=2, arity=4),
    "filter tree": FilterTreeClassifier(n_passes=1),
    "LOMtree": LOMTreeClassifier(n_passes=2),
    "LOMtree, recycled": LOMTreeClassifier(max_splits=2, swap_resistance=1, back_off=0),
    "self-terminating": STUMP,
    "one against all": OneAgainstAllClassifier(n_passes=1),
    "frequency table": FrequencyTableClassifier(),
    "frequency table alone": FrequencyTableClassifier(back_off=0),
    "Adacond of stumps": AdacondClassifier(STUMP, eta=0.9, n_rounds=2),
    "Adacond of trees": AdacondClassifier(TREE, eta=0.9, n_rounds=2),
    "extreme": ExtremeRegressor(n_trees=1, arity=2, max_leaf=2),
    "extreme, tail": ExtremeRegressor(
        n_trees=2, loss="hinge", relevance="propensity", tail="xreg", arity=2, max_leaf=2
    ),
    "many labels": MultiLabelTreeClassifier(structure="online", refine=3, n_passes=1),
    "many labels, no experts": MultiLabelTreeClassifier(refine=0, max_memory=2**22),
    "least squares": LeastSquaresRegressor(relevance="propensity"),
    "LEML": LemlRegressor(rank=2),
    "PfastreXML": PfastreXmlRanker(n_trees=2, max_leaf=4, cost=10),
    "BM25": Bm25Ranker(),
    "DiSMEC": DismecRanker(),
    "ProXML": ProxmlRanker(calibrate=False),
    "RankSVM": RankSvmRanker(max_iterations=5),
    "XLR": XlrRanker(n_factors=2, n_rounds=1),
}
FROZEN = [
    "conditional", "conditional, novelty", "refined", "refined, two trees", "PECOC", "pool",
    "filter tree", "LOMtree",
    "one against all", "frequency table", "Adacond of trees", "many labels",
]  # fmt: skip
WITH_OWN_SETTINGS = [
    "conditional", "conditional, nested lists", "refined", "filter tree", "LOMtree",
    "self-terminating", "one against all", "frequency table", "Adacond of stumps", "extreme, tail",
    "many labels", "least squares", "LEML", "PfastreXML", "BM25", "DiSMEC", "ProXML", "RankSVM",
    "XLR",
]  # fmt: skip
"""Files whose settings the others repeat."""
NAMES = [*ESTIMATORS, *(f"{name}, frozen" for name in FROZEN)]
"""Every kind of file."""


@cache
def stored(name: str) -> StoredModel:
    """Return what a file of this kind holds; it is shared: change copies."""
    frozen = name.endswith(", frozen")
    model = _fitted(name.removesuffix(", frozen"))
    tensors, facts = model.to_tensors(keep_state=not frozen)
    return StoredModel(type(model).__name__, facts, tensors)


@cache
def _fitted(kind: str) -> FittedModel:
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % N_LABELS
    X = rng.normal(size=(N_LABELS, N_FEATURES))[y] + 0.5 * rng.normal(size=(N_ROWS, N_FEATURES))
    X[rng.random(X.shape) < 0.4] = 0
    named = "given" not in kind and "one against" not in kind
    labels: Any = np.array([f"a{i}" for i in range(N_LABELS)], dtype=object)[y] if named else y
    return clone(ESTIMATORS[kind]).fit(X.astype(np.float32), labels).model_


@cache
def seen_before(name: str) -> frozenset[str]:
    """Return the tensors of a file that an earlier kind of file, or an earlier member, has too."""
    earlier: set[tuple[str, str]] = set()
    for other in NAMES:
        again = set()
        for tensor in sorted(stored(other).tensors):
            kind = (
                _kind_of(stored(other), tensor),
                re.sub(r"^(members\.)?(tree)?\d+\.", "", tensor),
            )
            if kind in earlier:
                again.add(tensor)
            earlier.add(kind)
        if other == name:
            return frozenset(again)
    raise KeyError(name)


def _kind_of(file: StoredModel, tensor: str) -> str:
    """Return the class of the model, or of its member, that a tensor belongs to."""
    member = re.match(r"(?:members\.)?(\d+)\.", tensor)
    if file.model == "RefinedTreesModel":
        return "ConditionalTreeModel" if member else file.model
    model = file.facts["members"][int(member[1])]["model"] if member else file.model
    return model.replace("FilterTree", "ConditionalTree")  # restored by the same code
