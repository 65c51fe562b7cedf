"""Rows of pipes are given as they come, in every format of lines."""

import io
import os
import sys
import threading

import pytest

from labeltrees.data.readers import open_reader

PIPED = {
    "xc": (b"3 5 9\n", [b"1 0:1\n", b"2 1:1\n", b"3 2:1\n"]),
    "svmlight": (b"", [b"1 0:1\n", b"2 1:1\n", b"3 2:1\n"]),
    "vw": (b"", [b"1 |a b\n", b"2 |a c\n", b"3 |a d\n"]),
    "tsv": (b"", [b"1\ta\n", b"2\tb\n", b"3\tc\n"]),
    "csv": (b"label,text\n", [b"1,a\n", b"2,b\n", b"3,c\n"]),
    "fasttext": (b"", [b"__label__1 a\n", b"__label__2 b\n", b"__label__3 c\n"]),
    "jsonl": (b"", [b'{"label": %d, "text": "x"}\n' % i for i in (1, 2, 3)]),
}


@pytest.mark.parametrize("kind", PIPED)
def test_a_row_of_a_pipe_is_given_when_its_line_is_complete(kind, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    head, lines = PIPED[kind]
    keeper = os.open(path, os.O_RDWR)  # so that opening does not wait for the other side
    try:
        os.write(keeper, head + lines[0] + lines[1][:2])
        chunks = open_reader(path, format=kind)
        assert [str(label) for label in next(chunks).labels] == ["1"]
        os.write(keeper, lines[1][2:])
        assert [str(label) for label in next(chunks).labels] == ["2"]
        os.write(keeper, lines[2])
        assert [str(label) for label in next(chunks).labels] == ["3"]
        chunks.close()
    finally:
        os.close(keeper)


def test_a_pipe_that_does_not_block_is_waited_for(monkeypatch):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    writer = threading.Timer(0.05, lambda: (os.write(writing, b"7 1:1\n"), os.close(writing)))
    with open(reading, "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        writer.start()
        (chunk,) = open_reader("-", format="svmlight")
        assert chunk.labels.tolist() == [7]
    writer.join()
