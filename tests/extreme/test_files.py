"""Training from files whose rows stay in files: the same model as from memory."""

from __future__ import annotations

import errno
import hashlib
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from tests import children

from labeltrees import ExtremeRegressor
from labeltrees.data.readers import read_svmlight
from labeltrees.data.shuffle import joined
from labeltrees.data.vocabulary import LabelVocabulary
from labeltrees.errors import ArgumentError, DataError, NoSpaceError
from labeltrees.models.extreme import spilling
from labeltrees.models.extreme.spilling import chunk_in_files, rows_and_relevance, taken_in_files


def digest(model, folder):
    path = folder / "model.bin"
    model.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def data(n_rows=500, seed=2):
    random = np.random.default_rng(seed)
    X = sparse.random(n_rows, 80, density=0.08, format="csr", random_state=seed, dtype=np.float32)
    X = sparse.csr_array(X)
    best = np.asarray(X.argmax(axis=1)).ravel() % 50
    return X, [sorted({int((b + s) % 50) for s in range(random.integers(0, 4))}) for b in best]


def written(path, X, y):
    with path.open("w") as file:
        for row, own in zip(X, y, strict=True):
            pairs = " ".join(f"{c}:{v:.9g}" for c, v in zip(row.indices, row.data, strict=True))
            file.write(f"{','.join(map(str, own))} {pairs}\n")
    return path


@pytest.fixture
def small_slabs(monkeypatch):
    monkeypatch.setattr(spilling, "_ENTRIES_AT_ONCE", 300)


PARAMETERS = [
    {"n_trees": 2, "arity": 3, "max_leaf": 4},
    {"n_trees": 1, "relevance": "propensity", "tail": "xreg", "n_jobs": 2},
    {"n_trees": 1, "calibrate": False, "max_memory": 2_000_000, "max_leaf": 5},
]


@pytest.mark.usefixtures("small_slabs")
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_model_of_files_is_that_of_memory(parameters, tmp_path):
    X, y = data()
    wide = sparse.csr_array(X[:, : int(X.indices.max()) + 1])
    wanted = digest(ExtremeRegressor(**parameters).fit(wide, y), tmp_path)
    files = [written(tmp_path / f"{i}.svm", X[a:b], y[a:b])
             for i, (a, b) in enumerate([(0, 130), (130, 500)])]  # fmt: skip
    folder = tmp_path / "space"
    folder.mkdir()
    model = ExtremeRegressor(**parameters).fit_files(files, folder=folder)
    assert digest(model, tmp_path) == wanted
    assert list(folder.iterdir()) == []
    assert (
        model.predict(X[:3]).tolist()
        == ExtremeRegressor(**parameters).fit(wide, y).predict(X[:3]).tolist()
    )


def test_a_reader_and_a_single_path_are_taken_as_well(tmp_path):
    X, y = data(200)
    path = written(tmp_path / "rows.svm", X, y)
    ours = [
        ExtremeRegressor(n_trees=1).fit_files(files)
        for files in (path, str(path), read_svmlight(path, chunk_rows=30))
    ]
    assert len({digest(model, tmp_path) for model in ours}) == 1


def test_texts_are_learned_with_a_vectorizer(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"sun{i % 3}\tit is warm {i % 3}\n" for i in range(60)))
    model = ExtremeRegressor(n_trees=1).fit_files(path)
    assert model.n_features_in_ == 2**20
    assert model.classes_.tolist() == ["sun0", "sun1", "sun2"]


def test_what_cannot_be_learned_is_refused(tmp_path):
    X, y = data(20)
    path = written(tmp_path / "rows.svm", X, y)
    with pytest.raises(ArgumentError, match="warm_start must be False"):
        ExtremeRegressor(warm_start=True).fit_files(path)
    with pytest.raises(ArgumentError, match="files must be a path"):
        ExtremeRegressor().fit_files(3)
    with pytest.raises(DataError, match="no row"):
        ExtremeRegressor().fit_files(iter([]))
    for folder in (tmp_path / "nowhere", path):
        with pytest.raises(ArgumentError, match="folder must be a folder in which files can be"):
            ExtremeRegressor().fit_files(path, folder=folder)


def test_where_rows_cannot_be_kept_in_files_nothing_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(spilling, "CAN_SPILL", False)
    path = written(tmp_path / "rows.svm", *data(20))
    chunks = read_svmlight(path)
    for folder in (None, tmp_path):
        with pytest.raises(ArgumentError, match="Train in memory with fit, or row by row"):
            ExtremeRegressor().fit_files(chunks, folder=folder)
    assert next(chunks).n_rows == 20
    assert [each.name for each in tmp_path.iterdir()] == ["rows.svm"]


def test_a_disk_without_room_is_told_before_training(tmp_path, monkeypatch):
    path = written(tmp_path / "rows.svm", *data(200))
    asked = []

    def disk_usage(folder):
        asked.append(folder)
        return SimpleNamespace(free=1000)

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    with pytest.raises(NoSpaceError, match="has 0 MB free, and training needs") as error:
        ExtremeRegressor().fit_files(path, folder=tmp_path)
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(tmp_path))
    assert asked == [tmp_path]
    assert [each.name for each in tmp_path.iterdir()] == ["rows.svm"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes room in a file beforehand")
@pytest.mark.parametrize(("most", "where"), [(4096, "append"), (100_000, "train_nodes")])
def test_a_disk_that_gets_full_is_a_typed_error(most, where, tmp_path):
    """RLIMIT_FSIZE stands for it: for rows that are written and for what the core copies."""
    path = written(tmp_path / "rows.svm", *data(800))
    program = f"""
import resource, sys
from labeltrees import ExtremeRegressor
from labeltrees.errors import NoSpaceError
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
try:
    ExtremeRegressor().fit_files(sys.argv[1], folder=sys.argv[2])
except NoSpaceError as error:
    print(error.filename, error.strerror)
    frames, names = error.__context__.__traceback__, []
    while frames:
        names.append(frames.tb_frame.f_code.co_name)
        frames = frames.tb_next
    print(names[-1])
"""
    code, out, err = children.run(program, path, tmp_path)
    assert (code, err) == (0, "")
    said, name = out.splitlines()
    wanted = "has no space left for training files. Choose a folder with more space"
    assert said == f"{tmp_path} {wanted}"
    assert name == where


def test_a_chunk_in_files_is_that_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(spilling, "_ENTRIES_AT_ONCE", 100)
    X, y = data(120)
    path = written(tmp_path / "rows.svm", X, y)
    whole = joined(list(read_svmlight(path)))
    graded = replace(
        whole,
        targets=replace(whole.targets, relevance=np.arange(len(whole.labels), dtype=np.float32)),
        weights=np.arange(120, dtype=np.float32),
        is_distribution=True,
    )
    for chunk in (whole, graded):
        parts = [chunk.take(np.arange(50)), chunk.take(np.arange(50, 120))]
        kept = chunk_in_files(parts, tmp_path)
        numbers = np.random.default_rng(0).permutation(120)[:70]
        for ours, theirs in (
            (kept, chunk),
            (taken_in_files(kept, numbers, tmp_path), chunk.take(numbers)),
        ):
            width = ours.rows.n_features
            assert isinstance(ours.rows.values, np.memmap)
            assert isinstance(ours.rows.indices, np.memmap)
            assert width == 80
            for name in ("starts", "indices", "values"):
                assert np.array_equal(getattr(ours.rows, name), getattr(theirs.rows, name))
            for name in ("labels", "label_starts", "weights", "relevance", "is_distribution"):
                assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert [each.name for each in tmp_path.iterdir()] == ["rows.svm"]


def test_each_label_of_a_row_is_hashed_once(tmp_path, monkeypatch):
    X, y = data()
    path, n_labels = written(tmp_path / "rows.svm", X, y), sum(map(len, y))
    hashed = []
    for name in ("add", "ids"):
        method = getattr(LabelVocabulary, name)
        monkeypatch.setattr(
            LabelVocabulary,
            name,
            lambda self, labels, method=method: (hashed.append(len(labels)), method(self, labels))[
                1
            ],
        )
    rows_and_relevance(read_svmlight(path), tmp_path)
    assert n_labels <= sum(hashed) < n_labels + 4 * 50  # and the 50 different labels a few times
