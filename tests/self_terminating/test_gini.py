"""The Gini route of self-terminating trees: splits by squared error in place of log loss.

Worked example -> optimality by duality -> agreement with the reference and scikit-learn ->
invariants -> errors.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from tests.references.gini import ReferenceGiniTree, gini_posterior
from tests.self_terminating.test_branch import random_problem
from tests.self_terminating.test_classifier import blobs, problems

import labeltrees
from labeltrees import SelfTerminatingTreeClassifier
from labeltrees.data.rows import as_rows
from labeltrees.errors import ArgumentError
from labeltrees.models.self_terminating.branch import solve_branch, solve_siblings
from labeltrees.models.self_terminating.settings import SelfTerminatingSettings
from labeltrees.models.self_terminating.training import (
    PenaltyTrial,
    Targets,
    bin_rows,
    choose_growth,
    grow_core,
    held_out_losses,
    smallest_good,
)


def test_three_labels_by_hand():
    # q - u = .4, -.1, -.3. above: .4 - .1 = .3; below: .3 - .1 = .2, more than the .1 that comes
    # next. alpha = p - u + (.2 - .3) / 2.
    solved = solve_branch([0.8, 0.2, 0.0], [0.4, 0.3, 0.3], 0.2, criterion="gini")
    assert solved.p == pytest.approx([0.7, 0.2, 0.1], abs=1e-15)
    assert solved.theta == pytest.approx(0.25, abs=1e-15)
    assert solved.alpha == pytest.approx([0.25, -0.15, -0.25], abs=1e-15)
    assert solved.gain == pytest.approx((0.09 + 0.01 + 0.04) / 2, abs=1e-15)


def test_a_label_may_lose_all_its_probability():
    solved = solve_branch([1.0, 0.0, 0.0], [0.2, 0.7, 0.1], 0.2, criterion="gini")
    assert solved.p == pytest.approx([0.9, 0.1, 0.0], abs=1e-15)


def test_a_thousand_problems_have_no_duality_gap():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        q, u, penalty = random_problem(rng)
        solved = solve_branch(q, u, penalty, criterion="gini")
        moved = u + solved.alpha - solved.alpha.mean()
        assert np.abs(solved.alpha).max() <= solved.theta + 1e-12
        # Every feasible p gives a lower bound of the primal, so equal values are both optimal.
        p = solved.p
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(q - p).sum() <= penalty + 1e-12 or solved.terminated
        primal = ((q - moved) ** 2).sum() / 2 + penalty * solved.theta
        dual = ((q - u) ** 2).sum() / 2 - ((p - u) ** 2).sum() / 2
        assert primal == pytest.approx(dual, abs=1e-12)
        assert solved.gain == pytest.approx(((p - u) ** 2).sum() / 2, abs=1e-14)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_p_is_between_q_and_u_agrees_with_the_reference_and_stops_where_entropy_does(seed):
    q, u, penalty = random_problem(np.random.default_rng(seed))
    solved = solve_branch(q, u, penalty, criterion="gini")
    assert np.all(solved.p >= np.minimum(q, u) - 1e-15)
    assert np.all(solved.p <= np.maximum(q, u) + 1e-15)
    assert solved.p == pytest.approx(gini_posterior(q, u, penalty), abs=1e-12)
    assert solved.terminated == solve_branch(q, u, penalty).terminated


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_siblings_share_one_penalty(seed):
    rng = np.random.default_rng(seed)
    left, u, penalty = random_problem(rng)
    right, weights = rng.dirichlet(np.ones(len(u))), tuple(rng.uniform(0.5, 3, size=2))
    both = solve_siblings(left, right, u, penalty, weights=weights, criterion="gini")
    theta = max(s.theta for s in both)
    primal = penalty * theta
    dual = 0.0
    for s, q, w in zip(both, (left, right), weights, strict=True):
        moved = u + s.alpha - s.alpha.mean()
        primal += w * ((q - moved) ** 2).sum() / 2
        dual += w * (((q - u) ** 2).sum() - ((s.p - u) ** 2).sum()) / 2
    assert primal == pytest.approx(dual, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_growing_agrees_with_the_reference(problem):
    X, y, weights, options = problem
    options["min_gain"] /= 10
    masses = y if y.ndim == 2 else np.eye(y.max() + 1)[y]
    masses = masses * weights.astype(float)[:, None]
    reference = ReferenceGiniTree(X, masses, **options)
    tree = SelfTerminatingTreeClassifier(criterion="gini", **options)
    tree.fit(X, y, sample_weight=weights)
    assert tree.predict_proba(X) == pytest.approx(reference.p, abs=1e-9)
    assert tree.get_n_leaves() == reference.n_leaves


@pytest.mark.parametrize("seed", range(5))
def test_without_a_penalty_it_grows_as_by_the_gini_index(seed):
    rng = np.random.default_rng(seed)  # no two values are equal, so no two splits tie near the top
    X = rng.normal(size=(240, 4)).astype(np.float32)
    y = (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(240, 3))).argmax(axis=1)
    depth = 3
    theirs = DecisionTreeClassifier(criterion="gini", max_depth=depth, random_state=0).fit(X, y)
    ours = SelfTerminatingTreeClassifier(
        criterion="gini", penalty=[0.0] * depth + [np.inf], weight_power=0, min_gain=0
    ).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)
    used = theirs.tree_.feature >= 0
    assert sorted(ours.model_.core.threshold()[ours.model_.core.left() >= 0]) == pytest.approx(
        sorted(theirs.tree_.threshold[used]), abs=1e-6
    )


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_queries_threads_formats_and_files_agree(norm, tmp_path):
    X, y = blobs(0, n_rows=3000, n_features=20, n_labels=12)
    options = {"criterion": "gini", "penalty": 0.5, "min_gain": 0.2, "norm": norm}
    tree = SelfTerminatingTreeClassifier(**options).fit(X, y)
    assert tree.get_n_leaves() > 10
    p = tree.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    assert np.all(p > 0)
    assert np.array_equal(tree.predict_label_proba(X, y), p[np.arange(len(X)), y])
    two = SelfTerminatingTreeClassifier(n_jobs=2, **options).fit(sparse.csr_array(X), y)
    states = [pickle.dumps(each.model_.to_tensors(keep_state=True)[0]) for each in (two, tree)]
    assert states[0] == states[1]
    tree.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert again.criterion == "gini"
    assert np.array_equal(again.predict_proba(X), p)
    assert again.model_.describe() == tree.model_.describe()


def test_auto_chooses_by_log_loss():
    X, y = blobs(6)
    auto = SelfTerminatingTreeClassifier(criterion="gini", min_gain=0.5).fit(X, y)
    noise = SelfTerminatingTreeClassifier(criterion="gini", min_gain=0.5)
    noise.fit(X, np.random.default_rng(0).permutation(y))
    assert noise.get_n_leaves() < auto.get_n_leaves()
    one_hot = SelfTerminatingTreeClassifier(criterion="gini", min_gain=0.5).fit(X, np.eye(5)[y])
    assert one_hot.penalty_ == auto.penalty_
    assert one_hot.weight_power_ == auto.weight_power_


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_one_tree_tells_the_loss_and_leaves_of_every_least_gain(criterion):
    X, y = load_iris(return_X_y=True)
    rows = as_rows(X)
    targets = Targets(y.astype(np.int32), np.empty(0), np.empty(0, dtype=np.int64), 3)
    gains = [0.0, 0.5, 4.0, 1000.0]

    def grown(gain):
        options = SelfTerminatingSettings(criterion=criterion, min_gain=gain).growth()
        return grow_core(bin_rows(rows, options), targets, [0.3], options)

    losses, leaves = held_out_losses(grown(0.0), rows, targets, gains)
    for gain, loss, n_leaves in zip(gains, losses, leaves, strict=True):
        core = grown(gain)
        p = core.distributions_at(core.leaves(*rows.arrays))
        assert loss == pytest.approx(-np.log(p[np.arange(150), y]).sum())
        assert n_leaves == (core.left() < 0).sum()
    assert leaves[0] > leaves[-1] == 1


def test_the_smallest_tree_within_the_tolerance_is_chosen():
    trials = [
        PenaltyTrial(1.0, 0.5, 100.0, 9),
        PenaltyTrial(2.0, 0.5, 104.0, 5),
        PenaltyTrial(4.0, 0.5, 107.0, 3),
    ]
    assert smallest_good(trials, 0.0).penalty == 1
    assert smallest_good(trials, 0.05).penalty == 2
    assert smallest_good(trials, 0.1).penalty == 4
    X, y = blobs(6)
    rows, no_starts = as_rows(X), np.empty(0, dtype=np.int64)
    options = SelfTerminatingSettings().growth()
    for weight in (1.0, 8.0):  # as heavy as 8 rows: the gains tried are as heavy, too
        targets = Targets(y.astype(np.int32), np.full(len(y), weight), no_starts, 5)
        penalty, chosen = choose_growth(
            rows, targets, options, seed=0, powers=[0.7], gains=[0.5, 2.0]
        )
        assert penalty > 0
        assert chosen.weight_power == 0.7
        assert chosen.min_gain in (0.5 * weight, 2.0 * weight)
    _, kept = choose_growth(rows, targets, options, seed=0, powers=[0.5])
    assert kept == options


def test_a_word_of_one_label_does_not_end_the_rest():
    # Each of 40 words is said of one label only. Without its 20 rows the others are what they were,
    # so their branch terminates; by the abstract's rule it is a leaf, and 39 labels stay together.
    y = np.repeat(np.arange(40), 20)
    X = sparse.csr_array(np.eye(40, dtype=np.float32)[y])
    options = {"penalty": 2.0, "weight_power": 0.7, "criterion": "gini", "min_gain": 1.0}
    tree = SelfTerminatingTreeClassifier(**options).fit(X, y)
    assert (tree.predict(X) == y).mean() > 0.9
    abstract = SelfTerminatingTreeClassifier(split_terminated=False, **options).fit(X, y)
    assert abstract.get_n_leaves() == 2
    assert abstract.model_.describe()["terminated_leaves"] == 1


def test_other_criteria_are_refused():
    with pytest.raises(ArgumentError, match="criterion must be 'gini' or 'entropy', got 'mse'"):
        solve_branch([1.0], [1.0], 0.0, criterion="mse")
    with pytest.raises(ArgumentError, match="criterion must be 'gini' or 'entropy'"):
        SelfTerminatingTreeClassifier(criterion="mse").fit([[1.0], [2.0]], [0, 1])
