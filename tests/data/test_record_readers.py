"""The readers of text and of records: TSV, JSON lines, Parquet."""

import gzip
import io
import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.readers import (
    fit_tfidf,
    open_reader,
    read_jsonl,
    read_parquet,
    read_tsv,
    source,
)
from labeltrees.errors import ArgumentError, DataFileError

TSV = b"a b\tgood morning\n\tgood night\nc\tnight\tshift\n"
TEXTS = ["good morning", "good night", "night\tshift"]


def labels_of(chunk):
    return [part.tolist() for part in np.split(chunk.labels, chunk.label_starts[1:-1])]


def jsonl(*records):
    return io.BytesIO("".join(json.dumps(record) + "\n" for record in records).encode())


# TSV


def test_tsv_by_hand():
    vectorizer = CountVectorizer(vocabulary=["good", "morning", "night", "shift"])
    (chunk,) = read_tsv(io.BytesIO(TSV), vectorizer=vectorizer)
    assert labels_of(chunk) == [["a", "b"], [], ["c"]]
    assert chunk.features.toarray().tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]]
    assert (chunk.features.dtype, chunk.features.indices.dtype) == (np.float32, np.int32)
    assert chunk.weights is None
    assert chunk.lines.tolist() == [1, 2, 3]


def test_tsv_hashes_words_unless_told_otherwise():
    (chunk,) = read_tsv(io.BytesIO(TSV))
    hashing = HashingVectorizer(
        n_features=2**20,
        ngram_range=(1, 2),
        token_pattern=r"\b\w+\b",
        alternate_sign=False,
        dtype=np.float32,
    )
    assert (abs(chunk.features - hashing.transform(TEXTS))).max() == 0


def test_the_label_separator_is_what_is_told():
    def labels(separator):
        (chunk,) = read_tsv(io.BytesIO(b"big cat, dog\tx\n"), label_separator=separator)
        return chunk.labels.tolist()

    assert labels(None) == ["big cat, dog"]
    assert labels(", ") == ["big cat", "dog"]
    assert labels(" ") == ["big", "cat,", "dog"]


WORDS = st.text("abcdé", min_size=2, max_size=3)
TEXT_LISTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=12)


@given(
    texts=TEXT_LISTS,
    options=st.fixed_dictionaries(
        {
            "min_df": st.sampled_from([1, 2, 0.2]),
            "max_df": st.sampled_from([1.0, 0.7]),
            "smooth_idf": st.booleans(),
            "use_idf": st.booleans(),
            "sublinear_tf": st.booleans(),
            "ngram_range": st.sampled_from([(1, 1), (1, 2)]),
        }
    ),
)
def test_fit_tfidf_equals_fitting_on_all_texts_at_once(texts, options):
    file = io.BytesIO("".join(f"x\t{text}\n" for text in texts).encode())
    try:
        expected = TfidfVectorizer(**options).fit(texts)
    except ValueError:  # nothing is left of the vocabulary
        with pytest.raises(ArgumentError):
            fit_tfidf(file, vectorizer=TfidfVectorizer(**options))
        return
    fitted = fit_tfidf(file, vectorizer=TfidfVectorizer(**options))
    assert fitted.vocabulary_ == expected.vocabulary_
    difference = abs(fitted.transform(texts) - expected.transform(texts))
    assert difference.nnz == 0 or difference.max() < 1e-12  # the order of two roundings


def test_fit_tfidf_keeps_the_most_frequent_terms_and_the_template():
    file = io.BytesIO(b"x\tgood good night\ny\tbad night\n")
    template = TfidfVectorizer(max_features=2)
    assert fit_tfidf(file, vectorizer=template).get_feature_names_out().tolist() == [
        "good",
        "night",
    ]
    assert not hasattr(template, "vocabulary_")


def test_a_fitted_vectorizer_reads_and_an_unfitted_one_says_so():
    (chunk,) = read_tsv(io.BytesIO(TSV), vectorizer=fit_tfidf(io.BytesIO(TSV)))
    assert chunk.features.shape == (3, 4)
    with pytest.raises(NotFittedError):
        list(read_tsv(io.BytesIO(TSV), vectorizer=TfidfVectorizer()))


# JSON lines


def test_jsonl_by_hand():
    (chunk,) = read_jsonl(
        jsonl(
            {"label": 7, "features": {"indices": [4, 1, 4], "values": [1, 0.5, 2]}, "weight": 2},
            {"labels": [3, 7, 3], "features": {"indices": [], "values": []}, "other": None},
            {"features": {"indices": [0], "values": [1]}, "label": None},
        ),
        n_features=5,
    )
    assert chunk.features.toarray().tolist() == [[0, 0.5, 0, 0, 3], [0] * 5, [1, 0, 0, 0, 0]]
    assert labels_of(chunk) == [[7], [3, 7], []]
    assert chunk.weights.tolist() == [2, 1, 1]


def test_jsonl_names_are_hashed_as_vw_features():
    text = b"x |  caf\xc3\xa9:2 a\n"
    (vw,) = open_reader(io.BytesIO(text), format="vw")
    (chunk,) = read_jsonl(jsonl({"label": "x", "features": {"café": 2, "a": 1}}))
    assert (chunk.features != vw.features).nnz == 0
    assert chunk.features.shape == (1, _core.HASHED_WIDTH)


def test_jsonl_texts_are_vectorized():
    rows = [{"label": "x", "text": text} for text in TEXTS]
    (from_json,) = read_jsonl(jsonl(*rows))
    (from_tsv,) = read_tsv(io.BytesIO(TSV))
    assert (from_json.features != from_tsv.features).nnz == 0


def test_features_may_be_lists_of_indices_pairs_or_a_dense_row():
    forms = [
        {"indices": [0, 2], "values": [1, 0.5]},
        {"indices": [0.0, 2.0], "values": [1, 0.5]},
        [[2, 0.5], [0, 1]],
        [1, 0, 0.5],
    ]
    lines = "\n".join(json.dumps({"label": "x", "features": form}) for form in forms)
    (chunk,) = read_jsonl(io.BytesIO(lines.encode()), n_features=3)
    assert chunk.features.toarray().tolist() == [[1, 0, 0.5]] * 4


GOOD = {"label": "x", "features": {"a": 1}}
INDEXED = {"label": 1, "features": {"indices": [1], "values": [1]}}
BAD_RECORDS = [
    (GOOD, b"[1]", "expected an object"),
    (GOOD, b"{", "not JSON"),
    (GOOD, b'{"label": "x", "features": {"a": NaN}}', "NaN is not a JSON value"),
    (GOOD, b'{"label": "x", "features": {"a": 1e999}}', "the value inf is not a finite"),
    (GOOD, b'{"label": "x", "features": {"a": 3.41e38}}', "is not a finite 32-bit float"),
    (GOOD, b'{"label": "x", "features": {"a": 1' + b"0" * 400 + b"}}", "not a finite 32-bit"),
    (GOOD, b'{"label": "x", "features": {"a": 1' + b"0" * 5000 + b"}}", "not JSON"),
    (GOOD, b'{"label": "x", "features": {"a": true}}', "expected a number, got True"),
    (GOOD, b'{"label": "x", "features": {"\\ud800": 1}}', "is not valid Unicode"),
    (GOOD, b'{"label": "\\ud800", "features": {"a": 1}}', "is not valid Unicode"),
    (GOOD, b'{"label": 3, "features": {"a": 1}}', "the label 3 is not str like the first"),
    (GOOD, b'{"label": 1.5, "features": {"a": 1}}', "a label must be a string or an integer"),
    (GOOD, b'{"labels": "x", "features": {"a": 1}}', "'labels' must be a list"),
    (GOOD, b'{"label": "x", "labels": [], "features": {"a": 1}}', "has both"),
    (GOOD, b'{"label": "x"}', "the row must have 'text' or 'features'"),
    (GOOD, b'{"label": "x", "text": "a"}', "the row has a text, but the first row has named"),
    (GOOD, b'{"label": "x", "text": 1}', "'text' must be a string"),
    (GOOD, b'{"label": "x", "features": 1}', "'features' must be an object or a list"),
    (GOOD, b'{"label": "x", "features": [1]}', "a dense row must have 9 numbers, got 1"),
    (GOOD, b'{"label": "x", "features": [[1, 1]]}', "but the first row has named features"),
    (INDEXED, b'{"label": 1, "features": [[1, 2, 3]]}', "must have an index and a value"),
    (INDEXED, b'{"label": 1, "features": [1, [1, 2]]}', "all numbers or all pairs"),
    (GOOD, b'{"label": "x", "features": {"a": 1}, "weight": -1}', "the weight -1 is not a"),
    (GOOD, b'{"label": "x", "features": {"a": 1}, "weight": "1"}', "expected a number"),
    (GOOD, b"[" * 100_000, "not JSON"),
    (GOOD, b'{"label": "\xff"}', "not valid UTF-8"),
    (INDEXED, b'{"label": 1, "features": {"indices": [-1], "values": [1]}}', "index -1 is not in"),
    (
        INDEXED,
        b'{"label": 1, "features": {"indices": [9], "values": [1]}}',
        r"is not in \[0, 9\)",
    ),
    (INDEXED, b'{"label": 1, "features": {"indices": [1], "values": []}}', "the same length"),
    (INDEXED, b'{"label": 1, "features": {"indices": [1.5], "values": [1]}}', "index 1.5 is not"),
    (INDEXED, b'{"label": 9223372036854775808, "text": ""}', "is not a 64-bit integer"),
]


@pytest.mark.parametrize(("first", "bad", "reason"), BAD_RECORDS)
def test_bad_records_name_file_and_line(first, bad, reason, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(json.dumps(first).encode() + b"\n\n" + bad + b"\n")
    with pytest.raises(DataFileError, match=reason) as caught:
        list(read_jsonl(path, n_features=9))
    assert (caught.value.path, caught.value.line) == (str(path), 3)
    assert len(str(caught.value)) < 400


def test_a_tsv_line_without_a_tab_is_named():
    with pytest.raises(DataFileError, match="no tab") as caught:
        list(read_tsv(io.BytesIO(TSV + b"\nlabel text\n")))
    assert caught.value.line == 5


class Broken:
    """A vectoriser that makes what cannot be used."""

    def __init__(self, result):
        self.result = result

    def transform(self, texts):
        return self.result


@pytest.mark.parametrize(
    ("vectorizer", "error", "message"),
    [
        (3, ArgumentError, "vectorizer must be None or have a method transform, got 3"),
        (Broken(np.ones((2, 2))), ArgumentError, "one row for each text"),
        (Broken(np.array([[1], [1], [np.nan]])), DataFileError, ":3: the vectorizer made a value"),
    ],
)
def test_bad_vectorizers_are_named(vectorizer, error, message):
    with pytest.raises(error, match=message):
        list(read_tsv(io.BytesIO(TSV), vectorizer=vectorizer))


@pytest.mark.parametrize("separator", ["", "\t", 3])
def test_bad_separators_are_refused(separator):
    with pytest.raises(ArgumentError, match="label_separator must be None or a string"):
        read_tsv("x", label_separator=separator)


def test_fit_tfidf_takes_a_tfidf_vectorizer_only():
    with pytest.raises(ArgumentError, match="vectorizer must be a TfidfVectorizer"):
        fit_tfidf(io.BytesIO(TSV), vectorizer=CountVectorizer())


def test_long_texts_make_small_chunks(monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 40)
    chunks = list(read_tsv(io.BytesIO(b"x\tsome words\n" * 40)))
    assert 8 <= len(chunks) <= 40


# Parquet

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def parquet(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    file.seek(0)
    return file


RECORDS = [
    {"labels": ["a", "b"], "features": {"x": 1.5, "y": 2.0}, "weight": 2.0},
    {"labels": [], "features": {}, "weight": None},
    {"labels": ["c"], "features": {"y": -1.0}, "weight": 0.5},
]


def as_rows(chunks):
    return [
        (chunk.features[[i]].indices.tolist(), chunk.features[[i]].data.tolist(), labels, weight)
        for chunk in chunks
        for i, (labels, weight) in enumerate(zip(labels_of(chunk), chunk.weights, strict=True))
    ]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_parquet_equals_json_lines(chunk_rows):
    table = pa.table(
        {
            "labels": pa.array([r["labels"] for r in RECORDS], pa.list_(pa.string())),
            "features": pa.array(
                [list(r["features"].items()) for r in RECORDS], pa.map_(pa.string(), pa.float32())
            ),
            "weight": pa.array([r["weight"] for r in RECORDS], pa.float32()),
            "other": pa.array([1, 2, 3]),
        }
    )
    chunks = list(read_parquet(parquet(table, row_group_size=2), chunk_rows=chunk_rows))
    assert max(chunk.n_rows for chunk in chunks) <= chunk_rows
    assert as_rows(chunks) == as_rows(read_jsonl(jsonl(*RECORDS)))


def test_parquet_has_indices_or_texts_too(tmp_path):
    struct = pa.struct({"indices": pa.list_(pa.int32()), "values": pa.list_(pa.float32())})
    values = [{"indices": [3, 1], "values": [1.0, 2.0]}, {"indices": [], "values": []}]
    table = pa.table({"label": pa.array([5, None]), "features": pa.array(values, struct)})
    (chunk,) = read_parquet(parquet(table), n_features=4)
    assert chunk.features.toarray().tolist() == [[0, 2, 0, 1], [0] * 4]
    assert labels_of(chunk) == [[5], []]
    (chunk,) = read_parquet(parquet(table))
    assert chunk.features.shape == (2, UNBOUNDED_WIDTH)
    table = pa.table({"label": ["x", "y", "z"], "text": TEXTS})
    path = tmp_path / "texts.parquet.gz"
    path.write_bytes(gzip.compress(parquet(table).read()))
    (chunk,) = open_reader(path)
    (expected,) = read_tsv(io.BytesIO(TSV))
    assert (chunk.features != expected.features).nnz == 0


def test_bad_parquet_names_file_and_row(tmp_path):
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(DataFileError, match="Parquet: ") as caught:
        list(read_parquet(path))
    assert (caught.value.path, caught.value.line) == (str(path), 1)
    strings = pa.array([b"fine", b"\xff"], pa.binary()).view(pa.string())
    for table, reason in [
        (pa.table({"label": [1, 2], "text": strings}), "not valid UTF-8"),
        (pa.table({"label": [1, 2], "text": ["a", None]}), "must have 'text' or"),
        (pa.table({"label": ["a", "b"], "text": ["x", "y"], "weight": [1, -1]}), "the weight"),
    ]:
        path.write_bytes(parquet(table).read())
        with pytest.raises(DataFileError, match=reason) as caught:
            list(read_parquet(path))
        assert caught.value.line == 2


@given(at=st.floats(0, 1), inserted=st.binary(max_size=4), n_removed=st.integers(0, 40))
def test_damaged_parquet_gives_chunks_or_an_error(at, inserted, n_removed):
    content = bytearray(parquet(pa.table({"label": [1, 2], "text": ["a", "b"]})).read())
    begin = int(at * len(content))
    content[begin : begin + n_removed] = inserted
    try:
        n_rows = sum(chunk.n_rows for chunk in read_parquet(io.BytesIO(bytes(content))))
    except DataFileError as error:
        n_rows = error.line
    assert n_rows >= 0


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'labeltrees\[parquet\]'"):
        read_parquet("x.parquet")
