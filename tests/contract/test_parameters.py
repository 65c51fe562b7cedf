"""The contract of every estimator: its parameters are its settings, each refused by its name."""

from __future__ import annotations

import inspect
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from tests.contract.parameters import declared, right_values, wrong_values
from tests.contract.questions import differing, every_answer
from tests.contract.subjects import (
    BY_NAME,
    NAMES,
    ONE_OF_EACH,
    SUBJECTS,
    TREE,
    asked,
    fitted,
    learners,
    of_all,
    of_each,
    targets,
    training,
)

import labeltrees
from labeltrees.errors import (
    ArgumentError,
)
from labeltrees.models.settings import RandomState

OUTSIDE_SETTINGS = {"AdacondClassifier": {"base": None}}
"""Parameters that are no setting, with their defaults: a base is known by its models."""


def settings_class(subject):
    return type(subject.estimator)._model_class.settings_class


@of_each
def test_parameters_and_defaults_are_those_of_the_settings(subject):
    kind = type(subject.estimator)
    signature = inspect.signature(kind.__init__).parameters
    given = {name: each.default for name, each in signature.items() if name != "self"}
    expected = {name: default for name, default, _ in declared(settings_class(subject))}
    assert given == expected | OUTSIDE_SETTINGS.get(kind.__name__, {})
    assert kind().get_params(deep=False) == given
    named_only = [name for name, each in signature.items() if each.kind is each.KEYWORD_ONLY]
    assert set(named_only) == set(expected)


BESIDES = {
    "norm": ["l2"],
    "base": ["tree", TREE.__class__, KNeighborsClassifier()],
    "penalty": [lambda depth: -depth, lambda depth: None],
}
"""Wrong values that only an estimator is given."""
WRONG = [
    pytest.param(subject, name, wrong_values(name, check), id=f"{subject}-{name}")
    for subject in ONE_OF_EACH
    for name, _, check in declared(settings_class(subject))
]


@pytest.mark.parametrize(
    ("subject", "name", "values"), [*WRONG, (BY_NAME["Adacond of stumps"], "base", [])]
)
def test_a_wrong_parameter_is_refused_by_name_and_nothing_is_learned(subject, name, values):
    X, y = [[1.0], [2.0]], [0, 1]
    for value in [*values, *BESIDES.get(name, [])]:
        estimator = type(subject.estimator)(**{name: value})
        for learn in learners(estimator):
            with pytest.raises(ArgumentError, match=f"^{name} must be .*, got "):
                learn(X, y)
        assert vars(estimator).keys() == estimator.get_params(deep=False).keys()
        with pytest.raises(NotFittedError):
            estimator.predict(X)


@of_all
def test_a_fit_that_is_refused_changes_nothing(subject):
    X, y = training()
    given, more = targets(subject, y, NAMES)
    estimator = pickle.loads(pickle.dumps(fitted(subject.name)))
    model, before = estimator.model_, pickle.dumps(estimator.model_)
    for name, _, check in declared(settings_class(subject)):
        kept = estimator.get_params(deep=False)[name]
        with pytest.raises(ArgumentError, match=f"^{name} must be"):
            estimator.set_params(**{name: wrong_values(name, check)[0]}).fit(X, given, **more)
        estimator.set_params(**{name: kept})
        assert estimator.model_ is model
    assert pickle.dumps(model) == before


@of_each
def test_the_ends_of_every_range_are_taken(subject):
    for name, _, check in declared(settings_class(subject)):
        for value in right_values(name, check):
            estimator = type(subject.estimator)(**{name: value})
            estimator.check_parameters()
            assert estimator.get_params()[name] is value  # as it was given


@of_each
def test_every_setting_comes_back_from_json(subject):
    kind = settings_class(subject)
    for name, default, check in declared(kind):
        stored = [value for value in right_values(name, check) if not callable(value)]
        assert name == "norm" or any(value != default for value in stored), name
        for value in stored:
            settings = kind(**{name: value})
            again = kind.from_dict(json.loads(json.dumps(settings.to_dict())))
            assert again == settings
            assert getattr(again, name) == value, name


@of_each
def test_none_and_a_random_state_give_a_seed_that_is_kept(subject, tmp_path):
    kinds = {name: check for name, _, check in declared(settings_class(subject))}
    if not isinstance(kinds.get("random_state"), RandomState):
        return
    X, y = training()
    given, more = targets(subject, y, NAMES)
    for state in (None, np.random.RandomState(3)):
        estimator = subject.new().set_params(random_state=state).fit(X, given, **more)
        assert estimator.random_state is state
        estimator.save(tmp_path / "m")
        again = labeltrees.load(tmp_path / "m")
        assert again.random_state == estimator.model_.settings.random_state
        assert 0 <= again.random_state < 2**31
    seeds = [np.random.RandomState(5), np.random.RandomState(5)]
    ours, theirs = (
        subject.new().set_params(random_state=each).fit(X, given, **more) for each in seeds
    )
    assert np.array_equal(ours.predict_proba(asked()), theirs.predict_proba(asked()))


@of_all
def test_cloning_and_setting_parameters(subject):
    estimator = fitted(subject.name)
    fresh = clone(estimator)
    assert repr(fresh.get_params()) == repr(estimator.get_params())
    assert not hasattr(fresh, "model_")
    assert not hasattr(fresh, "classes_")
    assert fresh.set_params(**estimator.get_params(deep=False)) is fresh
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        fresh.set_params(colour="green")


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if "n_jobs" in s.estimator.get_params(deep=False)], ids=str
)
def test_n_jobs_takes_effect_at_once_and_changes_no_answer(subject):
    estimator = pickle.loads(pickle.dumps(fitted(subject.name)))
    model = estimator.model_
    expected = every_answer(model, asked())
    for n_jobs in (3, -1, None):
        estimator.set_params(n_jobs=n_jobs)
        assert estimator.model_ is model
        assert model.settings.n_jobs == n_jobs
        assert differing(every_answer(model, asked()), expected) == []
    for member in getattr(model, "members", []):
        assert member.settings.n_jobs is None
    with pytest.raises(ArgumentError, match="n_jobs must be"):
        estimator.set_params(n_jobs=0)
