"""Progressive validation of rows with many labels: the metrics of whole files, row after row,
however the stream is cut into updates.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from labeltrees import metrics
from labeltrees.data.labels import RaggedLabels
from labeltrees.errors import ArgumentError
from labeltrees.metrics import ProgressiveValidation, hoeffding_radius
from labeltrees.models.model import Predictions

N_LABELS = 8


def random_stream(seed, n_rows=60):
    """Return truth and scores as matrices, and weights of rows; some rows have no label."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_rows, N_LABELS)) < 0.3
    truth[0] = False
    scores = rng.permuted(np.tile(np.arange(1, N_LABELS + 1) / 10, (n_rows, 1)), axis=1)
    is_new = rng.random(truth.shape) < 0.1
    return truth, scores, is_new, rng.choice([0.0, 0.5, 1.0, 3.0], n_rows)


def feed(stream, truth, scores, is_new, weight, k=5):
    order = np.argsort(-scores, axis=1)[:, :k]
    starts = np.concatenate([[0], np.cumsum(truth.sum(axis=1))])
    stream.update(
        scores[truth],
        starts=starts,
        is_new=is_new[truth],
        correct=np.take_along_axis(truth, order, axis=1),
        p_top=np.take_along_axis(scores, order, axis=1)[:, 0],
        sample_weight=weight,
    )


def test_worked_example_by_hand():
    stream = ProgressiveValidation(label_sets=True, n_expected=2, tail_fraction=0.5, floor=0.01)
    hits = [[True, False, False, False, False], [False, True, True, False, False]]
    stream.update(
        [0.5, 0.0, 0.25, 0.125], hits, [0.75, 0.5],
        starts=[0, 2, 4], is_new=[False, True, False, False],
    )  # fmt: skip
    found = stream.summary()
    assert (found.n_rows, found.n_labels, found.n_new_labels) == (2, 4, 1)
    assert found.precision_at_1 == 0.5
    assert found.precision_at_1_radius == hoeffding_radius(2)
    assert found.precision_at_3 == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert found.precision_at_5 == pytest.approx((1 / 5 + 2 / 5) / 2)
    best = 1 + 1 / math.log2(3)
    assert found.ndcg_at_5 == pytest.approx((1 / best + (1 / math.log2(3) + 0.5) / best) / 2)
    assert found.log_loss_seen == pytest.approx(math.log(2 * 4 * 8) / 3)
    assert found.log_loss == pytest.approx((math.log(2 * 4 * 8) + math.log(100)) / 4)
    assert found.calibration_error == pytest.approx((0.25 + 0.5) / 2)
    assert found.tail.n_rows == 1
    assert found.tail.precision_at_1 == 0


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_the_whole_file(seed):
    truth, scores, is_new, weight = random_stream(seed)
    stream = ProgressiveValidation(label_sets=True)
    feed(stream, truth, scores, is_new, weight)
    found = stream.scores()
    for k in (1, 3, 5):
        expected = metrics.precision_at_k(truth, scores, k, sample_weight=weight)
        assert getattr(found, f"precision_at_{k}") == pytest.approx(expected)
    expected = metrics.ndcg_at_k(truth, scores, 5, sample_weight=weight)
    assert found.ndcg_at_5 == pytest.approx(expected)
    of_label = np.broadcast_to(weight[:, None], truth.shape)
    seen = truth & ~is_new
    expected = np.average(-np.log(scores[seen]), weights=of_label[seen])
    assert found.log_loss_seen == pytest.approx(expected)
    assert found.n_new_labels == (truth & is_new).sum()


def test_neither_cuts_nor_a_restored_state_change_anything():
    parts = random_stream(9, 95)
    whole = ProgressiveValidation(label_sets=True, n_expected=95, block_size=10, max_points=4)
    feed(whole, *parts)
    cut = ProgressiveValidation(label_sets=True, n_expected=95, block_size=10, max_points=4)
    for begin, end in ((0, 33), (33, 33), (33, 34), (34, 95)):
        feed(cut, *(part[begin:end] for part in parts))
        cut = ProgressiveValidation.from_state(json.loads(json.dumps(cut.state())), label_sets=True)
    one, other = whole.summary().to_dict(), cut.summary().to_dict()
    assert [point["n_rows"] for point in one["curve"]] == [40, 80, 95]
    for name in ("tail", "curve"):
        found, expected = other.pop(name), one.pop(name)
        pairs = zip(*([each] if isinstance(each, dict) else each for each in (found, expected)),
                    strict=True)  # fmt: skip
        for left, right in pairs:
            assert left == pytest.approx(right)
    assert other == pytest.approx(one)


def test_precision_needs_as_many_labels_as_it_counts():
    stream = ProgressiveValidation(label_sets=True)
    feed(stream, *random_stream(1), k=2)
    found = stream.scores()
    assert found.precision_at_1 is not None
    assert found.precision_at_3 is found.ndcg_at_5 is None
    assert list(found.brief()) == ["P@1", "log loss"]
    assert ProgressiveValidation(label_sets=True).scores().brief() == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], [0, 2]), "starts must increase from 0 to the 1 entries"),
        (([0.5], [1, 1]), "starts must increase from 0"),
        (([0.5, 0.5], [0, 2, 1, 2]), "starts must increase from 0"),
        (([1.5], [0, 1]), "p_label"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(arguments, message):
    stream = ProgressiveValidation(label_sets=True)
    before = stream.state()
    with pytest.raises(ArgumentError, match=message):
        stream.update(arguments[0], starts=arguments[1])
    assert stream.state() == before
    with pytest.raises(ArgumentError, match="correct must be given with p_top"):
        stream.update([0.5], starts=[0, 1], p_top=[0.5])
    with pytest.raises(ArgumentError, match="not the state of a progressive validation"):
        ProgressiveValidation.from_state({"sums": 7}, label_sets=True)


def test_a_state_of_0_2_0_goes_on():
    stream = ProgressiveValidation(label_sets=True, n_expected=50)
    feed(stream, *random_stream(3))
    state = stream.state()
    of_old = [9, 0, 3, 4, 5, 7, 6, 8, 10, 11, 12, 13, 14]
    old = [
        [n, new, *([each[i] for i in of_old] for each in sums)] for n, new, *sums in state["sums"]
    ]
    restored = ProgressiveValidation.from_state(state | {"sums": old}, label_sets=True)
    assert restored.summary() == stream.summary()


def test_predictions_are_observed_as_if_their_hits_were_counted_by_hand():
    labels = RaggedLabels.of_lists([["a", "b"], ["c"]])
    top, p_top = [["a", "c", "b"], ["d", "c", None]], [[0.5, 0.25, 0.125], [0.75, 0.5, 0.0]]
    p_label, is_new = np.array([0.5, 0.125, 0.5]), np.array([False, False, True])
    seen = Predictions(p_label, np.array(top, dtype=object), np.array(p_top), is_new)
    streams = [ProgressiveValidation(label_sets=True) for _ in range(2)]
    streams[0].observe(seen, labels, [1.0, 2.0])
    streams[1].update(
        p_label, [[True, False, True], [False, True, False]], [0.5, 0.75],
        starts=[0, 2, 3], is_new=is_new, sample_weight=[1.0, 2.0],
    )  # fmt: skip
    assert streams[0].summary() == streams[1].summary()
    with pytest.raises(ArgumentError, match="starts must be None without label_sets=True"):
        ProgressiveValidation().observe(seen, labels)
    with pytest.raises(ArgumentError, match="the length of correct"):
        streams[0].update([0.5], [[True], [False]])


def test_a_single_label_is_observed_with_its_most_likely_one():
    seen = Predictions(
        np.array([0.5, 0.25]),
        np.array([["a"], ["b"]]),
        np.array([[0.5], [0.75]]),
        np.zeros(2, bool),
    )
    stream = ProgressiveValidation()
    stream.observe(seen, ["a", "a"])
    assert (stream.scores().accuracy, stream.scores().calibration_error) == (0.5, 0.625)
