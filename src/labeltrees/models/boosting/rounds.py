"""Adacond turns a learner that is accurate on average into one accurate almost everywhere.

Gutfreund, Kontorovich, Levy and Rosen-Zvi, "Boosting conditional probability estimators", Figure 1.
This module does not depend on the kind of learner. You pass `boost` a function that fits a learner
to weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from labeltrees import checks, store
from labeltrees.errors import ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labeltrees.store import Tensors

    FloatArray = NDArray[np.float64]

PERFECT = 1e-12
"""Errors up to this value count as 0, because they come from rounding."""

_ARRAYS = ("errors", "log_betas", "bound", "exceed")

Member = TypeVar("Member")


class Fitted(NamedTuple, Generic[Member]):
    """A learner fitted in one round, and its predictions for the rows it was fitted to."""

    member: Member
    answers: FloatArray
    """Predictions: any array that is linear in the distributions, because `boost` adds them up."""


@dataclass(frozen=True)
class BoostingRecord:
    """A record of the rounds that were kept. All arrays have one entry per round."""

    eta: float
    stop_reason: str
    errors: FloatArray
    """The weighted error eps_t of the round's learner, under the round's weights."""
    log_betas: FloatArray
    """log beta_t = log((1 - eta) eps_t / (eta (1 - eps_t))); -inf for a perfect learner."""
    bound: FloatArray
    """Bound of Theorem 1 after each round, prod_s exp(-KL(eta || eps_s)), at most 1."""
    exceed: FloatArray
    """The fraction of rows on which the mixture of the rounds so far has an error above eta."""

    def to_tensors(self) -> Tensors:
        """Return the arrays, for the model file."""
        return {f"boosting.{name}": getattr(self, name) for name in _ARRAYS}

    def to_facts(self) -> dict[str, Any]:
        """Return the rest, ready for JSON."""
        return {"eta": self.eta, "stop_reason": self.stop_reason}

    @classmethod
    def restore(cls, tensors: Tensors, facts: dict[str, Any]) -> BoostingRecord:
        """Return the record that was written down; raise `ModelFormatError` if none was."""
        arrays = {name: store.tensor(tensors, f"boosting.{name}", np.float64) for name in _ARRAYS}
        eta = checks.number("eta", facts["eta"], 0, 1, open_low=True, open_high=True)
        # Shares may be a rounding error above 1.
        shares = np.stack([arrays[name] for name in ("errors", "bound", "exceed")])
        with np.errstate(invalid="ignore"):
            weights = mixture_weights(arrays["log_betas"])
        if (
            shares.shape[1] != len(weights)
            or not ((shares >= 0) & (shares <= 1 + 1e-6)).all()
            or not (weights >= 0).all()
            or not isinstance(facts["stop_reason"], str)
        ):
            raise ModelFormatError("the record of the rounds does not fit together.")
        return cls(eta, facts["stop_reason"], **arrays)


@dataclass
class Boosted(Generic[Member]):
    """The learners of all rounds that were kept, and the record with their weights."""

    members: list[Member]
    record: BoostingRecord


@dataclass
class _Rounds(Generic[Member]):
    """The state between rounds."""

    log_weights: FloatArray
    """Logarithms of normalised weights, whose sum is 1."""
    start: FloatArray
    """The weights of the first round, the distribution in which Theorem 1 holds."""
    members: list[Member] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    log_betas: list[float] = field(default_factory=list)
    log_bound: list[float] = field(default_factory=list)
    exceed: list[float] = field(default_factory=list)
    total: FloatArray | None = None
    """The sum of the predictions so far, weighted by log(1 / beta_t)."""
    mass: float = 0.0
    """The sum of these weights."""

    def keep(self, fitted: Fitted[Member], log_eps: float, log_beta: float, eta: float) -> None:
        self.members.append(fitted.member)
        self.errors.append(math.exp(log_eps))
        self.log_betas.append(log_beta)
        before = self.log_bound[-1] if self.log_bound else 0.0
        self.log_bound.append(before - _bernoulli_kl(eta, log_eps))

    def mix(self, answers: FloatArray, coefficient: float) -> FloatArray:
        """Return the predictions of the mixture after adding this round's learner."""
        if not math.isfinite(coefficient) or coefficient <= 0:
            return answers
        added = coefficient * answers
        self.total = added if self.total is None else self.total + added
        self.mass += coefficient
        return self.total / self.mass

    def measure(self, distances: FloatArray, eta: float) -> None:
        self.exceed.append(float(self.start @ (distances > eta)))

    def record(self, eta: float, stop_reason: str) -> BoostingRecord:
        arrays = (self.errors, self.log_betas, np.exp(self.log_bound), self.exceed)
        return BoostingRecord(eta, stop_reason, *(np.array(array, float) for array in arrays))


def boost(
    fit: Callable[[int, FloatArray], Fitted[Member]],
    distances_of: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    eta: float | str,
    n_rounds: int,
) -> Boosted[Member]:
    """Return up to ``n_rounds`` learners, each fitted where earlier learners were wrong.

    Every round fits a learner to the weights, measures its weighted error eps against eta, and
    multiplies the weight of row i by ``beta^(1 - d_i)``, so a row that is near its target counts
    less. Weights are kept as logarithms, so they neither vanish nor overflow.

    Parameters
    ----------
    fit : callable of (round, weights)
        Fits a learner to rows with these weights, which sum to 1.
    distances_of : callable of answers
        The distance of each row's prediction to its target, in [0, 1] and convex in predictions.
    start : array of shape (n_rows,)
        The weights of the first round, above 0 and with sum 1.
    eta : float in (0, 1), "auto" or "median"
        See `choose_eta`. "auto" and "median" use the first learner's errors.
    n_rounds : int >= 1
        Maximum number of rounds.

    Examples
    --------
    >>> truth = np.array([0.0, 1.0, 1.0, 1.0])
    >>> def fit(number, weights):  # each learner knows the weighted mean
    ...     mean = float(weights @ truth)
    ...     return Fitted(mean, np.full(4, mean))
    >>> boosted = boost(fit, lambda p: np.abs(p - truth), np.full(4, 0.25), eta=0.6, n_rounds=3)
    >>> [round(mean, 2) for mean in boosted.members]
    [0.75, 0.65, 0.61]
    >>> boosted.record.exceed.tolist()  # the mean of all is wrong on one of four
    [0.25, 0.25, 0.25]
    """
    from scipy.special import logsumexp

    rounds: _Rounds[Member] = _Rounds(np.log(start), start)
    for number in range(n_rounds):
        fitted = fit(number, np.exp(rounds.log_weights))
        d = distances_of(fitted.answers)
        log_eps = _log_mean(rounds.log_weights, d)
        if number == 0:
            eta = choose_eta(eta, d, start, math.exp(log_eps))
        assert not isinstance(eta, str)
        if d.max() <= PERFECT:
            rounds.keep(fitted, -math.inf, -math.inf, eta)
            rounds.measure(d, eta)
            return Boosted(rounds.members, rounds.record(eta, _PERFECT.format(number + 1)))
        log_beta = _log_odds(log_eps) - _logit(eta)
        if log_beta >= 0:
            if number == 0:  # one learner without a guarantee is better than none
                rounds.keep(fitted, log_eps, log_beta, eta)
                rounds.log_bound = [0.0]
                rounds.measure(d, eta)
            reason = _TOO_WRONG.format(number + 1, math.exp(log_eps), eta)
            return Boosted(rounds.members, rounds.record(eta, reason))
        rounds.keep(fitted, log_eps, log_beta, eta)
        rounds.measure(distances_of(rounds.mix(fitted.answers, -log_beta)), eta)
        rounds.log_weights = rounds.log_weights + log_beta * (1 - d)
        rounds.log_weights -= logsumexp(rounds.log_weights)
    assert not isinstance(eta, str)
    return Boosted(rounds.members, rounds.record(eta, _ALL.format(n_rounds)))


_ALL = "n_rounds: all {} rounds are done"
_PERFECT = "perfect: the learner of round {} makes no error"
_TOO_WRONG = "error >= eta: round {} has error {:.6g}, and eta is {:.6g}"


def choose_eta(eta: float | str, distances: FloatArray, weights: FloatArray, error: float) -> float:
    """Return eta as a number, from the distances of the first round's learner.

    ``"auto"`` is its mean error with a little more: ``error + max(0.05 error, 1 / sqrt(n))``, below
    1. ``"median"`` is the weighted median of its distances, or the same as ``"auto"`` if the median
    is not larger, because an eta at or below the mean error would end boosting before it starts.

    >>> d, w = np.array([0.1, 0.2, 0.6, 0.7]), np.full(4, 0.25)
    >>> choose_eta("auto", d, w, 0.4)
    0.9
    >>> choose_eta(0.5, d, w, 0.4)
    0.5
    """
    if not isinstance(eta, str):
        return float(eta)
    auto = min(1 - 1e-6, error + max(0.05 * error, 1 / math.sqrt(len(distances))))
    if eta == "auto":
        return auto
    order = np.argsort(distances, kind="stable")
    middle = int(np.searchsorted(np.cumsum(weights[order]), 0.5))
    median = float(distances[order[min(middle, len(order) - 1)]])
    return median if error < median < 1 else auto


def mixture_weights(log_betas: FloatArray) -> FloatArray:
    """Return the weights of the learners in the mixture: log(1 / beta_t), normalised.

    A perfect learner (beta = 0) gets all the weight, as does a single one without a guarantee.

    >>> mixture_weights(np.array([-3.0, -1.0])).tolist()
    [0.75, 0.25]
    >>> mixture_weights(np.array([-3.0, -np.inf])).tolist()
    [0.0, 1.0]
    """
    coefficients = -np.asarray(log_betas)
    if coefficients[-1] == np.inf or coefficients[-1] <= 0:
        alone = np.zeros(len(coefficients))
        alone[-1] = 1.0
        return alone
    return np.asarray(coefficients / coefficients.sum())


def _log_mean(log_weights: FloatArray, distances: FloatArray) -> float:
    """Return the logarithm of the weighted mean, -inf if that is 0."""
    from scipy.special import logsumexp

    with np.errstate(divide="ignore"):
        return min(float(logsumexp(log_weights + np.log(distances))), 0.0)


def _logit(eta: float) -> float:
    return math.log(eta) - math.log1p(-eta)


def _log_odds(log_p: float) -> float:
    """Return log(p / (1 - p)) from log p, accurate for tiny p."""
    rest = -math.expm1(log_p)
    return math.inf if rest <= 0 else log_p - math.log(rest)


def _bernoulli_kl(eta: float, log_eps: float) -> float:
    """Return KL(eta || eps) of two Bernoulli distributions; inf for eps = 0."""
    rest = -math.expm1(log_eps)
    if log_eps == -math.inf or rest <= 0:
        return math.inf
    kl = eta * (math.log(eta) - log_eps) + (1 - eta) * (math.log1p(-eta) - math.log(rest))
    return max(kl, 0.0)
