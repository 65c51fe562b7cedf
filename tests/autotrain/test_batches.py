"""Batches of a chunk: one label per row, or all labels of a row together."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labeltrees.autotrain._batches import batch_of, predicted_rows, scored_k
from labeltrees.autotrain._options import online_method_for
from labeltrees.autotrain._streaming import learn_stream
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.readers import profile_file, read_jsonl, read_svmlight
from labeltrees.errors import DataFileError
from labeltrees.models.multilabel.model import MultiLabelTreeModel
from labeltrees.models.multilabel.settings import MultiLabelSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labeltrees.data.chunk import Chunk

TWO = b"7,3 0:1\n 1:1\n3,9,3 1:1 2:1\n9 2:1\n"


def chunk_of(content: bytes) -> Chunk:
    (chunk,) = read_svmlight(io.BytesIO(content))
    return chunk


def sets_file(n_rows: int = 3000) -> bytes:
    """Rows sorted by their labels: two of 20 labels each, each with a feature of its own."""
    rng = np.random.default_rng(0)
    lines = []
    for row in range(n_rows):
        a = row * 20 // n_rows
        b = (a + rng.integers(1, 3)) % 20
        lines.append(b"%d,%d %d:1 %d:1 %d:1\n" % (a, b, *sorted((a, b)), rng.integers(100, 140)))
    return b"".join(lines)


def start(n_features: int) -> Any:
    return MultiLabelTreeModel.empty(MultiLabelSettings(), n_features)


def test_a_label_named_twice_counts_once_and_rows_without_labels_are_left_out() -> None:
    batch = batch_of(chunk_of(TWO), None)
    assert batch.targets.starts.tolist() == [0, 2, 4, 5]
    assert batch.labels.tolist() == [7, 3, 3, 9, 9]
    assert batch.lines.tolist() == [1, 3, 4]
    one = batch_of(chunk_of(TWO), "first")
    assert (one.labels.tolist(), one.lines.tolist()) == ([7, 3, 9], [1, 3, 4])


@pytest.mark.parametrize(("refine", "n_top"), [(16, 3), (2, 3), (0, 6)])
def test_rows_are_predicted_before_they_are_learned(refine: int, n_top: int) -> None:
    """Predictions are those of a model that is queried and updated row by row."""
    chunk = chunk_of(sets_file(60))
    settings = MultiLabelSettings(refine=refine)
    model, alone = (MultiLabelTreeModel.empty(settings, UNBOUNDED_WIDTH) for _ in range(2))
    assert (n_top > settings.batch_k) == (refine == 2)
    batch = batch_of(chunk, None)
    k = scored_k(settings, n_top)
    predicted = model.update(batch.rows, batch.targets, batch.weights, k=k)
    found = predicted_rows(batch, predicted, single=False)
    for number, (line, own, p_own, labels, p) in enumerate(found):
        row = np.array([number])
        rows, own_labels = batch.rows.take(row), batch.targets.take(row)
        assert (line, own) == (number + 1, own_labels.labels.tolist())
        known = alone.n_tree_labels
        expected = alone.label_probabilities(rows.take(np.zeros(2, np.int64)), own)
        assert p_own == pytest.approx(expected.tolist(), abs=1e-12)
        if known:
            top = alone.top_labels(rows, min(n_top, known))
            n = len(labels)  # unlikely ones are no candidates
            assert n >= 1
            assert labels[:n_top] == top.labels[0, :n].tolist()[:n_top]
            assert p[:n_top] == pytest.approx(top.probabilities[0, :n].tolist()[:n_top], abs=1e-12)
        alone.update(rows, own_labels, batch.weights[row])


def test_a_sorted_file_of_sets_is_mixed_and_learned_well() -> None:
    def chunks() -> Iterator[Chunk]:
        return read_svmlight(io.BytesIO(sets_file()), chunk_rows=500)

    once = learn_stream(chunks, start, in_order=False, one_label=None)
    assert once.measured is not None
    assert once.measured.table["the model"]["P@1"] > 0.95
    assert once.progressive.n_rows + once.measured.n_rows == 3000
    assert once.progressive.n_new_labels == 20
    assert once.progressive.precision_at_1 > 0.9
    twice = learn_stream(chunks, start, in_order=False, one_label=None, n_passes=2)
    assert twice.progressive == once.progressive
    assert twice.model.core.mass_of_rows == once.model.core.mass_of_rows  # no new evidence
    assert twice.measured.table != once.measured.table


def test_a_relevance_above_one_is_named_with_file_and_line() -> None:
    rows = [{"text": "a", "labels": {"x": 0.5}}, {"text": "b", "labels": {"x": 2, "y": 1}}]
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    (chunk,) = read_jsonl(io.BytesIO(content))
    with pytest.raises(
        DataFileError, match=r"^ratings:2: a label has relevance 2, but .* \[0, 1\]"
    ):
        batch_of(chunk, None, path="ratings")


ONE, SEVERAL = b"1 0:1\n", b"1,2 0:1\n"
KINDS = {
    "one label": (ONE * 50, "conditional"),
    "several": (ONE * 50 + SEVERAL, "multilabel"),
    "mistakes": (ONE * 150 + SEVERAL, "conditional"),
    "graded": (b"1:0.5,2:1 0:1\n" * 5, "multilabel"),
    "above 1": (b"1:5,2:1 0:1\n" * 5, "conditional"),
    "distributions": (b'{"label": {"a": 0.5, "b": 0.5}, "text": "x"}\n' * 5, "conditional"),
}


@pytest.mark.parametrize("case", KINDS)
def test_rows_with_several_labels_are_learned_together(case: str) -> None:
    content, expected = KINDS[case]
    assert online_method_for(profile_file(io.BytesIO(content)))[0] == expected
    assert online_method_for(None)[0] == "conditional"
