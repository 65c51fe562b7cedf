"""Tables, arrays and graded records: which column is what, and what comes of it."""

import csv
import io
import json

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.data.readers import (
    NoFeatures,
    open_reader,
    profile_file,
    read_csv,
    read_fasttext,
    read_jsonl,
    read_lines,
    read_npz,
)
from labeltrees.errors import ArgumentError, DataFileError


def read(text, **options):
    text = text.encode() if isinstance(text, str) else text
    (chunk,) = read_csv(io.BytesIO(text), vectorizer=NoFeatures(), **options)
    return chunk


def labels_of(chunk):
    return [part.tolist() for part in np.split(chunk.labels, chunk.label_starts[1:-1])]


# Texts


def test_columns_are_found_by_their_names():
    chunk = read("id,Title,Description,Tags\n1,a b,c d,x|y\n2,e,f,y|z\n3,g,,\n")
    assert chunk.texts == ["a b c d", "e f", "g"]
    assert labels_of(chunk) == [["x", "y"], ["y", "z"], []]
    assert (chunk.lines.tolist(), chunk.n_unlabelled) == ([2, 3, 4], 1)


def test_several_columns_of_texts_are_joined():
    text = "title,description,intent\nA first title,what is in it,a\nAnother such title,,b\n"
    assert read(text).texts == ["A first title what is in it", "Another such title"]
    assert read(text, text_column="title").texts == ["A first title", "Another such title"]
    assert read(text, text_column=[2, "title"]).texts[0] == "what is in it A first title"


def test_columns_can_be_said_by_name_or_number():
    text = "one,two,three\nred,this is a text,x\nblue,this is another,y\nred,more of the same,x\n"
    assert read(text, label_column="three", header=True).labels.tolist() == ["x", "y", "x"]
    assert read(text, label_column=1, header=True).labels.tolist() == ["red", "blue", "red"]
    assert read(text, label_column=1, header=False).labels.tolist()[0] == "one"


def test_quotes_line_ends_and_delimiters_are_those_of_csv():
    text = '\ufefflabel;text\r\na;"one; ""two""\r\nthree"\r\nb;four\r\n'
    chunk = read(text)
    assert chunk.texts == ['one; "two"\r\nthree', "four"]
    assert chunk.lines.tolist() == [2, 4]


def test_a_table_without_names_is_read_by_its_content():
    rows = [("3", "Wall St. bears claw back", "Short sellers are seeing green")] * 3
    rows += [("1", "Stocks fall in early trade", "Markets were lower on Monday")] * 3
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    chunk = read(file.getvalue())
    assert chunk.labels.tolist() == ["3"] * 3 + ["1"] * 3
    assert chunk.texts[0] == "Wall St. bears claw back Short sellers are seeing green"


CELLS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\x00"), max_size=12
)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_what_csv_writes_is_read(rows):
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(["label", "text"])
    writer.writerows(rows)
    chunk = read(file.getvalue(), label_separator=None, text_column="text", label_column="label")
    assert chunk.texts == [text.strip() for _, text in rows]
    assert labels_of(chunk) == [[label.strip()] if label.strip() else [] for label, _ in rows]


# Features


def test_numbers_are_dense_features():
    text = 'lettr,x,y\n"T",2,8\n"I",,1.5e1\n"T",-1,NA\n'
    chunk = read(text)
    assert chunk.features.toarray().tolist() == [[2, 8], [0, 15], [-1, 0]]
    assert chunk.labels.tolist() == ["T", "I", "T"]
    assert chunk.texts is None


def test_the_last_column_of_numbers_is_the_label_if_it_is_a_class():
    rows = "".join(f"{i / 7:.3f},{i % 5}.25,{i % 2}\n" for i in range(40))
    profile = profile_file(io.BytesIO(rows.encode()), format="csv")
    assert profile.layout.options["label"] == "3"
    assert "--label-column" in profile.notes[0]
    assert (profile.n_labels, profile.is_dense, profile.is_text) == (2, True, False)


def test_other_columns_are_named_features():
    chunk = read("colour,legs,kind\nred,4,cat\nblue,2,bird\nred,0,cat\n", label_column="kind")
    (same,) = read_jsonl(
        io.BytesIO(
            b'{"label": "cat", "features": {"colour=red": 1, "legs": 4}}\n'
            b'{"label": "bird", "features": {"colour=blue": 1, "legs": 2}}\n'
            b'{"label": "cat", "features": {"colour=red": 1}}\n'
        )
    )
    assert (chunk.features != same.features).nnz == 0
    assert chunk.features.shape[1] == _core.HASHED_WIDTH


def test_row_numbers_are_no_features():
    rows = "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(30))
    assert read(",x,kind\n" + rows).features.shape == (30, 1)
    assert read("id,x,kind\n" + rows).features.shape == (30, 1)
    assert read("PassengerId,x,kind\n" + rows).features.shape == (30, 1)
    assert read(rows).features.shape == (30, 1)


def test_weights_and_ratings():
    text = "text,user,rating,weight\nToy Story of old,u1,4.5,2\nHeat of the night,u2,0,\n"
    chunk = read(text)
    assert chunk.labels.tolist() == ["u1", "u2"]
    assert chunk.relevance.tolist() == [4.5, 0]
    assert chunk.weights.tolist() == [2, 1]
    graded = profile_file(io.BytesIO(text.encode()))
    assert graded.graded
    assert "'rating' holds the relevance" in " ".join(graded.notes)


# Errors

BAD = [
    (
        "userId,movieId,rating\n1,2,4.0\n1,3,4.0\n",
        1,
        "ratings needs a column with texts",
    ),
    ("label,text\na,b,c\n", 2, "the row has 3 cells, but the first row has 2"),
    ('label,text\na,one\nb,"open\n', 3, "not a row of a table: unexpected end of data"),
    ("label,label\na,b\n", 1, "two columns have the name 'label'"),
    ("x,y\n1,2.5\n2,3.5\n3,4.5\n4,5.5\n", 1, "could not be detected among 'x', 'y'"),
    ("label\na\nb\n", 1, "none of the columns 'label' holds a text or features"),
    ("label,text,rating\na,b c d,4\nb,c d e,-1\n", 3, "the relevance '-1' is not a number in"),
    ("label,x\na,1\nb,1e99\n", 3, "the x '1e99' is not a finite number"),
    ("label,text\na,caf\udce9\n", 2, "not valid UTF-8: byte 0xe9 at its place 6"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BAD)
def test_bad_tables_name_file_and_line(text, line, reason, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataFileError, match=reason) as caught:
        list(read_csv(path))
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_late_word_in_a_column_of_numbers_names_its_line():
    text = "label,x\n" + "a,1\nb,2\n" * 2000 + "a,oops\n"
    with pytest.raises(DataFileError, match=":4002: the x 'oops' is not a finite number"):
        list(read_csv(io.BytesIO(text.encode())))


def test_a_quote_that_never_closes_does_not_take_all_memory():
    text = b'label,text\na,"open\n' + b"word word\n" * 200_000
    with pytest.raises(DataFileError, match=":2: a quote is not closed, or the line is longer"):
        list(read_csv(io.BytesIO(text), max_line_bytes=10_000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": "lable"}, "label_column must be one of the columns 'label', 'text' or a"),
        ({"text_column": 3}, "or a number in [1, 2], got 3."),
        ({"label_column": True}, "label_column must be the name of a column or its number, from 1"),
        ({"delimiter": ":"}, "delimiter must be ',', '\\t', ';' or '|', got ':'."),
        ({"label_separator": ""}, "label_separator must be None or a string"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ArgumentError) as caught:
        list(read_csv(io.BytesIO(b"label,text\na,b\n"), **options))
    assert message in str(caught.value)


# fastText and lines


def test_fasttext_labels_may_stand_anywhere():
    text = b"__label__a  __label__b\tgood morning\n  __label__c night __label__a x\n"
    text += b"plain\n__label__d\n"
    (chunk,) = read_fasttext(io.BytesIO(text), vectorizer=NoFeatures())
    assert labels_of(chunk) == [["a", "b"], ["c", "a"], [], ["d"]]
    assert chunk.texts == ["good morning", "night x", "plain", ""]
    (chunk,) = read_fasttext(io.BytesIO(b"#a x\n"), label_prefix="#", vectorizer=NoFeatures())
    assert chunk.labels.tolist() == ["a"]
    with pytest.raises(ArgumentError, match="label_prefix must be a string without blanks"):
        read_fasttext("x", label_prefix="a b")


def test_lines_are_texts_without_labels():
    (chunk,) = read_lines(io.BytesIO(b"a\tb\r\n\n c\n"), vectorizer=NoFeatures())
    assert (chunk.texts, chunk.n_unlabelled) == (["a\tb", " c"], 2)
    assert chunk.lines.tolist() == [1, 3]


# Graded JSON lines


def test_json_labels_may_have_a_relevance():
    rows = [{"labels": {"a": 3.5, "b": 0}, "text": "x"}, {"label": "c", "text": "y"}]
    file = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    (chunk,) = read_jsonl(file, vectorizer=NoFeatures())
    assert labels_of(chunk) == [["a", "b"], ["c"]]
    assert chunk.relevance.tolist() == [3.5, 0, 1]
    assert chunk.texts == ["x", "y"]
    for bad, reason in ((-1, "the relevance -1 of 'a'"), ("1", "expected a number")):
        file = io.BytesIO(json.dumps({"labels": {"a": bad}, "text": ""}).encode())
        with pytest.raises(DataFileError, match=f":1: {reason}"):
            list(read_jsonl(file))


def test_usual_names_stand_for_text_and_label():
    rows = [{"utterance": "x", "intent": "a", "id": 1}, {"utterance": "y"}]
    content = "\n".join(map(json.dumps, rows)).encode()
    (chunk,) = read_jsonl(io.BytesIO(content), vectorizer=NoFeatures())
    assert (chunk.texts, labels_of(chunk)) == (["x", "y"], [["a"], []])
    assert profile_file(io.BytesIO(content)).notes[:2] == (
        "The field 'utterance' is used as the text.",
        "The field 'intent' is used as the label.",
    )
    (chunk,) = read_jsonl(io.BytesIO(b'{"tags": ["a", "b"], "features": {"x": 1}}'))
    assert labels_of(chunk) == [["a", "b"]]
    (chunk,) = read_jsonl(
        io.BytesIO(b'{"label": 1, "intent": 2, "text": "a", "title": "b"}'),
        vectorizer=NoFeatures(),
    )
    assert (chunk.texts, chunk.labels.tolist()) == (["a"], [1])
    with pytest.raises(DataFileError, match="must have 'text' or 'features', but its fields"):
        list(read_jsonl(io.BytesIO(b'{"label": 1, "words": "a"}')))


# Arrays


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return io.BytesIO(file.getvalue())


X = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("name", ["X", "features", "data"])
@pytest.mark.parametrize("labels", ["y", "labels", "target"])
def test_dense_arrays_and_labels(name, labels):
    (chunk,) = read_npz(npz(**{name: X, labels: np.array([3, 1, 3])}))
    assert chunk.features.toarray().tolist() == X.tolist()
    assert chunk.labels.tolist() == [3, 1, 3]
    assert chunk.relevance is None


def test_sparse_arrays_as_scipy_saves_them(tmp_path):
    path = tmp_path / "rows.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(X))
    (chunk,) = open_reader(path)
    assert chunk.features.toarray().tolist() == X.tolist()
    assert chunk.n_unlabelled == 3
    parts = scipy.sparse.csr_array(X)
    chunks = list(
        read_npz(
            npz(
                X_data=parts.data,
                X_indices=parts.indices,
                X_indptr=parts.indptr,
                X_shape=parts.shape,
                y=np.array(["a", "b", "a"]),
                weights=[1, 2, 3],
            ),
            chunk_rows=2,
        )
    )
    assert [chunk.labels.tolist() for chunk in chunks] == [["a", "b"], ["a"]]
    assert chunks[1].weights.tolist() == [3]
    assert chunks[1].first_line == 3
    scipy.sparse.save_npz(path, scipy.sparse.csc_array(X))
    with pytest.raises(DataFileError, match=r"Save X.tocsr\(\)"):
        list(read_npz(path))


def test_matrices_of_relevances_are_labels():
    y = np.array([[0, 1, 0.5], [0, 0, 0], [2, 0, 0]])
    (chunk,) = read_npz(npz(X=X, y=y, label_names=np.array(["a", "b", "c"])))
    assert labels_of(chunk) == [["b", "c"], [], ["a"]]
    assert chunk.relevance.tolist() == [1, 0.5, 2]
    (chunk,) = read_npz(npz(X=X, y=y > 0))
    assert (labels_of(chunk), chunk.relevance) == ([[1, 2], [], [0]], None)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"y": [1]}, "there is no matrix X among the arrays y"),
        ({"X": [1, 2]}, "there is no matrix X"),
        ({"X": X, "y": [1, 2]}, "y must have 3 rows like X"),
        ({"X": X, "y": [0.5, 1, 2]}, "the labels y must be integers or strings"),
        ({"X": X * np.nan}, "NaN"),
        ({"X": X, "y": -X}, "the relevances y must be numbers >= 0"),
        ({"X": X, "weights": [1]}, "weights must be 3 numbers >= 0"),
        ({"X": np.array([{}], object)}, "not a file of NumPy arrays"),
    ],
)
def test_bad_arrays_say_what_is_wrong(arrays, reason):
    with pytest.raises(DataFileError, match=reason):
        list(read_npz(npz(**arrays)))


@given(at=st.floats(0, 1), inserted=st.binary(max_size=4), n_removed=st.integers(0, 40))
def test_damaged_arrays_give_chunks_or_an_error(at, inserted, n_removed):
    content = bytearray(npz(X=X, y=[1, 2, 3]).getvalue())
    begin = int(at * len(content))
    content[begin : begin + n_removed] = inserted
    try:
        n_rows = sum(chunk.n_rows for chunk in read_npz(io.BytesIO(bytes(content))))
    except DataFileError as error:
        n_rows = error.line
    assert n_rows >= 0
