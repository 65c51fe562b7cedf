"""`train` without options: the model that suits the file, whatever its order and format."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from tests.cli.test_cli import WORDS, run_json, write_tsv

import labeltrees
from labeltrees.cli import main


def write_sorted(path, source):
    path.write_text("".join(sorted(source.read_text().splitlines(keepends=True))))
    return path


def write_tags(path, seed, n_rows=1200):
    """Texts with one or two tags, separated by a space."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_rows):
        tags = rng.permutation(list(WORDS))[: rng.integers(1, 3)]
        text = " ".join(word for tag in tags for word in rng.choice(WORDS[tag].split(), 2))
        lines.append(f"{' '.join(tags)}\t{text}\n")
    path.write_text("".join(lines))
    return path


def write_table(path, n_rows=900):
    """Columns of very different sizes, sorted by label."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(3, size=n_rows))
    X = (rng.normal(size=(n_rows, 4)) + 3 * np.eye(3, 4)[y]) * [1, 1e4, 1e-3, 1] + [0, 5e4, 0, 900]
    rows = [",".join([*map(repr, x.tolist()), "abc"[label]]) for x, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["width,height,depth,age,species", *rows]) + "\n")
    return path


def accuracy(told):
    return told["scores"]["labeltrees"]["accuracy"]


def test_a_sorted_file_gives_as_good_a_model_as_a_mixed_one(tmp_path, capsys):
    mixed = write_tsv(tmp_path / "mixed.tsv", 0, 1500)
    test = write_tsv(tmp_path / "test.tsv", 1, 300)
    found = []
    for path in (mixed, write_sorted(tmp_path / "sorted.tsv", mixed)):
        told = run_json(capsys, "train", path, "-o", tmp_path / "m")
        found.append(run_json(capsys, "evaluate", tmp_path / "m", test)["scores"])
        assert accuracy(told) > 0.95
        assert any("sorted by label" in sentence for sentence in told["found"]) == (path != mixed)
    assert found[1]["accuracy"] > 0.97
    assert found[1]["log loss"] == pytest.approx(found[0]["log loss"], abs=0.05)


def test_the_report_says_what_was_found_chosen_and_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tsv(tmp_path / "things.tsv", 0, 1500)
    assert main(["train", "things.tsv"]) == 0
    out = capsys.readouterr().out
    assert "1,500 texts with one label each, and 3 different labels." in out
    assert "because every row has one label" in out
    assert "150 held-out rows" in out
    for row in ("labeltrees", "one-against-all", "most frequent labels"):
        assert f"\n  {row} " in out
    assert "labeltrees predict things.safetensors" in out
    model = labeltrees.load("things.safetensors")
    assert model.predict_top_k(["an apple and a pear"], 1).labels.tolist() == [["fruit"]]


def test_several_labels_per_row_give_extreme_regression(tmp_path, capsys):
    told = run_json(capsys, "train", write_tags(tmp_path / "tags.tsv", 0), "-o", tmp_path / "m")
    assert told["method"] == "xreg"
    assert told["scores"]["labeltrees"]["P@1"] > 0.95
    assert told["scores"]["most frequent labels"]["P@1"] < 0.7
    (row,) = labeltrees.load(tmp_path / "m").predict_top_k(["apple nile"], 2).labels
    assert sorted(row) == ["fruit", "river"]


def test_a_table_is_learned_whatever_the_size_of_its_columns(tmp_path, capsys):
    path = write_table(tmp_path / "plants.csv")
    told = run_json(capsys, "train", path, "-o", tmp_path / "m")
    assert told["held_out_parts"] == 5
    assert accuracy(told) > 0.9
    assert main(["explain", str(tmp_path / "m"), str(path), "--label", "b"]) == 0
    assert "height" in capsys.readouterr().out


def test_a_table_in_svmlight_is_seen_as_one(tmp_path, capsys):
    rows = [
        line.split(",") for line in write_table(tmp_path / "p.csv").read_text().splitlines()[1:]
    ]
    lines = [f"{'abc'.index(y)} 0:{a} 1:{b} 2:{c} 3:{d}\n" for a, b, c, d, y in rows]
    (tmp_path / "p.svm").write_text("".join(lines))
    assert accuracy(run_json(capsys, "train", tmp_path / "p.svm", "-o", tmp_path / "m")) > 0.9
    (tmp_path / "new.svm").write_text("0 0:1 7:3\n")  # a feature that no row had
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "new.svm")]) == 0


def test_rows_without_a_label_are_counted(tmp_path, capsys):
    path = write_tsv(tmp_path / "d.tsv", 0, 200)
    path.write_text(path.read_text() + "\tno label\n" * 7)
    told = run_json(capsys, "train", path, "-o", tmp_path / "m")
    assert told["rows_without_label"] == 7
    assert any("7 more rows have no label" in sentence for sentence in told["found"])


def test_which_says_it_without_training(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = run_json(capsys, "which", write_tags(tmp_path / "tags.tsv", 0))
    assert (told["model"], told["format"], told["several_labels"]) == ("xreg", "tsv", True)
    assert main(["which", "tags.tsv"]) == 0
    assert "labeltrees train tags.tsv" in capsys.readouterr().out
    assert [each.name for each in tmp_path.iterdir()] == ["tags.tsv"]


def test_a_file_without_room_is_learned_row_by_row(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("labeltrees.autotrain._run.room_for_data", lambda: 20_000)
    monkeypatch.setattr("labeltrees.data.readers.source.BLOCK_BYTES", 4096)
    whole = write_tsv(tmp_path / "d.tsv", 0, 4000)
    path = write_sorted(tmp_path / "sorted.tsv", whole)
    told = run_json(capsys, "train", path, "-o", tmp_path / "m")
    assert any("do not fit into memory" in sentence for sentence in told["found"])
    assert accuracy(told) > 0.95
    assert told["progressive_log_loss_seen"] > 0
    assert told["examples"] + told["held_out_rows"] == 4000


def test_rows_of_features_without_room_are_learned_row_by_row(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("labeltrees.autotrain._run.room_for_data", lambda: 20_000)
    monkeypatch.setattr("labeltrees.data.readers.source.BLOCK_BYTES", 4096)
    lines = [f"{y} {y}:1 {100 + i % 37}:0.5\n" for y in range(5) for i in range(800)]
    (tmp_path / "d.svm").write_text("".join(lines))
    assert accuracy(run_json(capsys, "train", tmp_path / "d.svm", "-o", tmp_path / "m")) > 0.95
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "d.svm"), "--limit", "1"]) == 0
    assert capsys.readouterr().out.startswith("0\t")


@pytest.mark.parametrize("options", [[], ["--online"]])
def test_weights_without_room_share_their_places(options, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("labeltrees.autotrain._run.room_for_data", lambda: 2**30)
    random = np.random.default_rng(0)
    path = tmp_path / "d.svm"
    path.write_text("".join(
        f"{y} {y}:1 {' '.join(f'{f}:1' for f in np.unique(others))}\n"
        for y, others in zip(
            random.integers(40, size=12_000), random.integers(50, 30_000, (12_000, 4)), strict=True
        )
    ))  # fmt: skip
    call = ["train", path, "-o", tmp_path / "m", *(options or ["--fast"])]
    assert not any(
        "weights do not fit" in sentence for sentence in run_json(capsys, *call)["found"]
    )
    monkeypatch.setattr("labeltrees.autotrain._memory.free_memory", lambda: 16 * 2**20)
    told = run_json(capsys, *call)
    (said,) = (sentence for sentence in told["found"] if "weights do not fit" in sentence)
    assert "kept within 8.4 MB, and rare features" in said
    assert accuracy(told) > 0.9
    assert labeltrees.load_model(tmp_path / "m").settings.max_memory >= 8 * 2**20
    told = run_json(capsys, *call, "--max-memory", "9MB")
    assert not any("weights do not fit" in sentence for sentence in told["found"])


def test_a_model_that_goes_on_and_gets_full_says_so(tmp_path, capsys, monkeypatch):
    random = np.random.default_rng(0)
    rows = random.integers(50, 30_000, (12_000, 4))
    lines = [
        f"{i % 40} {' '.join(f'{f}:1' for f in np.unique(row))}\n" for i, row in enumerate(rows)
    ]
    for name, some in (("first", lines[:50]), ("more", lines)):
        (tmp_path / f"{name}.svm").write_text("".join(some))
    begun = tmp_path / "begun"
    run_json(capsys, "train", tmp_path / "first.svm", "-o", begun, "--online")
    monkeypatch.setattr("labeltrees.autotrain._memory.free_memory", lambda: 16 * 2**20)
    told = run_json(capsys, "train", tmp_path / "more.svm", "--init", begun, "-o", tmp_path / "m")
    assert any("weights do not fit" in sentence for sentence in told["found"])


def test_online_learns_in_mixed_order_and_in_order_does_not(tmp_path, capsys):
    path = write_sorted(tmp_path / "d.tsv", write_tsv(tmp_path / "x.tsv", 0, 2000))
    mixed = run_json(capsys, "train", path, "-o", tmp_path / "m", "--online")
    assert accuracy(mixed) > 0.95
    in_order = run_json(capsys, "train", path, "-o", tmp_path / "m", "--in-order")
    assert in_order["examples"] == 2000
    assert "scores" not in in_order
    vocabulary = labeltrees.load_model(tmp_path / "m").vocabulary
    assert vocabulary.labels.tolist() == sorted(WORDS)  # first seen first


def test_a_model_goes_on_with_new_rows(tmp_path, capsys):
    first, more = tmp_path / "first.tsv", tmp_path / "more.tsv"
    write_tsv(first, 0, 600)
    more.write_text("".join(f"metal\t{word} ore\n" for word in ("iron", "zinc") for _ in range(50)))
    run_json(capsys, "train", first, "-o", tmp_path / "m")
    run_json(capsys, "train", more, "-o", tmp_path / "m2", "--init", tmp_path / "m", "--in-order")
    model = labeltrees.load(tmp_path / "m2")
    assert model.classes_.tolist() == ["fruit", "metal", "river", "tool"]
    run_json(capsys, "train", first, "-o", tmp_path / "x", "--model", "xreg")
    options = ["train", str(more), "-o", str(tmp_path / "y"), "--init", str(tmp_path / "x")]
    assert main(options) == 2
    assert "--init must be a model that learns row by row" in capsys.readouterr().err


def test_new_rows_are_read_as_the_model_s_own_were(tmp_path, capsys):
    first, more = tmp_path / "first.tsv", tmp_path / "more.tsv"
    first.write_text("big cat\tmeow purr\nbig dog\twoof bark\n" * 50)
    more.write_text("small cat\tmeow\n")  # alone, it would be two labels
    run_json(capsys, "train", first, "-o", tmp_path / "m")
    run_json(capsys, "train", more, "-o", tmp_path / "m2", "--init", tmp_path / "m", "--in-order")
    assert labeltrees.load(tmp_path / "m2").classes_.tolist() == ["big cat", "big dog", "small cat"]


def test_stdin_is_trained_on_as_a_file_is(tmp_path, capsys, monkeypatch):
    path = write_tsv(tmp_path / "d.tsv", 0, 1200)
    expected = run_json(capsys, "train", path, "-o", tmp_path / "m")
    stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    told = run_json(capsys, "train", "-", "-o", tmp_path / "m2")
    assert told["scores"] == expected["scores"]


@pytest.mark.parametrize("effort", ["--fast", "--best"])
def test_efforts_are_numbers_of_trees(effort, tmp_path, capsys):
    path = write_tsv(tmp_path / "d.tsv", 0, 300)
    run_json(capsys, "train", path, "-o", tmp_path / "m", effort)
    described = labeltrees.load_model(tmp_path / "m").describe()
    assert described["trees"] == {"--fast": 1, "--best": 8}[effort]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--trees", "2", "--alpha", "0.5"],
            "--alpha is not a setting of the method xreg, which was",
        ),
        (["--model", "lomtree", "--fast"], "--fast is not available for the method lomtree"),
        (["--model", "adacond", "--base", "one-against-all", "--alpha", ".5"], "--alpha is not"),
        (["--model", "filtertree", "--cost", "2"], "--cost is not a setting of"),
        (["--online", "--fast"], "--fast needs all rows in memory, but rows have several"),
        (["--in-order", "--vectorizer", "tfidf"], "--vectorizer tfidf needs all texts"),
        (["--online", "--structure", "kmeans"], "--structure 'kmeans' needs all rows"),
        (["--init", "m", "--label-column", "2"], "--label-column cannot be combined with init"),
        (["--max-memory", "much"], "--max-memory"),
    ],
)
def test_options_that_are_not_used_are_errors(options, says, tmp_path, capsys):
    path = write_tags(tmp_path / "tags.tsv", 0, 200)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), *options]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_a_file_that_is_no_model_is_not_replaced_unless_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tsv(tmp_path / "d.tsv", 0, 100)
    (tmp_path / "d.safetensors").write_text("something dear")
    assert main(["train", "d.tsv"]) == 2
    assert "is not a model file" in capsys.readouterr().err
    assert (tmp_path / "d.safetensors").read_text() == "something dear"
    assert main(["train", "d.tsv", "-o", "d.safetensors", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 100


@pytest.fixture
def ratings(tmp_path):
    """Queries with products of which each row rates one: of its own kind 4 or 5, of others 1."""
    rng = np.random.default_rng(0)
    lines = ["query,product,relevance"]
    for number in range(60):
        kind = list(WORDS)[number % 3]
        text = " ".join(rng.choice(WORDS[kind].split(), 2)) + f" {number}"
        lines += [f"{text},{other},{4 + number % 2 if other == kind else 1}" for other in WORDS]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join([lines[0], *rng.permutation(lines[1:])]) + "\n")
    return path


def test_rows_that_rate_one_label_of_a_text_each_are_joined(ratings, tmp_path, capsys):
    assert run_json(capsys, "which", ratings)["ratings"] is True
    told = run_json(capsys, "train", ratings, "-o", tmp_path / "m")
    assert (told["examples"], told["method"], told["why"]) == (
        60, "xreg", "labels have grades of relevance",
    )  # fmt: skip
    assert any("This makes 60 texts" in sentence for sentence in told["found"])
    assert told["scores"]["labeltrees"]["WP@1"] > told["scores"]["most frequent labels"]["WP@1"]
    # The model remembers it, and is measured on whole rows.
    found = run_json(capsys, "evaluate", tmp_path / "m", ratings)
    assert (found["rows"], found["true_labels"]) == (60, 180)
    assert found["scores"]["WP@1"] > 0.95
    assert main(["predict", str(tmp_path / "m"), str(ratings)]) == 0
    assert capsys.readouterr().out.count("\n") == 180  # an answer for each line


def test_rows_are_kept_apart_or_joined_if_one_says_so(ratings, tmp_path, capsys):
    told = run_json(capsys, "train", ratings, "-o", tmp_path / "m", "--no-join-rows", "--fast")
    assert told["examples"] == 180
    long = tmp_path / "long.tsv"
    long.write_text("fruit\tan apple\nred\tan apple\ntool\ta saw\n" * 5)
    told = run_json(capsys, "train", long, "-o", tmp_path / "m", "--join-rows", "--fast")
    assert (told["examples"], told["method"]) == (2, "xreg")
    assert main(["train", str(long), "-o", str(tmp_path / "m"), "--join-rows", "--online"]) == 2
    assert "--join-rows needs all rows in memory" in capsys.readouterr().err


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    """Rows whose labels are distributions, which depend on the first of two features."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("weather") / "weather.jsonl"
    with path.open("w") as file:
        for x, noise in rng.random((120, 2)).tolist():
            dry = round(0.8 * x, 3)
            label = {"dry": dry, "wet": round(0.8 - dry, 3), "fog": 0.2}
            features = {"indices": [0, 1], "values": [x, noise]}
            file.write(json.dumps({"label": label, "features": features}) + "\n")
    return path


@pytest.mark.parametrize("method", ["auto", "self-terminating", "adacond"])
def test_distributions_are_learned_and_measured_as_such(weather, tmp_path, capsys, method):
    told = run_json(capsys, "train", weather, "-o", tmp_path / "m", "--model", method, "-q")
    assert "a distribution over 3.0 labels each" in told["found"][0]
    if method == "auto":
        assert told["why"] == "rows have distributions of labels"
    ours, rival = (
        told["scores"][who]["total variation"] for who in ("labeltrees", "most frequent labels")
    )
    assert ours < 0.75 * rival
    found = run_json(capsys, "evaluate", tmp_path / "m", weather)
    assert found["rows"] == 120
    assert found["scores"]["total variation"] < 0.75 * rival
    # Unlike labels drawn from it, a distribution says that fog is never the likeliest.
    p = labeltrees.load(tmp_path / "m").predict_label_proba([[0.5, 0.5]], ["fog"])
    assert p[0] == pytest.approx(0.2, abs=0.1)


def test_a_self_terminating_tree_is_fitted_to_the_distributions_themselves(
    weather, tmp_path, capsys
):
    options = ["--model", "self-terminating", "--penalty", "0.5"]
    run_json(capsys, "train", weather, "-o", tmp_path / "m", "-q", *options)
    rows = [json.loads(line) for line in weather.read_text().splitlines()]
    X = [row["features"]["values"] for row in rows]
    names = sorted(rows[0]["label"])
    P = np.array([[row["label"][name] for name in names] for row in rows])
    tree = labeltrees.SelfTerminatingTreeClassifier(penalty=0.5).fit(
        X, P / P.sum(axis=1, keepdims=True), classes=names
    )
    loaded = labeltrees.load(tmp_path / "m")
    assert np.allclose(loaded.predict_proba(X), tree.predict_proba(X), atol=1e-6)


def test_texts_can_be_counts_of_words(tmp_path, capsys):
    path = write_tsv(tmp_path / "d.tsv", 0, 60)
    line = ["train", str(path), "-o", str(tmp_path / "m"), "-q", "--model", "one-against-all"]
    assert main([*line, "--vectorizer", "counts"]) == 0
    assert "counts of 13 words" in " ".join(capsys.readouterr().out.split())
    model = labeltrees.load(tmp_path / "m")
    assert model.predict(["apple pear"]).tolist() == ["fruit"]
    assert main([*line, "--vectorizer", "counts", "--online"]) == 2
    assert "--vectorizer counts needs all texts in memory" in capsys.readouterr().err
