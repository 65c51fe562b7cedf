"""`labeltrees.train` and `labeltrees train` are one thing, whatever form the rows have."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from scipy import sparse

import labeltrees
from labeltrees.cli import main
from labeltrees.errors import ArgumentError, DataError

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "axe"]}
SECONDS = re.compile(r"Training took \d+\.\d s")


def some_texts(n_rows=300):
    """Return texts and the label of each."""
    random = np.random.default_rng(0)
    labels = random.choice(list(WORDS), n_rows).tolist()
    texts = [f"{random.choice(WORDS[label])} {random.choice(['big', 'old'])}" for label in labels]
    return texts, labels


def some_rows(n_rows=300):
    """Return a table of numbers and the label of each row."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=n_rows)
    return np.eye(3)[y] + random.normal(0, 0.1, (n_rows, 3)).round(3), y


@pytest.fixture
def tsv(tmp_path):
    texts, labels = some_texts()
    path = tmp_path / "things.tsv"
    path.write_text(
        "".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True))
    )
    return path


def said(text):
    """Return a report without what differs between two runs."""
    return SECONDS.sub("", text)


def same(report, other, *, name="The data"):
    """Whether two reports differ in the name of the data and what is assumed at most."""
    first, second = (said(str(each)).splitlines() for each in (report, other))
    return [line.replace(name, "") for line in first] == [
        line.replace(other.source.path, "") for line in second
    ]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--fast", "--seed", "3"], {"effort": "fast", "seed": 3}),
        (["--model", "adacond", "--rounds", "2"],
         {"method": "adacond", "settings": {"n_rounds": 2}}),
        (["--online", "--trees", "1"], {"online": True, "settings": {"n_trees": 1}}),
        (["--in-order"], {"in_order": True}),
        (["--vectorizer", "hashing", "--limit", "200"], {"vectorizer": "hashing", "limit": 200}),
        (["--model", "bm25"], {"method": "bm25"}),
    ],
)  # fmt: skip
def test_both_doors_say_the_same(tsv, tmp_path, capsys, options, arguments):
    out = tmp_path / "m.safetensors"
    assert main(["train", str(tsv), "--out", str(out), "--quiet", *options]) == 0
    printed, saved = capsys.readouterr().out, out.read_bytes()
    report = labeltrees.train(tsv, out=out, **arguments)
    assert capsys.readouterr() == ("", "")  # nothing is printed unless the report is
    assert said(printed) == said(f"{report}\n")
    assert out.read_bytes() == saved
    assert main(["train", str(tsv), "--out", str(out), "--quiet", "--json", *options]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert as_json | {"seconds": 0} == report.to_dict() | {"seconds": 0}


def test_a_report_without_a_file_says_so(tsv, tmp_path):
    report = labeltrees.train(tsv)
    assert report.path is None
    assert report.to_dict()["model"] is report.to_dict()["file_bytes"] is None
    assert "Training took" in str(report)
    report.save(tmp_path / "m")
    assert f"The model is saved to {tmp_path / 'm'}" in str(report)
    loaded = labeltrees.load(tmp_path / "m")
    assert loaded.predict(["apple"]) == report.estimator.predict(["apple"]) == ["fruit"]


def test_a_notebook_shows_the_same_sentences_and_scores(tsv):
    report = labeltrees.train(tsv)
    html = report._repr_html_()
    assert html.count("<table>") == 1
    for word in (
        "things.tsv has 300 texts",
        "Chosen: 4 conditional",
        "one-against-all",
        "log loss",
    ):
        assert word in html


def test_texts_are_as_their_file(tsv):
    texts, labels = some_texts()
    report = labeltrees.train(texts, labels)
    assert same(report, labeltrees.train(tsv))
    assert report.estimator.predict(["a saw"]).tolist() == ["tool"]
    assert same(labeltrees.train(np.array(texts), np.array(labels)), labeltrees.train(tsv))


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
def test_a_frame_is_as_its_file(tmp_path, form):
    library = pytest.importorskip(form)
    texts, labels = some_texts()
    path = tmp_path / "things.csv"
    rows = zip(labels, texts, strict=True)
    path.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in rows))
    make = library.table if form == "pyarrow" else library.DataFrame
    file = labeltrees.train(path)
    assert same(labeltrees.train(make({"label": labels, "text": texts})), file)
    with_y = labeltrees.train(make({"text": texts}), labels)
    assert said(str(with_y.measured)) == said(str(file.measured))


def test_a_frame_of_numbers_is_as_its_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = some_rows()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(kind=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = {"columns": {"label_column": "kind"}}
    report = labeltrees.train(frame, **options)
    assert same(report, labeltrees.train(tmp_path / "t.csv", **options))
    assert report.estimator.predict([[1.0, 0, 0]]).tolist() == ["0"]


def test_a_frame_may_have_lists_of_labels():
    pandas = pytest.importorskip("pandas")
    texts, labels = some_texts()
    both = [[label, "thing"] for label in labels]
    report = labeltrees.train(pandas.DataFrame({"text": texts, "labels": both}))
    assert report.method == "xreg"
    assert same(report, labeltrees.train(texts, both))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_a_matrix_is_as_its_file(tmp_path, form):
    X, y = some_rows()
    path = tmp_path / "rows.svm"
    rows = zip(y.tolist(), X.tolist(), strict=True)
    path.write_text("".join(
        f"{label} " + " ".join(f"{i}:{v}" for i, v in enumerate(row) if v) + "\n"
        for label, row in rows
    ))  # fmt: skip
    report = labeltrees.train(form(X), y)
    assert same(report, labeltrees.train(path))
    assert report.estimator.predict([[0, 0, 1.0]]).tolist() == [2]


def test_rows_in_memory_are_learned_one_by_one_and_go_on(tmp_path):
    texts, labels = some_texts()
    report = labeltrees.train(texts, labels, online=True, out=tmp_path / "m")
    assert report.progressive["squared_loss"] < 0.3
    more = labeltrees.train(["a kiwi"] * 30, ["fruit"] * 30, init=tmp_path / "m", in_order=True)
    assert more.estimator.predict(["kiwi", "saw"]).tolist() == ["fruit", "tool"]
    assert "continues from" in str(more)


def test_weights_of_rows_count(tmp_path):
    texts = ["apple", "apple", "saw"] * 40
    labels = ["fruit", "snack", "tool"] * 40
    report = labeltrees.train(texts, labels, sample_weight=[1, 0.1, 1] * 40)
    assert report.estimator.predict(["apple"]).tolist() == ["fruit"]


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"method": "forest"}, "method", "must be 'auto', 'conditional'"),
        ({"method": "xreg", "online": True}, "method", "to learn row by row, got 'xreg'"),
        ({"effort": "huge"}, "effort", "must be 'fast', 'usual' or 'best', got 'huge'"),
        ({"effort": "best", "method": "lomtree"}, "effort", "is not available for the method lom"),
        ({"settings": {"n_trees": 0}}, "n_trees", "must be"),
        ({"settings": {"alfa": 1}}, "alfa", "is not a setting of the method conditional"),
        ({"seed": -1}, "seed", "must be an integer"),
        ({"vectorizer": "w2v"}, "vectorizer", "must be 'tfidf', 'counts' or 'hashing', got 'w2v'"),
        ({"vectorizer": "tfidf", "online": True}, "vectorizer", "needs all texts in memory"),
        ({"join_rows": True, "online": True}, "join_rows", "needs all rows in memory"),
        ({"one_label": "all"}, "one_label", "must be 'each', 'draw' or 'first', got 'all'"),
        ({"one_label": "each", "method": "xreg"}, "one_label", "is for methods of one label"),
        ({"folder": ".", "method": "lomtree"}, "folder", "is for methods that train from files"),
        ({"columns": {"label_colum": 1}}, "columns", "must be"),
        ({"format": "word"}, "format", "must be"),
        ({"order": "files"}, "order", "is for the format python only"),
        ({"sample_weight": [1.0]}, "sample_weight", "is for rows in memory"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_as_in_python(tsv, arguments, argument, message):
    with pytest.raises(ArgumentError, match=re.escape(message)) as raised:
        labeltrees.train(tsv, **arguments)
    assert raised.value.argument == argument
    assert str(raised.value).startswith(f"{argument} ")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        (["a", "b"], {}, "y must be the labels of each row, got None"),
        (["a", "b"], {"y": ["x"]}, "y has 1 rows"),
        (["a", 3], {"y": ["x", "y"]}, "texts must be strings, got 3"),
        (["a", "b"], {"y": ["x", "y"], "format": "tsv"}, "format is for files"),
        (["a", "b"], {"y": ["x", "y"], "columns": {"label_column": 1}}, "label_column is for"),
        (["a", "b"], {"y": ["x", "y"], "order": "files"}, "order is for the format python only"),
        ([["a"], ["b"]], {"y": ["x", "y"]}, "X"),
    ],
)
def test_wrong_rows_in_memory_are_refused(source, arguments, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        labeltrees.train(source, **arguments)


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tsv, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^out .*folder .* does not exist"):
        labeltrees.train(tsv, out=tmp_path / "no" / "m")


def test_progress_is_shown_only_if_it_is_wanted(tsv, monkeypatch):
    shown = []

    class Noted(labeltrees.progress.Progress):
        def __init__(self, description, **options):
            shown.append((description, options.get("enabled", True)))
            super().__init__(description, enabled=False)

    monkeypatch.setattr("labeltrees.autotrain._run.Progress", Noted)
    labeltrees.train(tsv)
    assert {enabled for _, enabled in shown} == {False}
    shown.clear()
    labeltrees.train(tsv, progress=True)
    assert ("reading", True) in shown
