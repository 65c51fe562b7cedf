"""The readers of numbers (XC, svmlight, VW) and what all readers share.

Each agrees with a plain parser written here; what they give does not depend on chunk size, block
size or gzip; and whatever bytes they get, they give chunks or name file and line.
"""

import gzip
import io
import math
import random
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import vstack

from labeltrees import _core
from labeltrees.data.chunk import UNBOUNDED_WIDTH
from labeltrees.data.readers import (
    open_reader,
    read_svmlight,
    read_vw,
    read_xc,
    source,
)
from labeltrees.errors import ArgumentError, DataFileError

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the data in ../shared/data")

XC = b"3 10 5\n3,1 0:1.5 4:-2\n 2:1\n4 9:1e-3 0:.5\n"
SVMLIGHT = b"# a comment\n7,-1 1:0.5 3:2 # another\n\n7 2:1\n"
VW = b"1,2 2 'tag|n:2 x:1.5 y |m x\n\n|n y\n3 |n y y:3\n"
TSV = b"a b\tgood morning\n\tgood night\nc\tnight\tshift\n"
CSV = b'kind,text\na,"good\nmorning, ""all"""\nb|c,good night\n,night shift\n'
FASTTEXT = b"__label__a __label__b good morning\ngood night\n\n__label__c night shift\n"
LINES = b"good morning\n\ngood night\n"
JSONL = (
    b'{"label": "a", "features": {"x": 1.5, "y": 2}, "weight": 2}\n\n'
    b'{"labels": ["b", "c"], "features": {"y": -1}}\n'
)
SAMPLES = {
    "xc": XC,
    "svmlight": SVMLIGHT,
    "vw": VW,
    "tsv": TSV,
    "csv": CSV,
    "fasttext": FASTTEXT,
    "lines": LINES,
    "jsonl": JSONL,
}


def rows_of(chunks):
    """Every row as (entries, labels, weight, line): what must not depend on the chunks."""
    rows = []
    for chunk in chunks:
        check_layout(chunk)
        starts, features = chunk.features.indptr, chunk.features
        for i in range(chunk.n_rows):
            entry = slice(starts[i], starts[i + 1])
            labels = chunk.labels[chunk.label_starts[i] : chunk.label_starts[i + 1]]
            weight = None if chunk.weights is None else float(chunk.weights[i])
            pairs = zip(features.indices[entry], features.data[entry], strict=True)
            entries = {int(column): float(value) for column, value in pairs}
            rows.append((entries, labels.tolist(), weight, int(chunk.lines[i])))
    return rows


def check_layout(chunk):
    features = chunk.features
    assert features.format == "csr"
    assert features.data.dtype == np.float32
    assert features.indices.dtype == np.int32
    assert np.isfinite(features.data).all()
    for begin, end in zip(features.indptr[:-1], features.indptr[1:], strict=True):
        assert (np.diff(features.indices[begin:end]) > 0).all()
    assert len(chunk.label_starts) == chunk.n_rows + 1
    assert chunk.label_starts[-1] == len(chunk.labels)
    assert chunk.labels.dtype in (np.int64, np.object_)
    assert chunk.first_line == chunk.lines[0]


def column(space, name):
    """The column of a feature, from the definition in hash.hpp."""
    bits = (1 << 64) - 1

    def mix(x):
        for _ in range(2):
            x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & bits
        return x ^ (x >> 32)

    def combine(first, second):
        return mix((first * 0x9E3779B97F4A7C15 + second) & bits)

    def hash_bytes(text):
        full = len(text) // 8 * 8
        state = mix((len(text) * 0x9E3779B97F4A7C15) & bits)
        for at in range(0, full, 8):
            state = combine(state, int.from_bytes(text[at : at + 8], "little"))
        return combine(state, int.from_bytes(text[full:], "little"))

    return combine(hash_bytes(space.encode()), hash_bytes(name.encode())) % 2**30


# Worked examples


def test_xc_by_hand():
    assert rows_of(read_xc(io.BytesIO(XC))) == [
        ({0: 1.5, 4: -2.0}, [3, 1], None, 2),
        ({2: 1.0}, [], None, 3),
        ({0: 0.5, 9: float(np.float32(1e-3))}, [4], None, 4),
    ]


def test_svmlight_by_hand():
    expected = [({0: 0.5, 2: 2.0}, [7, -1], None, 2), ({1: 1.0}, [7], None, 4)]
    chunks = list(read_svmlight(io.BytesIO(SVMLIGHT), n_features=3, zero_based=False))
    assert rows_of(chunks) == expected
    assert chunks[0].features.shape == (2, 3)
    (unbounded,) = read_svmlight(io.BytesIO(b"1 2147483646:1\n"))
    assert unbounded.features.shape == (1, UNBOUNDED_WIDTH)
    assert unbounded.features.indices.tolist() == [UNBOUNDED_WIDTH - 1]


def test_vw_by_hand():
    n_x, n_y, m_x = column("n", "x"), column("n", "y"), column("m", "x")
    assert rows_of(read_vw(io.BytesIO(VW))) == [
        ({n_x: 3.0, n_y: 2.0, m_x: 1.0}, [1, 2], 2.0, 1),
        ({n_y: 1.0}, [], 1.0, 3),
        ({n_y: 4.0}, [3], 1.0, 4),
    ]


def test_vw_labels_are_what_the_first_one_is():
    def labels(text, **options):
        (chunk,) = read_vw(io.BytesIO(text), **options)
        return chunk.labels.tolist()

    assert labels(b"2012 |\n7 |\n") == [2012, 7]
    assert labels(b"caf\xc3\xa9 |\n7 |\ncaf\xc3\xa9 |\n") == ["café", "7", "café"]
    assert labels(b"2012 |\nx |\n", label_type="str") == ["2012", "x"]
    assert labels(b"a,b |\n1,2 |\n") == ["a,b", "1", "2"]
    assert labels(b"a,b |\n", multilabel=True) == ["a", "b"]
    assert labels(b"1,2 |\n", multilabel=False) == ["1,2"]


def test_vw_words_with_a_quote_are_tags_or_labels():
    def labels(text, **options):
        chunks = list(read_vw(io.BytesIO(text), **options))
        return [label for chunk in chunks for label in chunk.labels.tolist()]

    assert labels(b"it |a\n's |a\n", quoted_labels=True) == ["it", "'s"]
    assert labels(b"it |a\n's |a\n", quoted_labels=True, chunk_rows=1) == ["it", "'s"]
    assert labels(b"1 |a\n2 |a\n", quoted_labels=True) == [1, 2]
    assert labels(b"it 'x |a\n'y |a\n") == ["it"]
    assert labels(b"'x |a\n'y |a\n") == []
    assert labels(b"0.5 |a\nit |a\n", label_type="str") == ["0.5", "it"]


def test_rows_without_a_label_are_counted():
    (chunk,) = read_vw(io.BytesIO(b"1 |a\n|b\n|c\n"))
    assert (chunk.n_unlabelled, chunk.head(2).n_unlabelled, chunk.head(1).n_unlabelled) == (2, 1, 0)


def test_xc_labels_may_have_a_relevance():
    text = b"3 5 9\n3:2.5,1:0 0:1\n 2:1\n2:.5,02:3,+4:1e1 1:1"
    for chunk_rows in (1, 2, 10):
        chunks = list(read_xc(io.BytesIO(text), chunk_rows=chunk_rows))
        assert [label for chunk in chunks for label in chunk.labels.tolist()] == [3, 1, 2, 4]
        grades = [grade for chunk in chunks for grade in chunk.relevance.tolist()]
        assert grades == [2.5, 0, 0.5, 10]
    assert read_one(b"1 5 9\n3,1 0:1\n").relevance is None


def read_one(text):
    (chunk,) = read_xc(io.BytesIO(text))
    return chunk


# Agreement with plain parsers

DECIMAL = r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?"
NUMBERS = st.one_of(
    st.floats(-3e38, 3e38, allow_nan=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map("{:.6g}".format),
    st.decimals(-1000, 1000, allow_nan=False, places=4).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True
    ),
)


@settings(max_examples=40)
@given(st.lists(NUMBERS, min_size=1, max_size=30))
@example(["9007199254740993", "1e22", "1e23", "3.4028235e38", "1e-46", "4.9e-324", "1e-400"])
def test_numbers_are_the_nearest_double_as_float32(texts):
    with np.errstate(over="ignore", under="ignore"):
        expected = [np.float32(float(text)) for text in texts]
    texts = [t for t, value in zip(texts, expected, strict=True) if np.isfinite(value)]
    row = "0 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts))
    (chunk,) = read_svmlight(io.BytesIO(row.encode()))
    finite = np.array([value for value in expected if np.isfinite(value)], np.float32)
    assert chunk.features.data.tobytes() == finite.tobytes()


def test_fifty_thousand_numbers_are_the_nearest_double_as_float32():
    rng = random.Random(0)

    def number():
        digits = "".join(rng.choices("0123456789", k=rng.randint(1, 30)))
        at = rng.randint(0, len(digits))
        exponent = rng.choice(["", f"e{rng.randint(-45, 8)}", f"E{rng.randint(-9, 9):+}"])
        return rng.choice(["", "-", "+"]) + digits[:at] + "." + digits[at:] + exponent

    texts = [number() for _ in range(50_000)]
    row = "0 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts))
    (chunk,) = read_svmlight(io.BytesIO(row.encode()))
    with np.errstate(under="ignore"):
        expected = np.array(list(map(float, texts))).astype(np.float32)
    assert chunk.features.data.tobytes() == expected.tobytes()


def plain_xc(text):
    rows = []
    lines = text.decode().split("\n")
    for number, line in enumerate(lines[1:-1], 2):
        labels, *pairs = line.split(" ")
        entries = {}
        for pair in pairs:
            feature, value = pair.split(":")
            entries.setdefault(int(feature), []).append(float(np.float32(float(value))))
        sums = {f: float(np.float32(math.fsum(v))) for f, v in sorted(entries.items())}
        ids = list(dict.fromkeys(int(label) for label in labels.split(",") if label))
        rows.append((sums, ids, None, number))
    return rows


PAIRS = st.tuples(st.integers(0, 19), st.integers(-999, 999).map(lambda i: str(i / 8)))
XC_ROWS = st.lists(st.tuples(st.lists(st.integers(0, 9)), st.lists(PAIRS)), max_size=20)


def xc_text(rows):
    lines = [f"{len(rows)} 20 10"]
    for labels, pairs in rows:
        lines.append(" ".join([",".join(map(str, labels)), *(f"{f}:{v}" for f, v in pairs)]))
    return "".join(f"{line}\n" for line in lines).encode()


@given(XC_ROWS)
def test_xc_agrees_with_a_plain_parser(rows):
    text = xc_text(rows)
    assert rows_of(read_xc(io.BytesIO(text))) == plain_xc(text)


WORDS = st.text("abcdefghijklmnopqrstuvwxyz_é0123456789^=", min_size=1, max_size=20)
VW_FEATURES = st.lists(st.tuples(WORDS, st.integers(-99, 99).map(lambda i: i / 4)), max_size=6)
VW_SPACES = st.lists(
    st.tuples(st.one_of(st.just(""), WORDS), st.integers(1, 9), VW_FEATURES), min_size=1, max_size=4
)


@given(st.lists(st.tuples(st.lists(WORDS, max_size=3), st.integers(0, 9), VW_SPACES), min_size=1))
def test_vw_agrees_with_a_plain_parser(rows):
    lines, expected = [], []
    for number, (labels, weight, spaces) in enumerate(rows, 1):
        head = f"{','.join(labels)} {weight} " if labels else ""
        entries, parts = {}, []
        for space, scale, features in spaces:
            pairs = " ".join(f"{name}:{value}" for name, value in features)
            parts.append(f"|{space}:{scale} {pairs}")
            for name, value in features:
                at = column(space, name)
                entries[at] = entries.get(at, 0.0) + scale * value
        lines.append(head + " ".join(parts) + "\n")
        weight = float(weight) if labels else 1.0
        expected.append(
            (dict(sorted(entries.items())), list(dict.fromkeys(labels)), weight, number)
        )
    text = "".join(lines).encode()
    chunks = read_vw(io.BytesIO(text), multilabel=True, label_type="str")
    assert rows_of(chunks) == expected


@needs_data
@pytest.mark.parametrize("name", ["bibtex", "corel5k", "delicious", "rcv1-sub1"])
def test_real_files_agree_with_scikit_learn(name):
    from sklearn.datasets import load_svmlight_file

    path = SHARED / name / "test.txt.gz"
    header, _, body = gzip.decompress(path.read_bytes()).partition(b"\n")
    n_rows, n_features, _ = map(int, header.split())
    theirs, their_labels = load_svmlight_file(
        io.BytesIO(body), n_features=n_features, multilabel=True, zero_based=True, dtype=np.float32
    )
    chunks = list(open_reader(path))
    ours = vstack([chunk.features for chunk in chunks], format="csr")
    assert ours.shape == theirs.shape == (n_rows, n_features)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_array_equal(ours.data, theirs.data)
    assert [sorted(labels) for _, labels, _, _ in rows_of(chunks)] == [
        sorted(map(int, labels)) for labels in their_labels
    ]


# What must not matter


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("block_bytes", [1, 3, 16, 2**20])
@pytest.mark.parametrize("chunk_rows", [1, 2, 1000])
def test_chunks_blocks_and_gzip_do_not_matter(kind, block_bytes, chunk_rows, monkeypatch):
    text = SAMPLES[kind]
    whole = rows_of(open_reader(io.BytesIO(text), format=kind))
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    for packed in (text, gzip.compress(text), text.rstrip(b"\n"), text.replace(b"\n", b"\r\n")):
        chunks = list(open_reader(io.BytesIO(packed), format=kind, chunk_rows=chunk_rows))
        assert max(chunk.n_rows for chunk in chunks) <= chunk_rows
        assert rows_of(chunks) == whole


def test_gzip_and_plain_files_give_the_same_chunks(monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)
    text = b"1000 10 10\n" + b"".join(b"%d %d:1\n" % (i % 10, i % 7) for i in range(1000))
    two_members = gzip.compress(text[:99]) + gzip.compress(text[99:])
    sizes = [
        [chunk.n_rows for chunk in read_xc(io.BytesIO(packed))]
        for packed in (text, gzip.compress(text), two_members)
    ]
    assert len(sizes[0]) > 10
    assert sizes[0] == sizes[1] == sizes[2]


def test_a_path_a_file_and_stdin_are_sources(tmp_path, monkeypatch):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(SVMLIGHT))
    expected = rows_of(read_svmlight(io.BytesIO(SVMLIGHT)))
    assert rows_of(open_reader(path)) == expected
    assert rows_of(open_reader(str(path))) == expected
    with path.open("rb") as file:
        assert rows_of(open_reader(file)) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SVMLIGHT)))
    assert rows_of(open_reader("-", format="svmlight")) == expected


class Dribble(io.BytesIO):
    """A pipe that delivers a few bytes at a time."""

    def read(self, size=-1):
        return super().read(min(size, 3))


def test_short_reads_are_put_together():
    for text in (XC, gzip.compress(XC)):
        assert rows_of(read_xc(Dribble(text))) == rows_of(read_xc(io.BytesIO(XC)))


def peak_of(run):
    """The most memory that Python held while it ran."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(n_rows):
        path = tmp_path / "rows.svm.gz"
        path.write_bytes(gzip.compress(b"1,2 3:0.5 7:1.25 9:2\n" * n_rows))
        n_read = []
        most = peak_of(lambda: n_read.extend(chunk.n_rows for chunk in read_svmlight(path)))
        assert sum(n_read) == n_rows
        return most

    assert peak(1_000_000) < 1.5 * peak(200_000)


LONG = {
    "xc": (b"1 9 9\n", b"1 ", b"2:1 "),
    "svmlight": (b"", b"1 ", b"2:1 "),
    "vw": (b"", b"cat | ", b"x "),
    "tsv": (b"", b"cat\t", b"word "),
    "csv": (b"", b"cat,", b"word "),
    "fasttext": (b"", b"__label__cat ", b"word "),
    "lines": (b"", b"", b"word "),
    "jsonl": (b"", b'{"label": 1, "text": "', b"word "),
}
"""The start of a file, of a row, and what it may have any number of times."""


def bomb(kind, n_bytes, ahead=b""):
    """A small gzip file of one endless line, after some others."""
    start, row, word = LONG[kind]
    pack = zlib.compressobj(9, wbits=31)
    parts = [pack.compress(ahead + start + row)]
    parts += [pack.compress(word * (2**20 // len(word))) for _ in range(n_bytes // 2**20)]
    return b"".join([*parts, pack.flush()])


@pytest.mark.parametrize("kind", LONG)
def test_a_small_file_with_an_endless_line_is_refused_with_little_memory(kind):
    data = bomb(kind, 2**25)
    assert len(data) < 2**17
    limit = 2**21

    def read():
        with pytest.raises(DataFileError, match="longer than max_line_bytes=2097152") as caught:
            list(open_reader(io.BytesIO(data), format=kind, max_line_bytes=limit))
        assert caught.value.line == (2 if kind == "xc" else 1)

    read()  # what is imported is not the reader's
    assert peak_of(read) < 4 * limit


def test_a_header_without_end_is_refused():
    with pytest.raises(DataFileError, match="<stream>:1: the line is longer than max_line_bytes"):
        list(read_xc(io.BytesIO(b"1" * 3000), max_line_bytes=2000))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n_ahead", [0, 3, 70_000])
def test_lines_before_one_that_is_too_long_are_read(n_ahead, packed):
    text = b"7 1:1\n" * n_ahead + b"7 1:1 2:2\n" + b"8 1:1\n"
    data = gzip.compress(text) if packed else text
    chunks = read_svmlight(io.BytesIO(data), max_line_bytes=8)
    n_rows = []
    with pytest.raises(DataFileError, match=f":{n_ahead + 1}: the line is longer than"):
        n_rows.extend(chunk.n_rows for chunk in chunks)
    assert sum(n_rows) == n_ahead
    (chunk,) = read_svmlight(io.BytesIO(text[-16:]), max_line_bytes=9)
    assert chunk.n_rows == 2


def test_a_line_may_be_as_long_as_the_limit_whatever_the_blocks(monkeypatch):
    text = b"\xef\xbb\xbf" + b"".join(b"1 2:%0*d\n" % (n, 1) for n in range(1, 40))
    for block in (1, 3, 17, 64, 1000):
        monkeypatch.setattr(source, "BLOCK_BYTES", block)
        assert sum(c.n_rows for c in read_svmlight(io.BytesIO(text), max_line_bytes=43)) == 39
        with pytest.raises(DataFileError, match=":39: the line is longer"):
            list(read_svmlight(io.BytesIO(text), max_line_bytes=42))
        with pytest.raises(DataFileError, match=":39: the line is longer"):
            list(read_svmlight(io.BytesIO(text[:-1]), max_line_bytes=42))


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None, "9"])
def test_a_bad_line_limit_is_named(limit):
    for kind in LONG:
        with pytest.raises(ArgumentError, match="max_line_bytes must be an integer >= 1, got"):
            open_reader(io.BytesIO(b""), format=kind, max_line_bytes=limit)


def test_a_byte_order_mark_is_skipped():
    assert rows_of(read_xc(io.BytesIO(b"\xef\xbb\xbf" + XC))) == rows_of(read_xc(io.BytesIO(XC)))


def test_empty_files_have_no_chunks():
    for kind in ("svmlight", "vw", "tsv", "csv", "fasttext", "lines", "jsonl"):
        assert list(open_reader(io.BytesIO(b""), format=kind)) == []
    assert list(read_xc(io.BytesIO(b"0 3 3\n\n"))) == []


def test_importing_the_readers_does_not_import_scikit_learn():
    import subprocess

    code = "import sys, labeltrees.data.readers; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"


# Errors

BAD_XC = [
    (b"", 1, "the file is empty"),
    (b"3 10\n", 1, "expected the header"),
    (b"1 0:1\n", 1, "expected the header"),
    (b"1 99999999999 5\n1 1:1\n", 1, "the header has 99999999999 features, but at most"),
    (b"2 10 5\n1 1:1\n", 2, "the header announces 2 rows, but the file has 1"),
    (b"1 10 5\n1 1:1\n\n2 2:1\n", 4, "more rows than the 1 that the header announces"),
    (b"2 10 5\n1 1:1\n5 1:1\n", 3, r"the label 5 is not in \[0, 5\)"),
    (b"2 10 5\n1 1:1\n-1 1:1\n", 3, r"the label -1 is not in \[0, 5\)"),
    (b"2 10 5\n1 1:1\n1 10:1\n", 3, r"the feature of '10:1' is not in \[0, 10\)"),
    (b"2 10 5\n1 1:1\n1 -1:1\n", 3, "expected feature:value, got '-1:1'"),
    (b"2 10 5\n1 1:1\n1 1:nan\n", 3, "the value of '1:nan' is not a finite number"),
    (b"2 10 5\n1 1:1\n1 1:1e39\n", 3, "the value of '1:1e39' is not a finite number"),
    (b"2 10 5\n1 1:1\n99999999999999999999\n", 3, "is not a 64-bit integer"),
    (b"2 10 5\n1 1:1\n1 99999999999999999999:1\n", 3, "is not in"),
    (b"2 10 5\n1 1:1\n1 \xff:1\n", 3, "not valid UTF-8"),
    (b"2 10 5\n1 1:1\n1 \xc3\xa9:1\n", 3, r"expected feature:value, got '\\xc3\\xa9:1'"),
    (b"2 10 5\n1 1:1\n1 1:3e38 1:3e38\n", 3, "the value of feature 1 is not a finite"),
    (b"2 10 5\n1:2 1:1\n1 1:1\n", 3, "the label '1' has no relevance >= 0 after a colon"),
    (b"2 10 5\n1:2 1:1\n1:-1 1:1\n", 3, "the label '1:-1' has no relevance >= 0"),
    (b"2 10 5\n1 1:1\n1:2 1:1\n", 3, "the label '1:2' is not a 64-bit integer"),
    (gzip.compress(XC, 0, mtime=0)[:-20], 4, "the gzip stream ends too early"),
    (gzip.compress(XC, mtime=0) + b"garbage", 5, "the gzip stream is damaged"),
]
BAD_SVMLIGHT = [
    (b"1 1:1\n1.5 1:1\n", 2, "the label '1.5' is not a 64-bit integer"),
    (b"1 1:1\n1 qid:3 1:1\n", 2, "query ids"),
    (b"1 1:1\n1 2147483647:1\n", 2, "is not in"),
]
BAD_VW = [
    (b"1 |a\nx |a\n", 2, "the label 'x' is not a 64-bit integer, as the first"),
    (b"1 |a\n2 a\n", 2, r"there is no \| between"),
    (b"1 |a\n2|a b\n", 2, "'2' touches the bar"),
    (b"1 |a\n2 -1 |a\n", 2, "the importance '-1' is not a finite number >= 0"),
    (b"1 |a\n2 1 0 |a\n", 2, "got also '0'"),
    (b"1 |a\n2 |a b:x\n", 2, "the value of 'b:x' is not a finite number"),
    (b"1 |a\n2 |a :2\n", 2, "the feature of ':2' has no name"),
    (b"1 |a\n1,,2 |a\n", 2, "is not a 64-bit integer"),
    (b"|a\n0.5 |a\n", 2, "the label '0.5' is a real number, as for regression, but classes"),
    (b"1 |a\n-1.5 |a\n", 2, "as the first label of the file is: it is a real number"),
    (b"|a\n1:0.5:0.3 |a\n", 2, "the label '1:0.5:0.3' is a label of contextual bandits"),
    (b"1 |a\n2:1.0 |a\n", 2, "it is a label of contextual bandits or of costs"),
    (b"it |a\n's |a\n", 2, '"\'s" is a tag, because it starts with a quote, and the row has no'),
    (b"'s |a\nit |a\n", 1, "or write it without the quote"),
]
BAD = [("xc", *bad) for bad in BAD_XC]
BAD += [("svmlight", *bad) for bad in BAD_SVMLIGHT] + [("vw", *bad) for bad in BAD_VW]


@pytest.mark.parametrize("block_bytes", [4, 2**20])
@pytest.mark.parametrize(("kind", "text", "line", "reason"), BAD)
def test_bad_files_name_file_and_line(kind, text, line, reason, block_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    path = tmp_path / "bad"
    path.write_bytes(text)
    with pytest.raises(DataFileError, match=reason) as caught:
        list(open_reader(path, format=kind, chunk_rows=1))
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert caught.value.reason.endswith(".")


def test_rows_before_a_bad_line_of_another_block_are_given(monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 8)
    chunks = read_svmlight(io.BytesIO(b"1 1:1\n2 2:1\n\xff\n"))
    assert next(chunks).labels.tolist() == [1]
    assert next(chunks).labels.tolist() == [2]
    with pytest.raises(DataFileError, match="UTF-8"):
        next(chunks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read_xc("x", chunk_rows=0), "chunk_rows must be an integer >= 1, got 0."),
        (lambda: read_xc("x", chunk_rows=True), "chunk_rows must be an integer >= 1, got True."),
        (lambda: read_svmlight("x", chunk_rows=2.0), "chunk_rows must be an integer >= 1"),
        (lambda: read_svmlight("x", zero_based=1), "zero_based must be True or False, got 1."),
        (lambda: read_vw("x", multilabel=1), "multilabel must be True, False or 'auto', got 1."),
        (lambda: read_svmlight("x", n_features=0), "n_features must be None or an integer in"),
        (lambda: read_svmlight("x", n_features=2**31), "n_features must be None or an integer in"),
        (lambda: read_vw("x", multilabel="yes"), "multilabel must be True, False or 'auto'"),
        (lambda: read_vw("x", label_type="float"), "label_type must be 'auto', 'int' or 'str'"),
        (lambda: read_vw("x", quoted_labels=1), "quoted_labels must be True or False, got 1."),
        (lambda: open_reader("x", format="cvs"), "format must be 'xc', 'svmlight', 'vw', 'npz',"),
        (
            lambda: open_reader("x", format="vw", vectorizer=object()),
            "vectorizer must be None for the format vw, which has no text",
        ),
        (lambda: list(read_xc(io.StringIO("x"))), "opened in binary mode"),
        (lambda: list(read_xc(7)), "a path, a binary file or '-', got 7"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize("chunk_rows", [np.int16(2), 2**64])
def test_any_integer_may_bound_the_rows_of_a_chunk(chunk_rows):
    text = b"1 1:1\n2 2:1\n"
    (chunk,) = read_svmlight(io.BytesIO(text), n_features=np.int64(3), chunk_rows=chunk_rows)
    assert chunk.features.shape == (2, 3)


def test_the_suffix_tells_the_format(tmp_path):
    names = {"xc": ["a.txt", "a.xc"], "svmlight": ["a.svm", "a.svmlight"], "vw": ["a.vw"]}
    for kind, text in SAMPLES.items():
        if kind == "lines":
            continue  # which is only read if asked for
        for name in names.get(kind, [f"a.{kind}"]):
            for packed, suffix in ((text, ""), (gzip.compress(text), ".gz")):
                path = tmp_path / (name.upper() + suffix)
                path.write_bytes(packed)
                assert rows_of(open_reader(path)) == rows_of(
                    open_reader(io.BytesIO(text), format=kind)
                )


def error_of(text, kind):
    """Read all: the DataFileError raised, if any. Nothing else may be."""
    try:
        rows_of(open_reader(io.BytesIO(text), format=kind, chunk_rows=2))
    except DataFileError as error:
        return error
    return None


@pytest.mark.parametrize("kind", SAMPLES)
@given(st.one_of(st.binary(max_size=200), st.text("019,:.|#' \t\n\r{}[]\"-e", max_size=80)))
def test_any_bytes_give_chunks_or_an_error(kind, text):
    text = text if isinstance(text, bytes) else text.encode()
    error = error_of(text, kind)
    assert error is None or 1 <= error.line <= text.count(b"\n") + 1


@pytest.mark.parametrize("kind", SAMPLES)
@settings(max_examples=300)
@given(
    packed=st.booleans(),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(max_size=3)), min_size=1, max_size=3
    ),
)
def test_damaged_files_give_chunks_or_an_error(kind, packed, edits):
    text = bytearray(gzip.compress(SAMPLES[kind], mtime=0) if packed else SAMPLES[kind])
    for where, n_removed, inserted in edits:
        at = int(where * len(text))
        text[at : at + n_removed] = inserted
    error = error_of(bytes(text), kind)
    assert error is None or (error.line >= 1 and error.path == "<stream>")


def test_the_core_refuses_text_that_is_not_bytes():
    with pytest.raises(TypeError):
        _core.parse_xc("1 1:1", 0, 1, 1, 10, 10)
