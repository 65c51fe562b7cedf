"""Forged transformers in model files, with right checksums: refused, or they answer soundly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from tests.hostile.damages import DEEP, array_damages, fact_damages, fact_places

import labeltrees
from labeltrees import ConditionalTreeClassifier, TextClassifier, store
from labeltrees.errors import LabelTreesError, ModelFormatError
from labeltrees.estimators import estimator_from
from labeltrees.models.registry import model_from

TEXTS = ["the sun is out", "rain, and a cold wind", "sun sun sun", "more rain é"] * 6
LABELS = ["dry", "wet", "dry", "wet"] * 6
NUMBERS = np.random.default_rng(0).normal(size=(24, 3)) * [1, 1e3, 1e-3]
TREE = ConditionalTreeClassifier(structure="online", n_trees=1, refine=0)
OF_TEXT = {
    "words and pairs": TextClassifier(TREE),
    "tfidf": TextClassifier(TREE, TfidfVectorizer(stop_words=["the"], dtype=np.float32)),
    "given words": TextClassifier(TREE, CountVectorizer(vocabulary=["sun", "rain", "wind"])),
    "hashing": TextClassifier(TREE, HashingVectorizer(n_features=64)),
    "steps": TextClassifier(TREE, make_pipeline(CountVectorizer(), TfidfTransformer())),
    "union": TextClassifier(
        TREE,
        FeatureUnion(
            [("a", CountVectorizer()), ("b", "drop"), ("c", HashingVectorizer(n_features=9))],
            transformer_weights={"a": 2.0},
        ),
    ),
    "pipeline": make_pipeline(CountVectorizer(), MaxAbsScaler(), TREE),
}
OF_NUMBERS = {
    "standard": make_pipeline(StandardScaler(), TREE),
    "min max, robust": make_pipeline(MinMaxScaler(), RobustScaler(), "passthrough", TREE),
}
NAMES = [*OF_TEXT, *OF_NUMBERS]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*:RuntimeWarning"),  # numbers past all measure
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),
]


@cache
def stored(name, folder):
    """Return what a file of this kind holds; it is shared: change copies."""
    if name in OF_TEXT:
        model = OF_TEXT[name].fit(TEXTS, LABELS)
    else:
        model = OF_NUMBERS[name].fit(NUMBERS, LABELS)
    labeltrees.save(model, folder / name)
    return store.read(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def fault_of(name, file):
    """Return what is wrong with what a file makes, "" if it is refused or sound."""
    try:
        estimator = estimator_from(file)
    except ModelFormatError:
        return ""
    except Exception as error:
        return f"loading raised {error!r}"
    asked = ["sun and rain", "", "nothing known"] if name in OF_TEXT else NUMBERS[:3]
    try:
        p = estimator.predict_proba(asked)
    except LabelTreesError:
        return ""
    except Exception as error:
        return f"asking raised {error!r}"
    sound = np.isfinite(p).all() and np.allclose(p.sum(axis=1), 1)
    if isinstance(estimator, TextClassifier):
        assert estimator.explain("sun and rain", "dry").to_text()
    return "" if sound else f"probabilities are {p}"


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_file_is_sound(name, folder):
    file = stored(name, folder)
    assert any(tensor.startswith(store.TRANSFORM) for tensor in file.tensors) or name == "hashing"
    assert fault_of(name, file) == ""
    estimator_from(file)
    # The model alone does not look at what is in front of it.
    assert model_from(replace(file, transform={"transformer": 3})).n_features > 0


@pytest.mark.parametrize("name", NAMES)
def test_every_damaged_tensor_is_refused_or_harmless(name, folder):
    sound = stored(name, folder)
    faults = []
    for tensor, array in sound.tensors.items():
        if not tensor.startswith(store.TRANSFORM):
            continue
        for damage, damaged in array_damages(array):
            tensors = sound.tensors | {tensor: np.array(damaged)}
            if fault := fault_of(name, replace(sound, tensors=tensors)):
                faults.append(f"{tensor}, {damage}: {fault}")
        without = {other: a for other, a in sound.tensors.items() if other != tensor}
        if fault := fault_of(name, replace(sound, tensors=without)):
            faults.append(f"{tensor} missing: {fault}")
    assert faults == []


@pytest.mark.parametrize("name", NAMES)
def test_every_damaged_fact_is_refused_or_harmless(name, folder):
    sound = stored(name, folder)
    faults = []
    for place in fact_places(sound.transform):
        for damage, facts in fact_damages(sound.transform, place):
            if fault := fault_of(name, replace(sound, transform=facts)):
                faults.append(f"{damage}: {fault}")
    assert faults == []


@pytest.mark.parametrize("name", NAMES)
def test_every_missing_fact_is_refused_or_harmless(name, folder):
    sound = stored(name, folder)
    for place in fact_places(sound.transform):
        if isinstance(place[-1], int):
            continue
        facts = without_fact(sound.transform, place)
        assert fault_of(name, replace(sound, transform=facts)) == "", place


def without_fact(facts, place):
    first, *rest = place
    if not rest:
        return {name: value for name, value in facts.items() if name != first}
    if isinstance(facts, list):
        return [without_fact(v, rest) if i == first else v for i, v in enumerate(facts)]
    return facts | {first: without_fact(facts[first], rest)}


PATTERNS = ["(", "(a)(b)", "a" * 2000, "[", "(?P<x>a", "*", "\\", 3, ["a"], "(?z)a"]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: str(pattern)[:10])
def test_a_pattern_that_is_none_is_refused(pattern, folder):
    sound = stored("words and pairs", folder)
    transformer = sound.transform["transformer"]
    params = transformer["params"] | {"token_pattern": pattern}
    forged = {"transformer": transformer | {"params": params}}
    with pytest.raises(ModelFormatError, match="token_pattern"):
        estimator_from(replace(sound, transform=forged))


def test_a_transformer_of_another_width_is_refused(folder):
    words, hashed = stored("tfidf", folder), stored("hashing", folder)
    with pytest.raises(ModelFormatError, match=r"makes 64 features, but the model takes \d+"):
        estimator_from(replace(words, transform=hashed.transform))


@pytest.mark.parametrize("forged", [3, [], "x", None, True])
def test_a_transform_that_is_no_object_is_refused_or_none(forged, folder, tmp_path):
    store.write(tmp_path / "m", replace(stored("hashing", folder), transform=forged))
    if forged is None:
        assert isinstance(labeltrees.load(tmp_path / "m"), ConditionalTreeClassifier)
        return
    with pytest.raises(ModelFormatError, match="damaged"):
        labeltrees.load(tmp_path / "m")


def test_endless_lists_are_refused(folder):
    sound = stored("steps", folder)
    nested = sound.transform["transformer"]
    for _ in range(500):
        nested = {"kind": "Pipeline", "parts": [{"name": "a", "transformer": nested}]}
    for forged in ({"transformer": nested}, {"transformer": {"kind": "Pipeline", "parts": DEEP}}):
        with pytest.raises(ModelFormatError):
            estimator_from(replace(sound, transform=forged))
