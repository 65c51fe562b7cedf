"""LabelVocabulary: first-seen order, stable ids, one kind of label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import LabelTypeError

words = st.lists(st.text(max_size=4))
integers = st.lists(st.integers(-(2**63), 2**63 - 1))


@given(st.lists(words | st.none(), max_size=6))
def test_ids_follow_first_sight_and_never_change(batches):
    vocabulary = LabelVocabulary()
    order = []
    for batch in filter(None, batches):
        order += [w for w in dict.fromkeys(batch) if w not in order]
        ids = vocabulary.add(batch)
        assert [order[i] for i in ids] == batch
        assert vocabulary.labels.tolist() == order
    assert len(vocabulary) == len(order)


@given(words | integers)
def test_tensors_bring_every_label_back(labels):
    vocabulary = LabelVocabulary(labels)
    again = LabelVocabulary.from_tensors(vocabulary.to_tensors())
    assert again.labels.tolist() == vocabulary.labels.tolist()
    assert again.is_text == vocabulary.is_text


@pytest.mark.parametrize(
    "labels",
    [[1, 2], (1, 2), np.array([1, 2], "u1"), np.array([1, 2], object), [np.int16(1), 2], [True, 2]],
)
def test_integers_of_any_width_are_the_same_labels(labels):
    assert LabelVocabulary([1, 2]).ids(labels).tolist() == [0, 1]


def test_numpy_strings_are_strings():
    vocabulary = LabelVocabulary(np.array(["a", "b"]))
    assert vocabulary.ids([np.str_("b")]).tolist() == [1]
    assert "a" in vocabulary
    assert 1 not in vocabulary


@pytest.mark.parametrize(
    "labels", [["a", 1], [1.5], [None], [b"a"], np.array([1.0]), [2**63], np.array([2**63], "u8")]
)
def test_labels_of_another_kind_are_refused_and_change_nothing(labels):
    vocabulary = LabelVocabulary([7])
    with pytest.raises(LabelTypeError):
        vocabulary.add(labels)
    assert vocabulary.labels.tolist() == [7]


def test_strings_do_not_join_integers():
    with pytest.raises(LabelTypeError, match="labels of this model are int, got str"):
        LabelVocabulary([7]).ids(["7"])


def test_sorting_agrees_with_numpy_however_labels_come():
    rng = np.random.default_rng(0)
    vocabulary = LabelVocabulary()
    assert vocabulary.sorting() is None
    for n in (1, 3, 1, 40, 200):
        vocabulary.add([f"label {each}" for each in rng.integers(1000, size=n)])
        found, labels = vocabulary.sorting(), vocabulary.labels
        ids = np.arange(len(labels)) if found is None else found.ids
        assert labels[ids].tolist() == sorted(labels.tolist())
        if found is not None:
            assert found.places[ids].tolist() == list(range(len(labels)))
            assert vocabulary.sorting() is found  # sorted once
    fewer = vocabulary.sorting(5)  # as an answer has them that was given before others came
    assert labels[fewer.ids].tolist() == sorted(labels[:5].tolist())
    with pytest.raises(ValueError, match="read-only"):
        found.ids[0] = 3


def test_labels_that_came_sorted_need_no_sorting():
    assert LabelVocabulary(["a", "b", "c"]).sorting() is None
    assert LabelVocabulary([3, -1, 2]).sorting().ids.tolist() == [1, 2, 0]
