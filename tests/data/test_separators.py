"""One label or several in a field: the rule, on files as people have them."""

import io
import random

import pytest

from labeltrees.data.readers import NoFeatures, read_tsv
from labeltrees.data.readers.detection.separators import (
    choose_separator,
    sentence_share,
    split_labels,
)
from labeltrees.errors import ArgumentError, DataFileError

INTENTS = ["card lost", "card arrival", "pay a bill", "exchange rate", "greeting"]


def rows_of(fields, texts=None):
    texts = texts or [f"text number {i}" for i in range(len(fields))]
    return "".join(f"{f}\t{t}\n" for f, t in zip(fields, texts, strict=True)).encode()


def read(text, **options):
    return list(read_tsv(io.BytesIO(text), vectorizer=NoFeatures(), **options))


def labels_of(chunks):
    return {label for chunk in chunks for label in chunk.labels.tolist()}


# The rule


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_names_with_spaces_that_repeat_are_one_label(order):
    fields = sorted(INTENTS * 30)
    if order == "shuffled":
        random.Random(0).shuffle(fields)
    chosen = choose_separator(fields)
    assert chosen.separator is None
    assert "--label-separator" in chosen.notes[0]
    assert labels_of(read(rows_of(fields))) == set(INTENTS)


@pytest.mark.parametrize("separator", [" ", ",", ";", "|", ", "])
def test_tags_in_new_combinations_are_several_labels(separator):
    rng = random.Random(1)
    tags = [f"tag{i}" for i in range(12)]
    fields = [separator.join(rng.sample(tags, rng.randint(1, 4))) for _ in range(200)]
    assert choose_separator(fields).separator == (separator.strip() or " ")
    assert labels_of(read(rows_of(fields))) == set(tags)


def test_a_separator_inside_names_that_repeat_is_no_separator():
    assert choose_separator(["Paris, France", "Rome, Italy"] * 9).separator is None
    assert choose_separator(["R|D", "sales"] * 9).separator is None


def test_combinations_of_labels_that_stand_alone_are_several():
    fields = ["cat"] * 50 + ["dog"] * 50 + ["cat,dog"] * 3
    assert choose_separator(fields).separator == ","
    assert choose_separator(["big cat"] * 50 + ["big dog"] * 50).separator is None


def test_a_rare_mark_is_no_separator():
    fields = [f"name {i % 20}" for i in range(400)] + ["odd; one"]
    assert choose_separator(fields).separator != ";"


def test_numbers_with_spaces_are_always_ids():
    assert choose_separator(["12 7", "12 7", "3", "3"]).separator == " "


def test_fields_that_never_repeat_are_split_and_said_so():
    chosen = choose_separator(["how to pay", "how to leave", "where is it"])
    assert chosen.separator == " "
    assert "look like words of a sentence" in chosen.notes[1]
    assert "--label-separator none" in chosen.notes[1]


def test_no_field_says_nothing():
    assert choose_separator([]).separator == " "
    assert choose_separator(["", " "]).separator == " "
    assert choose_separator(["a", "b"]).separator is None


def test_split_labels_are_distinct_and_trimmed():
    assert split_labels(" a , b,,a ", ",") == ["a", "b"]
    assert split_labels("a  b a", " ") == ["a", "b"]
    assert split_labels("  ", None) == []
    assert sentence_share([]) == 0


# Swapped columns and headers


def swapped_rows():
    texts = [f"how do i ask for the thing number {i}" for i in range(60)]
    return texts, [INTENTS[i % 5] for i in range(60)]


def test_swapped_columns_stop_with_what_to_do():
    texts, labels = swapped_rows()
    swapped = rows_of(texts, labels)
    with pytest.raises(
        DataFileError, match="labels and texts look swapped: the first 60 rows"
    ) as caught:
        read(swapped)
    assert "--label-column 2" in str(caught.value)
    assert caught.value.line == 1
    assert labels_of(read(swapped, label_column=2)) == set(INTENTS)
    assert read(swapped, label_column=2)[0].texts[0] == texts[0]
    assert read(swapped, label_column=1)[0].texts[0] == labels[0]


def test_swapped_columns_of_tags_are_noticed_by_sentences():
    rng = random.Random(2)
    texts = [f"a tool for the work with {rng.random()} of these" for _ in range(100)]
    tags = [" ".join(f"field-of-many-tags::{rng.randint(0, 30)}" for _ in range(4)) for _ in texts]
    with pytest.raises(DataFileError, match="look swapped"):
        read(rows_of(texts, tags))
    assert read(rows_of(tags, texts))[0].n_rows == 100


def test_extreme_data_is_not_swapped():
    rng = random.Random(3)
    ids = [" ".join(str(rng.randint(0, 10**6)) for _ in range(8)) for _ in range(200)]
    assert read(rows_of(ids, [f"title {i}" for i in range(200)]))[0].n_rows == 200
    own = [f"a{i} b{i}" for i in range(200)]
    assert len(labels_of(read(rows_of(own, ["the book of things"] * 200)))) == 400


def test_many_tags_of_short_titles_are_not_swapped():
    rng = random.Random(5)
    fields = [" ".join(f"tag{rng.randint(0, 150)}" for _ in range(9)) for _ in range(60)]
    titles = [f"Title {i}x{i}" for i in range(60)]
    assert len(labels_of(read(rows_of(fields, titles)))) > 60
    # Other words than English ones, the other way round.
    texts = [" ".join(f"sana{rng.randint(0, 400)}" for _ in range(9)) for _ in range(60)]
    swapped = rows_of(texts, [f"aihe{i % 7} aihe{i % 5}" for i in range(60)])
    with pytest.raises(DataFileError, match="look swapped"):
        read(swapped)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_header_is_skipped_and_tells_the_columns(end):
    (chunk,) = read(b"Label\tText\na\tone\n".replace(b"\n", end))
    assert (chunk.labels.tolist(), chunk.texts, chunk.lines.tolist()) == (["a"], ["one"], [2])
    (chunk,) = read(b"sentence\tintent\none two\ta\n".replace(b"\n", end))
    assert (chunk.labels.tolist(), chunk.texts) == (["a"], ["one two"])
    (chunk,) = read(b"label\ttext\na\tone\n", header=False)
    assert chunk.labels.tolist() == ["label", "a"]
    (chunk,) = read(b"x\ty\na\tone\n", header=True)
    assert chunk.labels.tolist() == ["a"]


def test_a_label_and_a_text_that_are_such_words_are_no_header_later():
    (chunk,) = read(b"a\tone\nlabel\ttext\n")
    assert chunk.labels.tolist() == ["a", "label"]


def test_quotes_mean_nothing_in_tsv():
    (chunk,) = read(b'a\t"hello" he said\nb\t"open\n')
    assert chunk.texts == ['"hello" he said', '"open']


def test_the_first_megabyte_decides_and_the_rest_follows(monkeypatch):
    from labeltrees.data.readers.detection import first_block

    monkeypatch.setattr(first_block, "FIRST_BLOCK_BYTES", 100)
    text = rows_of(["card lost"] * 20) + rows_of(["new label"])
    assert labels_of(read(text)) == {"card lost", "new label"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": 3}, "label_column must be 'auto', 1 or 2, got 3."),
        ({"label_column": "2"}, "label_column must be 'auto', 1 or 2, got '2'."),
        ({"header": 1}, "header must be True, False or 'auto', got 1."),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ArgumentError) as caught:
        read_tsv("x", **options)
    assert str(caught.value) == message
