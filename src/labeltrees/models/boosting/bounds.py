"""Bounds of the boosting paper for new rows: Theorems 4, 6, 7 and 8 as numbers.

The paper states Theorems 4 and 6 with O(...). Here they have the constants of their proofs. A bound
of 1 or more on a probability is vacuous. It is returned unchanged, so that you can see how many
more rows would be needed. Logarithms are natural.

Misprints in the paper that change the numbers:

- Lemma 2 requires t >= 4 sqrt(n), not 4 sqrt(t n).
- Theorem 4's choice of N needs log n > 2, so 8 rows or more.
- Theorem 6 covers at scale epsilon' / 8k. Its fat-shattering dimension is therefore at scale
  epsilon' / 32k, not epsilon' / 32. Solving for epsilon_2 must keep the e of
  log(32 e n k / (d epsilon')).
- Theorem 7 lacks the factor exp(-epsilon^2 n / 36) of the theorem of Alon et al. that it quotes.
  Without it the bound is above 24 n for all n.
"""

from __future__ import annotations

import math

from labeltrees.checks import integer, number

_LEAST_ROWS = 8  # log n > 2
_STEPS = 200  # number of bisection steps, more than the bits of a float


def norm_of_sum_tail(t: float, *, n_terms: int, n_labels: int) -> float:
    """Return ``exp(-t^2 / (8 n k))``, Corollary 3's bound of P(l1 norm of a sum >= t).

    The sum is of n independent vectors of k entries with mean 0 and l1 norm at most 1.

    Parameters
    ----------
    t : float >= 4 sqrt(n_terms n_labels)
        Below that the corollary gives no bound, and 1 is returned.
    n_terms, n_labels : int >= 1
        n and k.

    Examples
    --------
    >>> round(norm_of_sum_tail(80, n_terms=100, n_labels=4), 4)
    0.1353
    """
    t = number("t", t, 0)
    n, k = integer("n_terms", n_terms, 1), integer("n_labels", n_labels, 1)
    return math.exp(-(t**2) / (8 * n * k)) if t >= 4 * math.sqrt(n * k) else 1.0


def norm_of_sum_bound(n_terms: int, *, smoothness: float) -> float:
    """Return ``c sqrt(n)``, Theorem 8's bound of the expected l1 norm of a sum.

    The sum is of n independent vectors of k entries with mean 0, none of which has an entry above
    c / k in size. The bound does not depend on k. (The paper writes O(sqrt(n)); c is what its proof
    gives.)

    Parameters
    ----------
    n_terms : int >= 1
        Number of vectors.
    smoothness : float > 0
        c, the number of labels times the largest entry.

    Examples
    --------
    >>> norm_of_sum_bound(100, smoothness=1.5)
    15.0
    """
    n = integer("n_terms", n_terms, 1)
    return number("smoothness", smoothness, 0, open_low=True) * math.sqrt(n)


def finite_class_bound(
    exceed: float,
    *,
    n_rows: int,
    n_labels: int,
    log_hypotheses: float,
    slack: float,
    delta: float = 0.05,
    smoothness: float | None = None,
) -> float:
    """Return Theorem 4's bound of P(total variation > epsilon + slack) of a new row.

    With probability at least 1 - delta over the training rows it holds for all mixtures of learners
    of a finite class H at once, regardless of the number of rounds::

        exceed + 2 / n + sqrt((1 + N log |H| + log(1 / delta)) / 2n),    N = 128 k log n / slack^2

    With ``smoothness`` it does not depend on the number of labels (Theorem 8 and the remark after
    it): k above is 1, and N at least 64 c^2 / slack^2. McDiarmid's inequality takes the place of
    Talagrand's, whose constants the paper does not give.

    Parameters
    ----------
    exceed : float in [0, 1]
        The fraction of training rows with total variation above epsilon, as ``train_exceed_`` for
        epsilon = ``eta_``.
    n_rows : int >= 8
        n, the number of training rows, drawn independently.
    n_labels : int >= 1
        k.
    log_hypotheses : float >= 0
        log |H|. A file of B bits describes at most 2^B learners, so B log 2 is enough.
    slack : float in (0, 1)
        epsilon'. The bound is on the probability of an error above epsilon + slack.
    delta : float in (0, 1), default 0.05
        Probability that the training rows are misleading.
    smoothness : float > 0, optional
        c such that no entry of a learner's prediction is farther than 2 c / k from the mixture's.

    Examples
    --------
    >>> facts = {"n_labels": 5, "log_hypotheses": 20.0, "slack": 0.2}
    >>> round(finite_class_bound(0.1, n_rows=10**7, **facts), 3)
    0.608
    >>> round(finite_class_bound(0.1, n_rows=10**7, smoothness=1.0, **facts), 3)
    0.327
    """
    exceed, n, k, slack, delta = _shared(exceed, n_rows, n_labels, slack, delta)
    size = number("log_hypotheses", log_hypotheses, 0)
    n_drawn = 128 * k * math.log(n) / slack**2
    if smoothness is not None:
        c = number("smoothness", smoothness, 0, open_low=True)
        n_drawn = max(128 * math.log(n), 64 * c**2) / slack**2
    return exceed + 2 / n + math.sqrt((1 + n_drawn * size + math.log(1 / delta)) / (2 * n))


def infinite_class_bound(
    exceed: float,
    *,
    n_rows: int,
    n_labels: int,
    dimension: float,
    slack: float,
    delta: float = 0.05,
) -> float:
    """Return Theorem 6's bound of P(total variation > epsilon + slack) of a new row.

    Like `finite_class_bound`, for a class of any size whose coordinates have a finite
    fat-shattering dimension d::

        exceed + 2 / n + sqrt(2 / n (k N + d k N log(512 n k^2 / slack^2)
                                         log(32 e n k / (d slack)) + log(1 / delta)))

    with N = 512 k log n / slack^2.

    Parameters
    ----------
    exceed, n_rows, n_labels, slack, delta
        See `finite_class_bound`.
    dimension : float >= 1
        d, the largest fat-shattering dimension at scale slack / 32k of the learners' probabilities
        of one label. Above 32 n k / slack there is no bound, and ``inf`` is returned.

    Examples
    --------
    >>> facts = {"n_labels": 2, "dimension": 3, "slack": 0.2}
    >>> round(infinite_class_bound(0.1, n_rows=10**10, **facts), 3)
    0.929
    >>> round(infinite_class_bound(0.1, n_rows=10**12, **facts), 3)
    0.204
    """
    exceed, n, k, slack, delta = _shared(exceed, n_rows, n_labels, slack, delta)
    d = number("dimension", dimension, 1)
    if d * slack > 32 * n * k:
        return math.inf
    n_drawn = 512 * k * math.log(n) / slack**2
    cover = math.log(512 * n * k**2 / slack**2) * math.log(32 * math.e * n * k / (d * slack))
    log_cover = k * n_drawn * (1 + d * cover)
    return exceed + 2 / n + math.sqrt(2 / n * (log_cover + math.log(1 / delta)))


def _shared(
    exceed: float, n_rows: int, n_labels: int, slack: float, delta: float
) -> tuple[float, int, int, float, float]:
    return (
        number("exceed", exceed, 0, 1),
        integer("n_rows", n_rows, _LEAST_ROWS),
        integer("n_labels", n_labels, 1),
        number("slack", slack, 0, 1, open_low=True, open_high=True),
        _probability(delta),
    )


def _probability(delta: float) -> float:
    return number("delta", delta, 0, 1, open_low=True, open_high=True)


def lipschitz_dimension(
    scale: float, *, lipschitz: float, diameter: float, doubling_dimension: float
) -> float:
    """Return ``ceil(L diam / scale)^(ddim + 1)``, a bound of a fat-shattering dimension.

    It bounds the dimension of the errors x -> TV(h(x), p(x)) of L-Lipschitz functions h and p over
    points of a metric space. Rows that are shattered at a scale are at least scale / L apart.

    Parameters
    ----------
    scale : float > 0
        gamma, the width at which rows are shattered.
    lipschitz : float > 0
        L. Total variation between two rows' distributions is at most L times their distance.
    diameter : float > 0
        The largest distance of two rows.
    doubling_dimension : float >= 0
        ddim. A ball is covered by 2^ddim balls of half its radius.

    Examples
    --------
    >>> lipschitz_dimension(0.1, lipschitz=1.0, diameter=1.0, doubling_dimension=1.0)
    100.0
    """
    scale = number("scale", scale, 0, open_low=True)
    L = number("lipschitz", lipschitz, 0, open_low=True)
    diameter = number("diameter", diameter, 0, open_low=True)
    ddim = number("doubling_dimension", doubling_dimension, 0)
    try:
        return float(math.pow(math.ceil(L * diameter / scale), ddim + 1))
    except OverflowError:
        return math.inf


def log_risk_deviation(epsilon: float, *, n_rows: int, dimension: float) -> float:
    """Return the logarithm of Theorem 7's bound of P(some learner's risk is epsilon too high).

    The risk is the mean total variation. For any learner of the class, the risk on new rows exceeds
    the risk on the n training rows by more than epsilon with a probability of at most::

        24 n (288 n / epsilon^2)^(d log(24 e n / epsilon)) exp(-epsilon^2 n / 36)

    for epsilon >= sqrt(2 / n). The bound would overflow, so its logarithm is returned. A value of 0
    or more is vacuous.

    Parameters
    ----------
    epsilon : float in (0, 1]
        Difference of the risks.
    n_rows : int >= 2
        n.
    dimension : float >= 0
        d, the fat-shattering dimension at scale epsilon / 24, or `lipschitz_dimension` of it.

    Examples
    --------
    >>> round(log_risk_deviation(0.5, n_rows=10**6, dimension=8.0))
    -3808
    """
    epsilon = number("epsilon", epsilon, 0, 1, open_low=True)
    n = integer("n_rows", n_rows, 2)
    d = number("dimension", dimension, 0)
    if epsilon < math.sqrt(2 / n):
        return math.inf
    power = d * math.log(24 * math.e * n / epsilon)
    return math.log(24 * n) + power * math.log(288 * n / epsilon**2) - epsilon**2 * n / 36


def risk_bound(
    risk: float,
    *,
    n_rows: int,
    lipschitz: float,
    diameter: float,
    doubling_dimension: float,
    delta: float = 0.05,
) -> float:
    """Return a bound that the mean total variation of new rows exceeds with probability <= delta.

    It solves Theorem 7 for epsilon and returns the training rows' mean total variation plus the
    least epsilon for which the bound is at most delta. It does not depend on the number of labels
    or rounds.

    Parameters
    ----------
    risk : float in [0, 1]
        R_n(h), the mean total variation on the training rows.
    n_rows : int >= 2
        n.
    lipschitz, diameter, doubling_dimension
        See `lipschitz_dimension`.
    delta : float in (0, 1), default 0.05
        Probability that the training rows are misleading.

    Returns
    -------
    float
        ``inf`` if no epsilon up to 1 satisfies the bound.

    Examples
    --------
    >>> space = {"lipschitz": 0.01, "diameter": 1.0, "doubling_dimension": 1.0}
    >>> risk_bound(0.1, n_rows=1000, **space)
    inf
    >>> round(risk_bound(0.1, n_rows=10**6, **space), 3)
    0.34
    """
    risk, n = number("risk", risk, 0, 1), integer("n_rows", n_rows, 2)
    log_delta = math.log(_probability(delta))
    space = {"lipschitz": lipschitz, "diameter": diameter, "doubling_dimension": doubling_dimension}

    def deviation(epsilon: float) -> float:
        dimension = lipschitz_dimension(epsilon / 24, **space)
        if dimension == math.inf:
            return math.inf
        return log_risk_deviation(epsilon, n_rows=n, dimension=dimension)

    low, high = 0.0, 1.0
    if deviation(high) > log_delta:
        return math.inf
    for _ in range(_STEPS):  # the bound falls as epsilon grows
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            break
        low, high = (low, middle) if deviation(middle) <= log_delta else (middle, high)
    return risk + high
