"""Metrics of many labels agree with section 3 of the extreme regression paper written as loops, on
rows and on labels, and obey its Lemma 3.1; they refuse what is not a relevance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.metrics import ndcg_score
from tests.references import multilabel as reference

import labeltrees.metrics as m
from labeltrees.errors import ArgumentError

# Relevances and scores meet and tie often. Tolerance: sums of a few hundred terms in another order.
LEVELS = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.001, 1))
CLOSE = {"rel": 1e-12, "abs": 1e-12}


def approx(value):
    return pytest.approx(value, **CLOSE)


@st.composite
def problems(draw):
    """Truth and predictions (None: not predicted) as lists, the same as CSR, k, per, weights."""
    n_rows, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    truth = [[draw(LEVELS) for _ in range(n_labels)] for _ in range(n_rows)]
    truth[0][0] = draw(st.floats(0.1, 1))  # something is relevant
    told = st.one_of(st.none(), LEVELS)
    scores = [[draw(told) for _ in range(n_labels)] for _ in range(n_rows)]
    scores[0][0] = draw(st.floats(0.1, 1))  # and found
    per = draw(st.sampled_from(["row", "label"]))
    n_weights = n_rows if per == "row" else n_labels
    weights = [draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in range(n_weights)]
    return truth, scores, draw(st.integers(1, 8)), per, weights


def sparse(scores):
    """Predictions as CSR; a score of 0 is stored."""
    cells = [(i, j, s) for i, row in enumerate(scores) for j, s in enumerate(row) if s is not None]
    rows, columns, data = zip(*cells, strict=True) if cells else ((), (), ())
    return csr_array((data, (rows, columns)), shape=(len(scores), len(scores[0])), dtype=float)


def both_ways(truth, scores, per):
    """The lists as the reference wants them."""
    return (truth, scores) if per == "row" else (reference.turned(truth), reference.turned(scores))


FUNCTIONS = {
    "precision": (
        m.precision_at_k,
        lambda y, s, k, w: reference.weighted_precision(reference.binary(y), s, k, w, "mean"),
    ),
    "recall": (m.recall_at_k, reference.recall),
    "ndcg": (
        m.ndcg_at_k,
        lambda y, s, k, w: reference.weighted_ndcg(reference.binary(y), s, k, w, "mean"),
    ),
    "wp": (
        m.weighted_precision_at_k,
        lambda y, s, k, w: reference.weighted_precision(y, s, k, w, "ratio"),
    ),
    "wp by equation 1": (
        lambda *a, **b: m.weighted_precision_at_k(*a, average="mean", **b),
        lambda y, s, k, w: reference.weighted_precision(y, s, k, w, "mean"),
    ),
    "wn": (m.weighted_ndcg_at_k, lambda y, s, k, w: reference.weighted_ndcg(y, s, k, w, "ratio")),
    "wn by equation 2": (
        lambda *a, **b: m.weighted_ndcg_at_k(*a, average="mean", **b),
        lambda y, s, k, w: reference.weighted_ndcg(y, s, k, w, "mean"),
    ),
    "auc": (m.auc_at_k, reference.auc),
    "auc by equation 3": (
        lambda *a, **b: m.auc_at_k(*a, average="mean", **b),
        lambda y, s, k, w: reference.auc(y, s, k, w, average="mean"),
    ),
    "xmad": (m.xmad_at_k, reference.xmad),
    "xrmse": (m.xrmse_at_k, reference.xrmse),
    "ranking error": (m.ranking_error_at_k, reference.ranking_error),
    "regression error": (m.regression_error_at_k, reference.regression_error),
}


# Worked examples by hand.


def test_bibliography_by_hand():
    truth = [[1, 0, 1, 0], [0, 0, 0, 1]]
    scores = [[0.9, 0.8, 0.7, 0], [0.4, 0.3, 0.2, 0.1]]
    assert m.precision_at_k(truth, scores, 1) == 0.5
    assert m.precision_at_k(truth, scores, 3) == approx((2 / 3 + 0) / 2)
    assert m.recall_at_k(truth, scores, 3) == 0.5
    first = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert m.ndcg_at_k(truth, scores, 3) == approx(first / 2)
    assert m.xmad_at_k(truth, scores, 2) == approx(((0.8 + 0.3) / 2 + (0.9 + 0.4) / 2) / 2)
    assert m.ranking_error_at_k(truth, scores, 1) == 0.5
    assert m.regression_error_at_k(truth, scores, 1) == approx((0.1 + 0.4) / 2)
    # Row 0: of 3 x 2 pairs, label 1 stands before label 2. Row 1: 3 labels stand before label 3.
    assert m.auc_at_k(truth, scores, 3) == approx(1 - (1 + 3) / (3 * 2 + 3 * 1))


def test_released_xmad_is_the_regression_error_over_the_precision():
    truth, scores = [[1, 0.5, 0]], [[0.5, 0, 0.25]]
    assert m.xmad_at_k(truth, scores, 2, variant="release") == approx(
        ((0.5 + 0.25) / 2) / (1 / 1.5)
    )


# Agreement with the reference.


@pytest.mark.parametrize("name", FUNCTIONS)
@given(problem=problems())
def test_agrees_with_the_reference(name, problem):
    truth, scores, k, per, weights = problem
    fast, slow = FUNCTIONS[name]
    expected = slow(*both_ways(truth, scores, per), k, weights)
    assert fast(csr_array(truth), sparse(scores), k, per=per, sample_weight=weights) == approx(
        expected
    )


@given(problem=problems())
def test_released_xmad_agrees_with_the_reference(problem):
    truth, scores, k, per, weights = problem
    y, s = both_ways(truth, scores, per)
    options = {"per": per, "sample_weight": weights, "variant": "release"}
    if reference.weighted_precision(y, s, k, weights, "ratio") == 0:
        with pytest.raises(ArgumentError, match="relevance of the first k"):
            m.xmad_at_k(truth, sparse(scores), k, **options)
    else:
        expected = reference.released_xmad(y, s, k, weights)
        assert m.xmad_at_k(truth, sparse(scores), k, **options) == approx(expected)


@given(problem=problems(), a=st.floats(0, 2), b=st.floats(0.1, 5))
def test_propensities_and_what_they_weigh_agree_with_the_reference(problem, a, b):
    truth, scores, k, per, weights = problem
    p = m.propensities(truth, a=a, b=b)
    assert p.tolist() == approx(reference.propensities(truth, a, b))
    y, s = both_ways(reference.inverse_propensity_relevance(truth, p), scores, per)
    options = {"per": per, "sample_weight": weights}
    for average in ("ratio", "mean"):
        found = m.psp_at_k(truth, sparse(scores), k, p, average=average, **options)
        assert found == approx(reference.weighted_precision(y, s, k, weights, average))
        found = m.psndcg_at_k(truth, sparse(scores), k, p, average=average, **options)
        assert found == approx(reference.weighted_ndcg(y, s, k, weights, average))


@given(problem=problems(), named=st.sampled_from(["rightly", "at all"]))
def test_coverage_agrees_with_the_reference(problem, named):
    truth, scores, k, per, _ = problem
    expected = reference.coverage(*both_ways(truth, scores, per), k, named)
    assert m.coverage_at_k(truth, sparse(scores), k, named=named, per=per) == approx(expected)


@given(problem=problems())
def test_log_loss_agrees_with_the_reference(problem):
    truth, scores, _, _, _ = problem
    weights = [1.0 + i for i in range(len(truth))]
    found = m.label_log_loss(truth, sparse(scores), sample_weight=weights)
    assert found == pytest.approx(reference.label_log_loss(truth, scores, weights), rel=1e-9)


@given(problem=problems())
def test_the_report_is_every_function_at_every_k(problem):
    truth, scores, k, per, weights = problem
    p = m.propensities(truth)
    options = {"per": per, "sample_weight": weights}
    report = m.multilabel_report(truth, sparse(scores), ks=[k, 1], propensity=p, **options)
    functions = {
        "P": m.precision_at_k,
        "R": m.recall_at_k,
        "nDCG": m.ndcg_at_k,
        "WP": m.weighted_precision_at_k,
        "WN": m.weighted_ndcg_at_k,
        "AUC": m.auc_at_k,
        "mean AUC": lambda y, s, k, **rest: m.auc_at_k(y, s, k, average="mean", **rest),
        "coverage": lambda y, s, k, **rest: m.coverage_at_k(y, s, k, per=rest["per"]),
        "ranking error": m.ranking_error_at_k,
        "regression error": m.regression_error_at_k,
        "XMAD": m.xmad_at_k,
        "XRMSE": m.xrmse_at_k,
        "ECE": m.calibration_error_at_k,
        "Brier": m.brier_at_k,
        "PSP": lambda y, s, k, **rest: m.psp_at_k(y, s, k, p, **rest),
        "PSnDCG": lambda y, s, k, **rest: m.psndcg_at_k(y, s, k, p, **rest),
    }
    assert list(report) == list(functions)
    for name, function in functions.items():
        expected = {each: function(truth, sparse(scores), each, **options) for each in (1, k)}
        assert report[name] == pytest.approx(expected, **CLOSE)


@given(problem=problems())
def test_calibration_agrees_with_that_of_one_label_a_row(problem):
    _, scores, k, _, weights = problem
    weights = [weights[i % len(weights)] for i in range(len(scores))]
    columns = [i % len(scores[0]) for i in range(len(scores))]
    truth = np.zeros((len(scores), len(scores[0])))
    truth[np.arange(len(scores)), columns] = 1
    top = [reference.first_k(row, k) for row in scores]
    width = max(map(len, top))
    labels = [row + [-1] * (width - len(row)) for row in top]
    p = [
        [s[j] for j in row] + [math.nan] * (width - len(row))
        for s, row in zip(scores, top, strict=True)
    ]
    expected = m.expected_calibration_error(columns, labels, p, sample_weight=weights)
    found = m.calibration_error_at_k(truth, sparse(scores), k, sample_weight=weights)
    assert found == approx(expected)


@given(problem=problems())
def test_brier_is_the_mean_square_over_the_first_k(problem):
    truth, scores, k, _, weights = problem
    weights = [weights[i % len(weights)] for i in range(len(scores))]
    squares, spread = [], []
    for true, row, weight in zip(truth, scores, weights, strict=True):
        first = reference.first_k(row, k)
        squares += [(true[j] - row[j]) ** 2 for j in first]
        spread += [weight] * len(first)
    if not sum(spread):
        with pytest.raises(ArgumentError, match="the sum of sample_weight"):
            m.brier_at_k(truth, sparse(scores), k, sample_weight=weights)
        return
    found = m.brier_at_k(truth, sparse(scores), k, sample_weight=weights)
    assert found == approx(np.average(squares, weights=spread))


def test_bins_of_equal_width_of_the_first_k():
    truth, scores = [[1, 0, 0], [0, 1, 0]], [[0.9, 0.3, 0], [0.6, 0.2, 0.1]]
    curve = m.reliability_curve_at_k(truth, scores, 2, n_bins=2, bins="width")
    assert curve.mean_probability == approx([0.25, 0.75])
    assert curve.frequency == approx([0.5, 0.5])
    options = {"n_bins": 2, "bins": "width"}
    assert m.calibration_error_at_k(truth, scores, 2, **options) == approx(0.25)
    above = m.reliability_curve_at_k([[3]], [[2.5]], 1, **options)
    assert above.mean_probability.tolist() == [2.5]


@given(problem=problems())
def test_filtering_agrees_with_the_reference_at_every_threshold(problem):
    truth, scores, _, _, _ = problem
    curve = m.filtering_curve(truth, sparse(scores))
    levels = sorted({s for row in scores for s in row if s is not None}, reverse=True)
    assert curve.threshold.tolist() == levels
    for i, level in enumerate(levels):
        point = curve.n_kept[i], curve.precision[i], curve.recall[i]
        assert point == approx(reference.kept_above(truth, scores, level))


# Lemma 3.1 and other invariants.


@given(problem=problems())
def test_lemma_3_1_bounds_ranking_and_regression_errors(problem):
    truth, scores, k, per, weights = problem
    given_ = truth, sparse(scores)
    options = {"per": per, "sample_weight": weights}
    worst = max(
        m.ranking_error_at_k(*given_, k, **options), m.regression_error_at_k(*given_, k, **options)
    )
    xmad, xrmse = m.xmad_at_k(*given_, 2 * k, **options), m.xrmse_at_k(*given_, 2 * k, **options)
    assert 0 <= worst / 2 <= xmad + 1e-12
    assert xmad <= xrmse + 1e-12


@given(problem=problems())
def test_xmad_is_never_below_the_regression_error(problem):
    """Equation 6, where the paper's tables have .1849 and .1894 for XReg on EURLex."""
    truth, scores, k, per, _ = problem
    xmad = m.xmad_at_k(truth, sparse(scores), k, per=per)
    assert xmad >= m.regression_error_at_k(truth, sparse(scores), k, per=per) - 1e-12


def test_lemma_3_1_is_tight():
    """Two labels swapped: both errors and both bounds meet."""
    truth, scores = [[1, 0]], [[0, 1]]
    assert m.ranking_error_at_k(truth, scores, 1) == m.regression_error_at_k(truth, scores, 1) == 1
    assert m.xmad_at_k(truth, scores, 2) == m.xrmse_at_k(truth, scores, 2) == 1
    truth, scores = [[0.5, 0.5]], [[0.5, 0]]
    assert m.xmad_at_k(truth, scores, 2) == 0.25


def test_at_all_labels_the_errors_are_mad_and_rmse():
    rng = np.random.default_rng(3)
    truth, scores = rng.random((5, 9)), rng.random((5, 9))
    assert m.xmad_at_k(truth, scores, 9) == approx(np.abs(truth - scores).mean())
    assert m.xrmse_at_k(truth, scores, 9) == approx(np.sqrt(((truth - scores) ** 2).mean(1)).mean())


def test_the_truth_itself_is_perfect():
    truth = np.random.default_rng(4).random((6, 8)) * (
        np.random.default_rng(5).random((6, 8)) > 0.5
    )
    report = m.multilabel_report(truth, truth, propensity=m.propensities(truth))
    for name in ("WP", "WN", "AUC"):
        assert report[name] == approx({1: 1, 3: 1, 5: 1})
    for name in ("ranking error", "regression error", "XMAD", "XRMSE", "ECE"):
        assert report[name] == approx({1: 0, 3: 0, 5: 0})


def test_binary_ndcg_is_that_of_scikit_learn():
    rng = np.random.default_rng(6)
    truth, scores = (rng.random((30, 12)) < 0.3).astype(float), rng.random((30, 12))
    assert m.ndcg_at_k(truth, scores, 5) == approx(ndcg_score(truth, scores, k=5))
    weights = rng.random((30, 12))
    assert m.weighted_ndcg_at_k(weights, scores, 5, average="mean") == approx(
        ndcg_score(weights, scores, k=5)
    )


@given(problem=problems())
def test_scaling_relevances_scales_errors_and_leaves_ratios(problem):
    truth, scores, k, per, _ = problem
    small = m.multilabel_report(truth, sparse(scores), ks=[k], per=per)
    large = m.multilabel_report(4 * np.array(truth), 4 * sparse(scores), ks=[k], per=per)
    for name in ("P", "R", "nDCG", "WP", "WN"):
        assert large[name] == approx(small[name])
    for name in ("ranking error", "regression error", "XMAD", "XRMSE", "ECE"):
        assert large[name][k] == approx(4 * small[name][k])


@pytest.mark.parametrize("form", [csr_matrix, csc_array, coo_array, np.asarray, np.ndarray.tolist])
def test_every_form_of_matrix_gives_the_same(form):
    rng = np.random.default_rng(7)
    truth, scores = rng.random((4, 6)) * (rng.random((4, 6)) > 0.4), rng.random((4, 6))
    assert m.auc_at_k(form(truth), form(scores), 3) == m.auc_at_k(truth, scores, 3)


def test_arguments_are_left_as_they_were():
    truth = csr_array(([3.0, 0.0, 2.0], [2, 1, 0], [0, 2, 3]), shape=(2, 3))
    scores = csr_array(([0.5, 0.5, 0.1, 0.2], [2, 0, 1, 1], [0, 2, 4]), shape=(2, 3))
    before = [a.copy() for each in (truth, scores) for a in (each.data, each.indices, each.indptr)]
    m.multilabel_report(truth, scores, propensity=[0.5, 0.5, 1])
    after = [a for each in (truth, scores) for a in (each.data, each.indices, each.indptr)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_top_k_and_random_filtering_by_hand():
    truth, scores = [[1, 0, 0.5], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.3, 0]]
    curve = m.filtering_curve(truth, scores, keep="top_k")
    assert curve.threshold.tolist() == [1, 2, 3]
    assert curve.n_kept.tolist() == [2, 4, 5]
    assert curve.precision.tolist() == approx([1, 0.5, 0.5])
    assert curve.recall.tolist() == approx([0.8, 0.8, 1])
    curve = m.filtering_curve(truth, scores, keep="random", random_state=3)
    assert curve.recall[-1] == 1
    assert len(curve.n_kept) == 5
    assert ((curve.threshold > 0) & (curve.threshold < 1)).all()
    again = m.filtering_curve(truth, scores, keep="random", random_state=3)
    assert again.threshold.tolist() == curve.threshold.tolist()


def test_random_filtering_keeps_each_rows_ranking():
    rng = np.random.default_rng(8)
    truth = np.arange(50, 0, -1)[np.newaxis] / 50
    curve = m.filtering_curve(truth, rng.permutation(truth, axis=0), keep="random")
    # One row, whose labels come in the order of their relevance whatever is drawn.
    assert curve.precision.tolist() == approx((np.cumsum(truth[0]) / np.arange(1, 51)).tolist())


def test_a_long_curve_is_thinned_and_keeps_its_ends():
    rng = np.random.default_rng(9)
    truth, scores = rng.random((40, 50)), rng.random((40, 50))
    curve = m.filtering_curve(truth, scores, max_points=20)
    assert len(curve.n_kept) == 20
    assert curve.n_kept[[0, -1]].tolist() == [1, 2000]
    assert np.abs(np.diff(curve.n_kept) - 2000 / 19).max() <= 1.5


def test_the_plot_draws_into_given_axes():
    pyplot = pytest.importorskip("matplotlib.figure")
    ax = pyplot.Figure().add_subplot()
    drawn = m.plot_filtering_curves([[1, 0], [0, 1]], [[0.9, 0.2], [0.8, 0.1]], ax=ax)
    assert drawn is ax
    assert ax.lines[0].get_xdata().tolist() == [50, 50, 50, 100]


# Boundaries.


def test_a_prediction_that_is_not_stored_is_never_first():
    truth = [[0, 1]]
    assert m.precision_at_k(truth, csr_array(([0.0], [1], [0, 1]), shape=(1, 2)), 1) == 1
    assert m.precision_at_k(truth, csr_array((1, 2)), 1) == 0


def test_scores_below_zero_can_be_ranked():
    assert m.precision_at_k([[0, 1]], [[-2.0, -1.0]], 1) == 1
    assert m.ndcg_at_k([[0, 1]], [[-1.0, -2.0]], 2) == approx(1 / math.log2(3))


def test_labels_of_one_score_are_not_wrongly_ordered():
    assert m.auc_at_k([[0, 1]], [[0.5, 0.5]], 2, tolerance=0) == 1
    assert m.auc_at_k([[0, 1]], [[0.5 + 1e-9, 0.5]], 2, tolerance=0) == 0.5
    assert m.auc_at_k([[0, 1]], [[0.5 + 1e-9, 0.5]], 2) == 1


def test_huge_errors_do_not_overflow():
    assert m.xrmse_at_k([[1e200, 0]], [[0, 1e200]], 2) == pytest.approx(1e200)
    assert m.xrmse_at_k([[1e-200, 0]], [[0, 1e-200]], 2) == pytest.approx(1e-200)


def test_names_become_columns():
    matrix = m.label_matrix(["b", "a", "x"], [2, 3, 4], classes=["a", "b"], starts=[0, 2, 2, 3])
    assert matrix.toarray().tolist() == [[3, 2], [0, 0], [0, 0]]
    assert m.label_matrix([[7, -1]], classes=[3, 7]).toarray().tolist() == [[0, 1]]
    top = m.label_matrix([["a", None]], [[0.5, math.nan]], classes=["a"])
    assert (top.nnz, top[0, 0]) == (1, 0.5)


def test_few_rows_make_propensities_one():
    assert m.propensities([[1, 0], [0, 1]]).tolist() == [1, 1]


# Errors.

Y, S, NONE = [[1.0, 0.0]], [[0.5, 0.2]], np.ones((0, 2))
BAD = {
    "k must be an integer >= 1, got 0": lambda: m.precision_at_k(Y, S, 0),
    "k must be an integer >= 1, got 1.5": lambda: m.xmad_at_k(Y, S, 1.5),
    "per must be 'row' or 'label', got 'column'": lambda: m.auc_at_k(Y, S, 1, per="column"),
    "average must be": lambda: m.weighted_precision_at_k(Y, S, 1, average="sum"),
    "variant must be": lambda: m.xmad_at_k(Y, S, 1, variant="code"),
    "keep must be": lambda: m.filtering_curve(Y, S, keep="best"),
    "max_points must be": lambda: m.filtering_curve(Y, S, max_points=1),
    "truth and scores must both have": lambda: m.filtering_curve([[0]], [[1]]),
    r"truth\[0, 1\] must be finite and >= 0, got -1.0": lambda: m.ndcg_at_k([[1, -1]], S, 1),
    r"truth\[0, 0\] must be finite and >= 0, got nan": lambda: m.ndcg_at_k([[math.nan, 1]], S, 1),
    r"scores\[0, 0\] must be finite, got inf": lambda: m.precision_at_k(Y, [[math.inf, 1]], 1),
    r"scores\[0, 0\] must be finite and >= 0": lambda: m.xmad_at_k(Y, [[-0.5, 1]], 1),
    r"the shape of scores must be \(1, 2\), the shape of truth": lambda: m.auc_at_k(Y, [[1.0]], 1),
    "the shape of truth must be 2-dim": lambda: m.auc_at_k([1.0], S, 1),
    "the shape of truth must be one without zeros": lambda: m.auc_at_k(
        np.ones((0, 2)), np.ones((0, 2)), 1
    ),
    "truth must be a matrix of numbers": lambda: m.auc_at_k([["a"]], S, 1),
    "the type of truth must be numbers": lambda: m.auc_at_k(csr_array([[1j, 0]]), S, 1),
    "the sum of truth must be > 0": lambda: m.weighted_precision_at_k([[0, 0]], S, 1),
    "the number of pairs": lambda: m.auc_at_k([[0, 0]], S, 1),
    "the sum of sample_weight must be > 0": lambda: m.precision_at_k(Y, S, 1, sample_weight=[0]),
    "the length of sample_weight": lambda: m.xmad_at_k(Y, S, 1, per="label", sample_weight=[1]),
    "average must be 'ratio' or 'mean'": lambda: m.auc_at_k(Y, S, 1, average="sum"),
    "named must be": lambda: m.coverage_at_k(Y, S, 1, named="often"),
    "the number of relevant labels": lambda: m.coverage_at_k([[0, 0]], S, 1),
    "tolerance must be": lambda: m.auc_at_k(Y, S, 1, tolerance=-1),
    "scores must have an entry": lambda: m.calibration_error_at_k(Y, csr_array((1, 2)), 1),
    "bins must be 'mass' or 'width'": lambda: m.calibration_error_at_k(Y, S, 1, bins="equal"),
    "n_bins must be": lambda: m.calibration_error_at_k(Y, S, 1, n_bins=0),
    "a must be a finite number >= 0": lambda: m.propensities(Y, a=-1),
    "b must be a finite number > 0": lambda: m.propensities(Y, b=0),
    "the shape of train_truth": lambda: m.propensities(np.ones((0, 2))),
    "the length of propensity must be n_labels=2": lambda: m.psp_at_k(Y, S, 1, [1.0]),
    r"propensity\[1\] must be in \(0, 1\], got 0.0": lambda: m.psp_at_k(Y, S, 1, [1, 0]),
    "the largest of proba must be at most 1, got 2": lambda: m.label_log_loss(Y, [[2, 0]]),
    "the largest of truth must be at most 1, got 3": lambda: m.label_log_loss([[3, 0]], S),
    "floor must be in": lambda: m.label_log_loss(Y, S, floor=0),
    "ks must be one or more": lambda: m.multilabel_report(Y, S, ks=[]),
    "ks must be an integer >= 1": lambda: m.multilabel_report(Y, S, ks=[0]),
    "the shape of labels must be 2-dim": lambda: m.label_matrix([1, 2], classes=[1]),
    "the shape of labels must be 1-dim": lambda: m.label_matrix([[1]], classes=[1], starts=[0, 1]),
    "starts must rise from 0": lambda: m.label_matrix([1, 2], classes=[1], starts=[0, 1]),
    "the shape of values": lambda: m.label_matrix([[1, 2]], [[1]], classes=[1]),
    "the shape of classes": lambda: m.label_matrix([[1, 2]], classes=[]),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments_are_refused_by_name(message):
    with pytest.raises(ArgumentError, match=message):
        BAD[message]()


def test_ranks_decide_the_order_and_scores_the_errors():
    truth, scores = [[1, 0, 1], [0, 1, 0]], [[0.2, 0.9, 0.5], [0.1, 0.3, 0.2]]
    ranks = [[3, 1, 2], [-1, -2, -3]]
    found = m.multilabel_report(truth, scores, ks=[1], ranks=ranks)
    ranked = m.multilabel_report(truth, [[3, 1, 2], [3, 2, 1]], ks=[1])
    usual = m.multilabel_report(truth, scores, ks=[1])
    assert [found[name] for name in ("P", "R", "nDCG", "WP")] == [
        ranked[name] for name in ("P", "R", "nDCG", "WP")
    ]
    assert found["P"] == {1: 0.5}
    assert found["XMAD"] == usual["XMAD"]
    # Row 0 is ranked 0, 2, 1 and row 1 is ranked 0, 1, 2: one pair of 1 x 2 + 1 x 1 is wrong.
    assert (usual["AUC"], found["AUC"]) == ({1: approx(1 / 3)}, {1: approx(2 / 3)})
    assert (usual["mean AUC"], found["mean AUC"]) == ({1: 0.5}, {1: 0.5})
    assert found["ECE"] == {1: pytest.approx((0.8 + 0.1) / 2)}
    with pytest.raises(ArgumentError, match="ranks must have its entries"):
        m.multilabel_report(truth, csr_array([[0.5, 0, 0], [0, 1, 0]]), ks=[1], ranks=ranks)
