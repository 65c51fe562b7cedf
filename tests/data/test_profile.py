"""The profile of a file: its format by content, how it is read, and that no byte of it is lost."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labeltrees.data.readers import FileLayout, NoFeatures, open_reader, profile_file
from labeltrees.data.readers.detection import first_block
from labeltrees.data.readers.detection.file_format import detect_format
from labeltrees.data.readers.formats import FORMATS, SUFFIXES, TABLE
from labeltrees.errors import ArgumentError, DataError, DataFileError

CONTENT = {
    "xc": b"2 10 5\n3,1 0:1.5 4:-2\n 2:1\n",
    "svmlight": b"# a comment\n7,-1 1:0.5 3:2 # another\n\n7 2:1\n",
    "vw": b"1,2 2 'tag|n:2 x:1.5 y |m x\n|n y\n3 |n y y:3\n",
    "tsv": b"a b\tgood morning\n\tgood night\nc\tnight\tshift\n",
    "csv": b"label,text\na,good morning\nb,good night\n",
    "fasttext": b"__label__a __label__b good morning\n__label__c night shift\n",
    "jsonl": b'{"label": "a", "text": "good morning"}\n{"label": "b", "text": "night"}\n',
}
INTENTS = [(f"intent_{i % 30}", f"some words number {i}") for i in range(600)]


def write(path, content):
    path.write_bytes(content)
    return path


def texts_of(profile):
    return [text for chunk in profile.open(NoFeatures()) for text in chunk.texts]


def tsv(rows):
    return "".join(f"{label}\t{text}\n" for label, text in rows).encode()


# The format


@pytest.mark.parametrize("kind", CONTENT)
@pytest.mark.parametrize("suffix", [".txt", "", ".dat", ".txt.gz"])
def test_the_content_tells_the_format(kind, suffix, tmp_path):
    content = CONTENT[kind]
    path = write(
        tmp_path / f"rows{suffix}", gzip.compress(content) if suffix == ".txt.gz" else content
    )
    profile = profile_file(path)
    assert profile.format == kind
    assert profile.is_whole
    assert profile.layout.n_bytes == path.stat().st_size
    n_rows = sum(chunk.n_rows for chunk in profile.open())
    assert n_rows == profile.n_rows == sum(chunk.n_rows for chunk in open_reader(path)) >= 2


@pytest.mark.parametrize("kind", CONTENT)
@pytest.mark.parametrize("change", [b"\xef\xbb\xbf", b"\r\n", b""])
def test_marks_line_ends_and_missing_newlines_do_not_matter(kind, change):
    content = CONTENT[kind]
    if change == b"\r\n":
        content = content.replace(b"\n", change)
    else:
        content = change + content.rstrip(b"\n")
    profile = profile_file(io.BytesIO(content))
    assert profile.format == kind
    assert profile.n_labels == profile_file(io.BytesIO(CONTENT[kind])).n_labels


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", CONTENT)
def test_a_suffix_that_contradicts_the_content_is_an_error(suffix, kind, tmp_path):
    path = write(tmp_path / f"rows{suffix}", CONTENT[kind])
    named = SUFFIXES[suffix]
    if named == kind or {named, kind} == {"tsv", "csv"}:
        assert profile_file(path).format == kind
        return
    with pytest.raises(DataFileError) as caught:
        profile_file(path)
    assert (caught.value.path, caught.value.line) == (str(path), 1)
    if named in ("parquet", "npz"):
        assert f"the content is not a {named} file" in caught.value.reason
    else:
        assert f"--format {kind}" in caught.value.reason
        assert "the first line is " in caught.value.reason


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"1\t|f a b\n2\t|f c\n", "vw"),
        (b"| a b\n| c\n", "vw"),
        (b"1,Toy Story (1995),Adventure|Animation\n2,Heat,Action|Crime\n", "csv"),
        (b"Adventure|Animation\tToy Story\nAction|Crime\tHeat\n", "tsv"),
        (b"-1 1:0.5 7:1\n+1 2:1\n", "svmlight"),
        (b"1 qid:3 1:0.5\n", "svmlight"),
        (b"2 3 4\n1 0:1\n 2:1\n", "xc"),
        (b"2 3 4\n1:2.5,3:1 0:1\n 2:1\n", "xc"),
        (b'  {"label": "a", "text": "b"}\n', "jsonl"),
        (b"5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n7.0,3.2,Iris-virginica\n", "csv"),
    ],
)
def test_formats_that_look_alike_are_told_apart(content, kind):
    head = first_block.read_first_block(io.BytesIO(content))
    assert detect_format(head.content, "rows.txt", None) == kind


def test_what_fits_nothing_shows_its_first_line():
    with pytest.raises(DataFileError, match="the first line is 'Dear all,'") as caught:
        profile_file(io.BytesIO(b"Dear all,\n\nthis is no data.\n"))
    assert "tsv: rows 'label<TAB>text'" in caught.value.reason
    profile = profile_file(io.BytesIO(b"good morning\ngood night\n"), labelled=False)
    assert (profile.format, profile.is_text, profile.n_unlabelled) == ("lines", True, 2)
    assert texts_of(profile) == ["good morning", "good night"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", 1, "the file is empty"),
        (b"\n\n", 1, "the file is empty"),
        (b"a\tone\nb\tcaf\xe9\n", 2, "byte 0xe9 at its place 6. If it is Latin-1"),
        ("a\tone\n".encode("utf-16"), 1, "UTF-16"),
        (b'[{"label": 1}]\n', 1, "looks like one JSON array"),
        (b"a\tone\nno tab\n" * 2, 1, "the format cannot be detected"),
        (gzip.compress(b"x" * 1000, mtime=0)[:9], 1, "gzip"),
    ],
)
def test_bad_content_names_its_line(content, line, reason, tmp_path):
    path = write(tmp_path / "rows.txt", content)
    with pytest.raises(DataFileError, match=reason) as caught:
        profile_file(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_format_that_is_said_is_not_questioned():
    profile = profile_file(io.BytesIO(CONTENT["fasttext"]), format="lines")
    assert texts_of(profile)[0].startswith("__label__a")
    with pytest.raises(DataFileError, match=":1: there is no tab"):
        profile_file(io.BytesIO(CONTENT["fasttext"]), format="tsv")


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    for name in ("rows.txt", "rows.tsv", "rows"):
        with pytest.raises(FileNotFoundError, match=name):
            profile_file(tmp_path / name)
        with pytest.raises(FileNotFoundError, match=name):
            open_reader(tmp_path / name)


def test_every_format_is_in_one_table():
    assert set(FORMATS) == set(TABLE) == {*CONTENT, "npz", "parquet", "lines"}
    assert {each.holds for each in TABLE.values()} == {"text", "features", "either"}


def test_arrays_and_parquet_have_profiles(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(30), y=np.arange(30) // 10)
    profile = profile_file(path)
    assert (profile.format, profile.n_rows, profile.n_labels, profile.sorted_labels) == (
        "npz",
        30,
        3,
        True,
    )
    assert profile.density == pytest.approx(1 / 30)
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"label": ["x", "y"], "text": ["a b", "c"]}), path)
    profile = profile_file(path)
    assert (profile.format, profile.is_text, profile.n_labels) == ("parquet", True, 2)
    assert texts_of(profile) == texts_of(profile) == ["a b", "c"]
    packed = io.BytesIO(path.read_bytes())
    assert texts_of(profile_file(packed)) == ["a b", "c"]


# What is told


def test_sorted_and_shuffled_files_are_told_apart():
    rows = sorted(INTENTS)
    assert profile_file(io.BytesIO(tsv(rows))).sorted_labels
    assert "must be shuffled" in profile_file(io.BytesIO(tsv(rows))).notes[-1]
    random.Random(0).shuffle(rows)
    assert not profile_file(io.BytesIO(tsv(rows))).sorted_labels
    skewed = [("a" if i % 20 else "b", str(i)) for i in range(400)]
    assert not profile_file(io.BytesIO(tsv(skewed))).sorted_labels


def test_one_label_in_all_of_a_long_beginning_is_sorted(monkeypatch):
    monkeypatch.setattr(first_block, "FIRST_BLOCK_BYTES", 5000)
    rows = tsv([("a", f"words {i}") for i in range(2000)] + [("b", "x")] * 2000)
    profile = profile_file(io.BytesIO(rows))
    assert (profile.n_labels, profile.is_whole, profile.sorted_labels) == (1, False, True)
    assert sum(chunk.n_rows for chunk in profile.open(NoFeatures())) == 4000


def test_rows_labels_and_grades_are_counted():
    profile = profile_file(io.BytesIO(b"3 5 9\n3:2.5,1:1 0:1\n 2:1\n2:1 1:1 0:2\n"))
    assert (profile.n_rows, profile.n_unlabelled, profile.n_labels) == (3, 1, 3)
    assert (profile.several_labels, profile.graded) == (True, True)
    assert (profile.n_features, profile.density, profile.is_dense) == (
        3,
        pytest.approx(4 / 9),
        True,
    )
    assert "1 of the 3 rows read have no label." in profile.notes


def test_the_header_of_xc_may_promise_more_than_is_profiled(monkeypatch):
    monkeypatch.setattr(first_block, "FIRST_BLOCK_BYTES", 1000)
    text = b"1000 9 9\n" + b"".join(b"%d %d:1\n" % (i % 9, i % 7) for i in range(1000))
    for content in (text, gzip.compress(text)):
        profile = profile_file(io.BytesIO(content))
        assert (profile.format, profile.is_whole) == ("xc", False)
        assert 100 < profile.n_rows < 250
        assert sum(chunk.n_rows for chunk in profile.open()) == 1000


def test_separator_header_and_columns_are_told():
    profile = profile_file(io.BytesIO(b"text\tlabel\n" + tsv([("one two", "a b")] * 3)))
    assert "is used as names of columns" in profile.notes[0]
    assert profile.layout.options["label_column"] == 2
    assert profile.layout.options["label_separator"] is None
    table = b"id\ttitle\ttags\n" + b"".join(
        b"%d\tmy own title\ta%d,b%d\n" % (i, i % 3, i % 4) for i in range(12)
    )
    profile = profile_file(io.BytesIO(table))
    options = profile.layout.options
    assert (profile.format, options["label_separator"]) == ("csv", ",")
    assert options["columns"] == ["id", "title", "tags"]
    assert "The columns 'id' are not used." in profile.notes
    assert profile_file(io.BytesIO(table), label_separator=None).n_labels == 12


def test_options_that_a_format_does_not_use_are_errors():
    for options in ({"label_column": 1}, {"label_separator": None}, {"header": True}):
        with pytest.raises(ArgumentError, match="is not an option of the format fasttext"):
            profile_file(io.BytesIO(CONTENT["fasttext"]), **options)
    with pytest.raises(ArgumentError, match="text_column is not an option of the format tsv"):
        profile_file(io.BytesIO(CONTENT["tsv"]), text_column=2)
    with pytest.raises(ArgumentError, match="label_column must be 1 or 2 for the format tsv"):
        profile_file(io.BytesIO(CONTENT["tsv"]), label_column="label")
    assert (
        profile_file(io.BytesIO(CONTENT["tsv"]), label_column="2").layout.options["label_column"]
        == 2
    )


# Reading another file the same way


@pytest.mark.parametrize("kind", CONTENT)
def test_facts_are_json_and_read_the_same(kind, tmp_path):
    path = write(tmp_path / "rows.txt", CONTENT[kind])
    profile = profile_file(path)
    facts = json.loads(json.dumps(profile.layout.facts()))
    again = FileLayout.from_facts(facts, str(path))
    assert (again.format, again.is_text) == (profile.format, profile.is_text)
    for _ in range(2):
        ours, theirs = list(profile.open()), list(again.open())
        assert [c.labels.tolist() for c in ours] == [c.labels.tolist() for c in theirs]
        assert [c.texts for c in ours] == [c.texts for c in theirs]
        assert all((a.features != b.features).nnz == 0 for a, b in zip(ours, theirs, strict=True))


def test_a_table_is_found_by_names_in_another_file():
    profile = profile_file(
        io.BytesIO(b"colour,legs,kind\nred,4,cat\nblue,2,bird\nred,4,cat\n"), label_column=3
    )
    same = FileLayout.from_facts(profile.layout.facts(), io.BytesIO(b"legs,colour\n4,red\n"))
    (chunk,) = same.open()
    assert chunk.n_unlabelled == 1
    assert (chunk.features != next(profile.open()).features[[0]]).nnz == 0
    lacking = FileLayout.from_facts(profile.layout.facts(), io.BytesIO(b"legs,size\n4,red\n"))
    with pytest.raises(DataFileError, match=":1: the column 'colour' is missing"):
        list(lacking.open())


def test_a_header_is_looked_for_in_every_file():
    profile = profile_file(io.BytesIO(b"label\ttext\na\tone\nb\ttwo\n"))
    assert "is used as names of columns" in profile.notes[0]
    other = FileLayout.from_facts(profile.layout.facts(), io.BytesIO(b"a\tthree\n"))
    assert texts_of(other) == ["three"]
    other = FileLayout.from_facts(profile.layout.facts(), io.BytesIO(b"label\ttext\na\tthree\n"))
    assert texts_of(other) == ["three"]


def test_many_tabs_are_told():
    profile = profile_file(io.BytesIO(b"a\tone two\tthree\nb\tfour five\tsix\n" * 6))
    assert (profile.format, profile.n_labels) == ("tsv", 2)
    assert "Every line has 2 tabs" in profile.notes[0]
    table = profile_file(io.BytesIO(b"a\tone two\tthree\n" * 6), format="csv")
    assert table.layout.options["columns"] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "facts", [{}, {"format": "cvs", "options": {}}, {"format": "csv", "options": {"x": 1}}]
)
def test_facts_that_are_none_are_refused(facts):
    with pytest.raises(DataError, match="the layout of a file in a model file is wrong"):
        FileLayout.from_facts(facts, "x")


# Streams


def pipe_of(*pieces, until=None):
    """The reading end of a pipe into which pieces are written; it stays open until the event."""
    reading, writing = os.pipe()

    def write_all():
        with os.fdopen(writing, "wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
            if until is not None:
                until.wait(20)
                file.write(b"last\tone more\n")

    threading.Thread(target=write_all, daemon=True).start()
    return os.fdopen(reading, "rb")


@pytest.mark.parametrize("packed", [False, True])
def test_nothing_of_a_pipe_is_lost(packed, monkeypatch):
    monkeypatch.setattr(first_block, "FIRST_BLOCK_BYTES", 2000)
    content = tsv(INTENTS)
    data = gzip.compress(content, 0) if packed else content
    with pipe_of(data[:700], data[700:5000], data[5000:]) as pipe:
        profile = profile_file(pipe)
        assert (profile.format, profile.layout.n_bytes) == ("tsv", None)
        assert 0 < profile.n_rows < 600
        assert texts_of(profile) == [text for _, text in INTENTS]
        with pytest.raises(DataError, match="is a stream, which can be read only once"):
            profile.open()


def test_a_pipe_that_pauses_has_a_profile_all_the_same():
    until = threading.Event()
    with pipe_of(b"a\tgood morning\nb\tgood", b" night\n", until=until) as pipe:
        profile = profile_file(pipe)
        assert (profile.format, profile.n_rows, profile.is_whole) == ("tsv", 2, False)
        until.set()
        assert texts_of(profile) == ["good morning", "good night", "one more"]


def test_packed_content_of_a_slow_pipe_is_waited_for():
    data = gzip.compress(tsv(INTENTS) + b"\n" * 50)
    reading, writing = os.pipe()

    def write_slowly():
        with os.fdopen(writing, "wb", buffering=0) as file:
            for at in range(0, len(data), 200):
                file.write(data[at : at + 200])
                time.sleep(0.25 if at == 0 else 0)

    threading.Thread(target=write_slowly, daemon=True).start()
    with os.fdopen(reading, "rb") as pipe:
        profile = profile_file(pipe)
        assert profile.format == "tsv"
        assert texts_of(profile) == [text for _, text in INTENTS]


def test_the_standard_input_and_a_named_pipe_have_profiles(tmp_path):
    code = (
        "import sys\n"
        "from labeltrees.data.readers import profile_file, open_reader, NoFeatures\n"
        "profile = profile_file(sys.argv[1])\n"
        "n_rows = sum(c.n_rows for c in profile.open(NoFeatures()))\n"
        "print(profile.format, profile.layout.name, n_rows)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run([*command, "-"], input=tsv(INTENTS), capture_output=True, check=True)
    assert done.stdout == b"tsv <stdin> 600\n"
    with (tmp_path / "rows.tsv").open("wb") as file:
        file.write(tsv(INTENTS))
    with (tmp_path / "rows.tsv").open("rb") as file:
        done = subprocess.run([*command, "-"], stdin=file, capture_output=True, check=True)
    assert done.stdout == b"tsv <stdin> 600\n"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    threading.Thread(target=fifo.write_bytes, args=(tsv(INTENTS),), daemon=True).start()
    done = subprocess.run([*command, str(fifo)], capture_output=True, check=True)
    assert done.stdout == f"tsv {fifo} 600\n".encode()


def test_parquet_and_arrays_come_through_pipes(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(30), y=np.arange(30) // 10)
    with pipe_of(path.read_bytes()) as pipe:
        profile = profile_file(pipe)
        assert (profile.format, profile.n_rows) == ("npz", 30)
        assert sum(chunk.n_rows for chunk in profile.open()) == 30


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_a_long_line_takes_little_memory():
    """The resident memory of a process that meets a line of 64 MB, beside one of a short line."""
    code = (
        "import sys\n"
        "from labeltrees.data.readers import profile_file, NoFeatures\n"
        "from labeltrees.errors import DataFileError\n"
        "try:\n"
        "    sum(c.n_rows for c in profile_file('-', format=sys.argv[1]).open(NoFeatures()))\n"
        "except DataFileError as error:\n"
        "    assert 'longer than max_line_bytes' in str(error), error\n"
        "status = open('/proc/self/status').read()\n"
        "print(status.partition('VmHWM:')[2].split()[0])\n"
    )

    def peak(kind, content):
        command = [sys.executable, "-c", code, kind]
        done = subprocess.run(command, input=content, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()[-500:]
        return int(done.stdout) / 1024

    starts = {"vw": b"a | ", "tsv": b"a\t", "csv": b"label,text\na,", "jsonl": b'{"text": "'}
    for kind, start in starts.items():
        short = peak(kind, CONTENT[kind])
        long = peak(kind, start + b"word " * (64 * 2**20 // 5))
        assert long - short < 40, (kind, short, long)


def test_gzip_that_ends_too_early_is_named_when_it_is_read(tmp_path):
    rng = random.Random(4)
    rows = [(f"intent_{i}", str(rng.random())) for i in range(600)]
    path = write(tmp_path / "rows.tsv.gz", gzip.compress(tsv(rows))[:-3000])
    profile = profile_file(path)
    assert 0 < profile.n_rows < 600
    with pytest.raises(DataFileError, match="the gzip stream ends too early"):
        list(profile.open(NoFeatures()))


def outcome_of(content):
    """Profile and read: the number of rows, or the line of the only error that may be raised."""
    try:
        profile = profile_file(io.BytesIO(content), labelled=len(content) % 2 == 0)
        return sum(chunk.n_rows for chunk in profile.open(NoFeatures()))
    except DataFileError as error:
        return error.line


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.text("019,:.|;#'_ab \t\n\r{}[]\"-e", max_size=80)))
@example(b"\x1f\x8b")
@example(b"PK\x03\x04")
@example(b"PAR1")
@example(b"a,a\nb,c\n")
@example(b"0 0 0\n")
def test_any_bytes_have_a_profile_or_an_error(content):
    content = content if isinstance(content, bytes) else content.encode()
    assert 0 <= outcome_of(content) <= content.count(b"\n") + 1


@pytest.mark.parametrize("kind", CONTENT)
@given(
    packed=st.booleans(),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(max_size=3)), min_size=1, max_size=3
    ),
)
def test_damaged_files_have_a_profile_or_an_error(kind, packed, edits):
    text = bytearray(gzip.compress(CONTENT[kind], mtime=0) if packed else CONTENT[kind])
    for where, n_removed, inserted in edits:
        at = int(where * len(text))
        text[at : at + n_removed] = inserted
    assert 0 <= outcome_of(bytes(text)) <= 10
