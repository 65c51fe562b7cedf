"""Readers of data files, each of which returns an iterator of `Chunk` at constant memory.

A source is a path, an open binary file, or ``"-"`` for the standard input. Gzip is recognised by
its content. A bad line raises `DataFileError` with the file and the line.
"""

from labeltrees.data.readers.detection.layout import FileLayout
from labeltrees.data.readers.detection.profile import DataProfile
from labeltrees.data.readers.fasttext import read_fasttext, read_lines
from labeltrees.data.readers.files import profile_file
from labeltrees.data.readers.formats import open_reader
from labeltrees.data.readers.json_lines import read_jsonl
from labeltrees.data.readers.npz import read_npz
from labeltrees.data.readers.parquet import read_parquet
from labeltrees.data.readers.source import Source
from labeltrees.data.readers.svmlight import read_svmlight, read_xc
from labeltrees.data.readers.table import read_csv
from labeltrees.data.readers.tsv import fit_tfidf, read_tsv
from labeltrees.data.readers.vectorizers import NoFeatures
from labeltrees.data.readers.vw import read_vw

__all__ = [
    "DataProfile",
    "FileLayout",
    "NoFeatures",
    "Source",
    "fit_tfidf",
    "open_reader",
    "profile_file",
    "read_csv",
    "read_fasttext",
    "read_jsonl",
    "read_lines",
    "read_npz",
    "read_parquet",
    "read_svmlight",
    "read_tsv",
    "read_vw",
    "read_xc",
]
