"""The built-in stream: its tokens are CPython 3.11's, its rows those of a slow plain version.

The plain version takes tokens from `tokenize` and hashes in Python integers; it holds on 3.11,
whose `tokenize` the core follows (later ones split f-strings and reject more).
"""

from __future__ import annotations

import hashlib
import io
import platform
import random
import sys
import tokenize
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.data.python_source import (
    N_FEATURES,
    PythonSource,
    SourceChunk,
    next_identifier_features,
    next_identifier_names,
    source_files,
    tokens,
)
from labeltrees.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from labeltrees.data.chunk import Chunk

Row = tuple[str, list[int]]

MARKS = {
    tokenize.NUMBER: "<num>",
    tokenize.STRING: "<str>",
    tokenize.NEWLINE: "<nl>",
    tokenize.INDENT: "<ind>",
    tokenize.DEDENT: "<ded>",
}

needs_3_11 = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="compares with the tokenize module of CPython 3.11"
)


def plain_tokens(source: bytes) -> list[str] | None:
    try:
        lines = io.StringIO(source.decode(), newline=None).readline
        found = list(tokenize.generate_tokens(lines))
    except (tokenize.TokenError, IndentationError, UnicodeDecodeError):
        return None
    named = (tokenize.NAME, tokenize.OP)
    texts = [t.string if t.type in named else MARKS.get(t.type) for t in found]
    return [text for text in texts if text]


def core_tokens(source: bytes) -> list[str] | None:
    try:
        return _core.python_tokens(source, unfinished=False)
    except ValueError:
        return None


def mix(x: int) -> int:
    for _ in range(2):
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 % 2**64
    return x ^ (x >> 32)


def combine(first: int, second: int) -> int:
    return mix((first * 0x9E3779B97F4A7C15 + second) % 2**64)


def text_hash(text: str) -> int:
    data = text.encode()
    value = mix(len(data) * 0x9E3779B97F4A7C15 % 2**64)
    n_whole = len(data) // 8 * 8
    for at in range(0, n_whole, 8):
        value = combine(value, int.from_bytes(data[at : at + 8], "little"))
    return combine(value, int.from_bytes(data[n_whole:], "little"))


def feature(kind: int, *texts: str) -> int:
    for text in texts:
        kind = combine(kind, text_hash(text))
    return kind % N_FEATURES


def plain_features(context: list[str]) -> list[int]:
    found = {feature(k, context[-k]) for k in range(1, 7) if k <= len(context)}
    if len(context) >= 2:
        found.add(feature(7, *context[-2:]))
    if len(context) >= 3:
        found.add(feature(8, *context[-3:]))
    found |= {feature(9, text) for text in context[-24:] if text.isidentifier()}
    return sorted(found)


def plain_rows(texts: list[str]) -> list[Row]:
    return [
        (text, plain_features(texts[max(0, i - 24) : i]))
        for i, text in enumerate(texts)
        if i >= 8 and text.isidentifier()
    ]


def rows_of(chunks: list[Chunk]) -> list[Row]:
    rows = []
    for chunk in chunks:
        starts, indices = chunk.features.indptr, chunk.features.indices
        rows += [
            (label, indices[starts[i] : starts[i + 1]].tolist())
            for i, label in enumerate(chunk.labels)
        ]
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 40 files, some of them nested, skipped, empty or not to be found."""
    root = tmp_path_factory.mktemp("code")
    rng = random.Random(1)
    names = [f"name_{i}" for i in range(30)]
    for i in range(40):
        lines = [
            f"{rng.choice(names)} = {rng.random()}, {', '.join(rng.choices(names, k=k))}\n"
            for k in rng.choices(range(1, 6), k=rng.randint(1, 60))
        ]
        path = root / f"package_{i % 3}" / f"module_{i}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(lines))
    (root / "bad.py").write_text("x = (\n")
    (root / "latin.py").write_bytes(b"x = '\xe9'\n")
    (root / "empty.py").write_text("")
    (root / "notes.txt").write_text("not = 'code'\n")
    (root / "folder.py").mkdir()
    (root / "site-packages").mkdir()
    (root / "site-packages" / "other.py").write_text("not_of_this_folder = 1\n" * 20)
    return root


def test_an_example_is_an_identifier_with_the_tokens_before_it(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = b\nf(a, a.c)\n")
    (chunk,) = PythonSource(tmp_path)
    # a = b <nl> f ( a , | a . c: the identifiers with 8 tokens before them are the last two
    first = [feature(1, ","), feature(2, "a"), feature(3, "("), feature(4, "f")]
    first += [feature(5, "<nl>"), feature(6, "b"), feature(7, "a", ","), feature(8, "(", "a", ",")]
    first += [feature(9, "a"), feature(9, "b"), feature(9, "f")]
    assert chunk.labels.tolist() == ["a", "c"]
    assert chunk.features.shape == (2, N_FEATURES)
    assert chunk.features.indices[: chunk.features.indptr[1]].tolist() == sorted(first)


def test_an_f_string_is_one_token_on_every_python() -> None:
    assert tokens("f'{a} {b:{c}}' + rb'''x''' + 1if x else 0x1f") == (
        ["<str>", "+", "<str>", "+", "<num>", "if", "x", "else", "<num>", "<nl>"]
    )


def tokens_hash(found: Iterable[list[str] | None]) -> str:
    whole = hashlib.sha256()
    for texts in found:
        whole.update(b"\1" if texts is None else "\n".join(texts).encode() + b"\0")
    return whole.hexdigest()


#: Of `plain_tokens` of CPython 3.11.7's 1,790 files: half a minute of `tokenize` on every run.
KNOWN_HASH = "305c31ea6a05b945bafa6e767e9440a7e1d58d4d3731341b1018fb38ab4145de"


@pytest.mark.thorough
@needs_3_11
def test_the_tokens_of_the_standard_library_are_those_of_tokenize() -> None:
    files = source_files()
    if tokens_hash(core_tokens(path.read_bytes()) for path in files) == KNOWN_HASH:
        files = random.Random(0).sample(files, 30)  # that the hash is still that of tokenize
    different = [
        path for path in files if core_tokens(source := path.read_bytes()) != plain_tokens(source)
    ]
    assert different == []


# Pieces that open, close and continue each other, and letters, digits and marks of every class.
# fmt: off
PIECES = [
    "'", '"', "'''", '"""', "\\", "\\'", "(", ")", "[", "{", "}", "#", "0", "1", "7", "_", ".",
    "...", "e5", "E-", "j", "0x", "0b", "0o", "r", "b", "f", "u", "rb", "Fr", "if", "name", "x",
    "=", "==", "!", "!=", "?", "$", "->", "-", ">", "<", "*", "**", "/", ":", "@", "~", "\xe9",
    "\xb2", "\xb7", "\u2118", "\u0663", "\u0301", "\U0001d7ce", "\U0001f600", "\ufeff", "\n",
    "\r\n", "\r", " ", "  ", "\t", "\x0c", "\\\n", "\n  ", "\xa0", "\x00", "\x1c", "\u2028",
]
WORDS = [
    "a", "b1", "if", "long_identifier", "\xe9", "x\xb2", "=", "**", "1.5", "'s'", "[]", "#\n", "\n",
]
# fmt: on
pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@needs_3_11
@settings(max_examples=600, deadline=None, derandomize=True)
@given(pieces | st.text(max_size=30))
def test_the_tokens_of_any_text_are_those_of_tokenize(text: str) -> None:
    source = text.encode(errors="replace")
    assert core_tokens(source) == plain_tokens(source)


@needs_3_11
def test_characters_are_in_words_exactly_where_tokenize_has_them() -> None:
    codes = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
    kinds = [(chr(c).isalnum(), chr(c).isidentifier(), f"a{chr(c)}".isidentifier()) for c in codes]
    edges = [i for i in range(1, len(codes)) if kinds[i] != kinds[i - 1]]
    chars = [chr(codes[i - k]) for i in edges for k in (0, 1)]
    source = "".join(f"{c}a a{c}a\n" for c in chars).encode()
    assert core_tokens(source) == plain_tokens(source)
    corpus = _core.PythonCorpus()
    corpus.add(source)
    late = (plain_tokens(source) or [])[8:]
    assert corpus.n_examples == sum(text.isidentifier() for text in late)


@needs_3_11
@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), min_size=8, max_size=60).map(" ".join))
def test_the_rows_of_any_text_are_those_of_the_plain_version(text: str) -> None:
    corpus = _core.PythonCorpus()
    source = text.encode()
    assert corpus.add(source) == (plain_tokens(source) is not None)
    starts, indices, labels, contexts = corpus.rows(corpus.take_positions(1000))
    names = corpus.names(0)
    tokens_of_text = plain_tokens(source) or []
    before = [
        tokens_of_text[i - 3 : i]
        for i, token in enumerate(tokens_of_text)
        if i >= 8 and token.isidentifier()
    ]
    assert [[names[token] for token in context] for context in contexts] == before
    got = [
        (names[label], indices[starts[i] : starts[i + 1]].tolist())
        for i, label in enumerate(labels)
    ]
    assert got == plain_rows(plain_tokens(source) or [])


@needs_3_11
@pytest.mark.parametrize("order", ["files", "shuffled"])
def test_the_stream_is_the_rows_of_its_files_in_order(folder: Path, order: str) -> None:
    expected = [
        row
        for path in source_files(folder)
        for row in plain_rows(plain_tokens(path.read_bytes()) or [])
    ]
    got = rows_of(list(PythonSource(folder, order=order, chunk_rows=100)))
    assert len(got) > 1000
    assert (got if order == "files" else sorted(got)) == (
        expected if order == "files" else sorted(expected)
    )


@pytest.mark.skipif(
    platform.python_implementation() != "CPython"
    or sys.version_info[:3] != (3, 11, 7)
    or len(source_files()) != 1790,
    reason="the counts are those of CPython 3.11.7 with a standard library of 1,790 files",
)
def test_whole_files_past_a_million_and_a_half_examples_are_1500817_of_63931_labels() -> None:
    corpus = _core.PythonCorpus()
    for path in source_files():
        corpus.add(path.read_bytes())
        if corpus.n_examples > 1_500_000:
            break
    _, _, labels, _ = corpus.rows(corpus.take_positions(2_000_000))
    assert (len(labels), len(np.unique(labels))) == (1_500_817, 63_931)


def test_the_file_order_is_a_seeded_shuffle_of_the_sorted_paths(folder: Path) -> None:
    top = [folder / name for name in ("bad.py", "empty.py", "latin.py")]
    expected = sorted([*folder.glob("package_*/*.py"), *top])
    random.Random(0).shuffle(expected)
    assert source_files(folder) == expected
    assert source_files(str(folder)) == expected


def test_a_folder_inside_site_packages_can_be_asked_for(folder: Path) -> None:
    inside = folder / "site-packages"
    assert source_files(inside) == [inside / "other.py"]


@pytest.mark.parametrize("order", ["files", "shuffled"])
def test_a_stream_read_twice_is_the_same(folder: Path, order: str) -> None:
    source = PythonSource(folder, order=order, seed=3)
    assert rows_of(list(source)) == rows_of(list(source))


@pytest.mark.parametrize("order", ["files", "shuffled"])
@pytest.mark.parametrize("limit", [None, 1, 1000, 10**9])
@pytest.mark.parametrize("chunk_rows", [1, 7, 1000, 2**24])
def test_rows_do_not_depend_on_the_size_of_chunks(
    folder: Path, order: str, limit: int | None, chunk_rows: int
) -> None:
    expected = rows_of(list(PythonSource(folder, order=order, limit=limit)))
    chunks = list(PythonSource(folder, order=order, limit=limit, chunk_rows=chunk_rows))
    assert rows_of(chunks) == expected
    assert all(len(chunk.labels) == chunk_rows for chunk in chunks[:-1])
    assert 1 <= len(chunks[-1].labels) <= chunk_rows
    firsts = [1 + i * chunk_rows for i in range(len(chunks))]
    assert [chunk.first_line for chunk in chunks] == firsts


@pytest.mark.parametrize("limit", [1, 10, 999, 1000, None])
def test_a_limit_takes_the_first_examples_and_shuffling_permutes_exactly_those(
    folder: Path, limit: int | None
) -> None:
    everything = rows_of(list(PythonSource(folder, limit=None)))
    in_order = rows_of(list(PythonSource(folder, limit=limit)))
    shuffled = rows_of(list(PythonSource(folder, limit=limit, order="shuffled", seed=5)))
    assert in_order == everything[:limit]
    assert sorted(shuffled) == sorted(in_order)
    if len(in_order) > 100:
        assert shuffled != in_order
        other = rows_of(list(PythonSource(folder, limit=limit, order="shuffled", seed=6)))
        assert other != shuffled


def test_chunks_hold_the_types_that_learners_take(folder: Path) -> None:
    chunk = next(iter(PythonSource(folder)))
    n_rows = chunk.features.shape[0]
    assert chunk.features.data.dtype == np.float32
    assert np.all(chunk.features.data == 1)
    assert chunk.features.indices.dtype == np.int32
    assert chunk.labels.dtype == object
    assert all(type(label) is str for label in chunk.labels)
    assert chunk.label_starts.dtype == np.int64
    assert chunk.label_starts.tolist() == list(range(n_rows + 1))
    assert chunk.weights is None
    chunk.features.check_format(full_check=True)
    row = np.repeat(np.arange(n_rows), np.diff(chunk.features.indptr))
    assert np.all((np.diff(chunk.features.indices) > 0) | (np.diff(row) > 0))


def test_the_head_of_a_chunk_keeps_its_contexts(folder: Path) -> None:
    chunk = next(iter(PythonSource(folder)))
    head = chunk.head(5)
    assert isinstance(head, SourceChunk)
    assert rows_of([head]) == rows_of([chunk])[:5]
    assert head.contexts.tolist() == chunk.contexts[:5].tolist()


def test_taken_rows_keep_their_contexts():
    chunk = next(iter(PythonSource(limit=20)))
    taken = chunk.take(np.array([7, 3]))
    assert isinstance(taken, SourceChunk)
    assert np.array_equal(taken.contexts, chunk.contexts[[7, 3]])
    assert taken.labels.tolist() == chunk.labels[[7, 3]].tolist()


def test_equal_labels_share_one_string(folder: Path) -> None:
    labels = next(iter(PythonSource(folder))).labels
    assert len({id(label) for label in labels}) == len(set(labels)) < len(labels)


def test_typed_text_has_the_features_the_stream_gives_the_next_identifier(tmp_path: Path) -> None:
    before = "import os\n\ndef names(folder):\n    for entry in os.scandir("
    (tmp_path / "typed.py").write_text(before + "folder):\n        yield entry\n")
    rows = dict(rows_of(list(PythonSource(tmp_path))))
    typed = next_identifier_features(before)
    assert typed.shape == (1, N_FEATURES)
    assert typed.data.dtype == np.float32
    assert typed.indices.tolist() == rows["folder"]


@pytest.mark.parametrize("source", ["", "import os\nos.", "\ud800 x.", "x = 'open"])
def test_every_feature_of_any_typed_text_has_a_name(source: str) -> None:
    columns = next_identifier_features(source).indices.tolist()
    assert sorted(next_identifier_names(source)) == columns


@pytest.mark.parametrize(
    ("source", "context"),
    [
        ("", []),
        ("x", ["x"]),
        ("for i in range(", ["for", "i", "in", "range", "("]),
        ("if x:\n    ", ["if", "x", ":", "<nl>", "<ind>"]),
        ("if x:\n    y\n", ["if", "x", ":", "<nl>", "<ind>", "y", "<nl>"]),
        ("x = '''never closed\n", ["x", "="]),
        ("\ud800 x.", ["x", "."]),
    ],
)
def test_text_that_is_not_finished_has_features(source: str, context: list[str]) -> None:
    assert next_identifier_features(source).indices.tolist() == plain_features(context)


def test_a_folder_without_examples_gives_no_chunk(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text("x = 1\n")
    for order in ("files", "shuffled"):
        assert list(PythonSource(tmp_path, order=order)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": "random"}, r"order must be 'files' or 'shuffled', got 'random'\."),
        ({"limit": 0}, r"limit must be None or an integer >= 1, got 0\."),
        ({"limit": 1.5}, r"limit must be None or an integer >= 1, got 1\.5\."),
        ({"seed": -1}, r"seed must be an integer >= 0, got -1\."),
        ({"chunk_rows": 0}, r"chunk_rows must be an integer in \[1, 2\^24\], got 0\."),
        ({"chunk_rows": 2**24 + 1}, "chunk_rows must be"),
    ],
)
def test_arguments_outside_their_range_are_named(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        PythonSource(**arguments)  # type: ignore[arg-type]


def test_folders_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"folder must be a folder that .*nowhere"):
        iter(PythonSource(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"this folder has no \*\.py file"):
        iter(PythonSource(tmp_path))
    (tmp_path / "bad.py").write_text("(")
    with pytest.raises(DataError, match=r"no file is Python 3 code .*bad\.py"):
        list(PythonSource(tmp_path))


def test_a_file_gone_since_it_was_listed_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text("x = 1\n")
    chunks = iter(PythonSource(tmp_path))
    (tmp_path / "gone.py").unlink()
    with pytest.raises(DataError, match=r"gone\.py: No such file"):
        next(chunks)


def test_source_that_is_not_python_or_not_text_is_refused() -> None:
    with pytest.raises(DataError, match="the source is not Python: a bracket"):
        tokens("x = (")
    with pytest.raises(ArgumentError, match="source must be a string, got b'x'"):
        next_identifier_features(b"x")  # type: ignore[arg-type]


def test_places_outside_the_corpus_are_refused() -> None:
    corpus = _core.PythonCorpus()
    corpus.add(b"x = 1\n")
    for place in (-1, corpus.n_tokens):
        with pytest.raises(IndexError, match="no such place"):
            corpus.rows(np.array([place]))
