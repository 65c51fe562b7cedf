"""Solve the branch problem of self-terminating trees: how far a child moves from its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeltrees import _core, checks
from labeltrees.errors import ArgumentError
from labeltrees.models.self_terminating.settings import CRITERIA

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Posterior(NamedTuple):
    """The solution of a branch."""

    p: NDArray[np.float64]
    """The child's distribution, between q and u in every entry."""
    alpha: NDArray[np.float64]
    """p ~ u exp(alpha); with gini, p = u + alpha less a constant. 0 if terminated."""
    theta: float
    """The largest absolute value of alpha, which is the multiplier of the penalty."""
    gain: float
    """The decrease of the penalised risk, times the branch's weight.

    KL(p || u), or with gini half the squared distance of p and u."""

    @property
    def terminated(self) -> bool:
        """Whether the child has the same distribution as its parent."""
        return self.theta == 0


def solve_branch(
    q: ArrayLike, u: ArrayLike, penalty: float, *, criterion: str = "entropy"
) -> Posterior:
    """Return the p that minimises ``-sum q log p + penalty max |alpha|``, p ~ u exp(alpha).

    ``q`` is the branch's label distribution, ``u`` its parent's p. The branch terminates, p = u, if
    and only if ``sum |q - u| <= penalty``; otherwise ``p = clip(q, a u, b u)`` with a < 1 < b. In a
    tree the risk is a sum over the branch's weight W, so the penalty here is the tree's over W.

    ``criterion="gini"`` minimises ``sum (q - p)**2 / 2 + penalty max |alpha|``, p = u + alpha less
    its mean. It terminates under the same condition; otherwise ``p = clip(q, u - a, u + b)``.

    O(n log n) for n labels; exact also for ties and zeros. With entropy, labels with u = 0 < q keep
    p = 0. If their q sums to more than half the penalty, there is no solution.

    Examples
    --------
    >>> solve_branch([0.8, 0.2, 0.0], [0.4, 0.3, 0.3], 0.2).p.round(3).tolist()
    [0.7, 0.2, 0.1]
    >>> solve_branch([0.5, 0.3, 0.2], [0.4, 0.3, 0.3], 0.2).terminated
    True
    >>> solve_branch([0.8, 0.2, 0.0], [0.4, 0.3, 0.3], 0.2, criterion="gini").p.round(3).tolist()
    [0.7, 0.2, 0.1]
    """
    q, u = _distribution("q", q), _distribution("u", u)
    penalty, criterion_ = _penalty(penalty), _criterion(criterion)
    _check_reachable(q, u, penalty, criterion_)
    ends, gain = _core.solve_branch(q, u, penalty, criterion_)
    return _posterior(q, u, ends, gain)


def solve_siblings(
    left: ArrayLike,
    right: ArrayLike,
    u: ArrayLike,
    penalty: float,
    *,
    weights: tuple[float, float] = (1.0, 1.0),
    criterion: str = "entropy",
) -> tuple[Posterior, Posterior]:
    """Return both children's posteriors under ``penalty * max(|alpha_left|, |alpha_right|)``.

    This is the l-infinity norm of the abstract. The children terminate together or not at all, and
    the nearer one moves for free up to the other's theta. ``left`` and ``right`` are distributions,
    ``weights`` the weights of the branches.

    Examples
    --------
    >>> a, b = solve_siblings([0.9, 0.1], [0.45, 0.55], [0.5, 0.5], 0.2)
    >>> a.p.round(3).tolist(), b.p.round(3).tolist()
    ([0.8, 0.2], [0.45, 0.55])
    """
    q_left, q_right = _distribution("left", left), _distribution("right", right)
    u = _distribution("u", u)
    penalty, criterion_ = _penalty(penalty), _criterion(criterion)
    w_left, w_right = (float(weight) for weight in weights)
    if not (0 < w_left < np.inf and 0 < w_right < np.inf):
        raise ArgumentError.of("weights", weights, "two finite numbers above 0")
    _check_reachable(q_left, u, penalty / w_left, criterion_)
    _check_reachable(q_right, u, penalty / w_right, criterion_)
    both = _core.solve_siblings(
        w_left * q_left, w_right * q_right, u, w_left, w_right, penalty, criterion_
    )
    solved = []
    for q, weight, ends in zip((q_left, q_right), (w_left, w_right), both, strict=True):
        low, high, below, above = (end / weight for end in ends)
        p = np.clip(q, low * u - below, high * u + above)
        moved = _relative_entropy(p, u) if criterion == "entropy" else ((p - u) ** 2).sum() / 2
        solved.append(_posterior(q, u, (low, high, below, above), weight * float(moved)))
    return solved[0], solved[1]


def solve_binary_branch(q: float, u: float, penalty: float) -> tuple[float, float]:
    """Return (p, alpha) of two labels with one scalar: p = 1 / (1 + exp(-(b + alpha))).

    ``q`` and ``u`` are the probabilities of label 1, b = log(u / (1 - u)). The scalar alpha is the
    difference of the two entries of the vector form, so its penalty counts twice in that form.

    Examples
    --------
    >>> p, alpha = solve_binary_branch(0.9, 0.5, 0.1)
    >>> round(p, 6), round(alpha, 6) == round(float(np.log(0.8 / 0.2)), 6)
    (0.8, True)
    """
    solved = solve_branch([1 - q, q], [1 - u, u], 2 * penalty)
    return float(solved.p[1]), float(solved.alpha[1] - solved.alpha[0])


def _posterior(
    q: NDArray[np.float64],
    u: NDArray[np.float64],
    ends: tuple[float, float, float, float],
    gain: float,
) -> Posterior:
    low, high, below, above = ends
    if low == high:
        theta = (below + above) / 2
        if theta == 0:
            return Posterior(u.copy(), np.zeros_like(u), 0.0, 0.0)
        p = np.clip(q, u - below, u + above)
        return Posterior(p, p - u + (below - above) / 2, theta, float(gain))
    p = np.clip(q, low * u, high * u)
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = 0.5 * (np.log(high) - np.log(low))
        log_z = -0.5 * (np.log(low) + np.log(high)) if low > 0 else 0.0
        alpha = np.where(u > 0, np.log(p / u) + log_z, 0.0)
    return Posterior(p, alpha, float(theta), float(gain))


def _relative_entropy(p: NDArray[np.float64], u: NDArray[np.float64]) -> float:
    some = p > 0
    return float((p[some] * np.log(p[some] / u[some])).sum())


def _check_reachable(
    q: NDArray[np.float64], u: NDArray[np.float64], penalty: float, criterion: _core.Criterion
) -> None:
    if len(q) != len(u):
        raise ArgumentError(f"q has {len(q)} entries, but u has {len(u)}.")
    if criterion == _core.Criterion.gini:
        return
    lost = float(q[u == 0].sum())
    if lost > penalty / 2:
        raise ArgumentError(
            f"labels with u = 0 have {lost:g} of q, more than half the penalty {penalty:g}, so "
            "no p is that near to q. Smooth u."
        )


def _distribution(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array: NDArray[Any] = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.all(array >= 0) or abs(array.sum() - 1) > 1e-9:
        raise ArgumentError.of(name, values, "a distribution: numbers >= 0 that sum to 1")
    return array


def _criterion(criterion: str) -> _core.Criterion:
    return CRITERIA[checks.choice("criterion", criterion, CRITERIA)]  # type: ignore[no-any-return]


def _penalty(penalty: float) -> float:
    return checks.number("penalty", penalty, 0)
