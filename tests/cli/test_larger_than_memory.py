"""`train` of rows that do not fit: extreme regression learns them from files, to the same model.

The room for rows is made small; nothing else differs from a file that is larger than memory.
"""

from __future__ import annotations

import io
import signal
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from tests import children
from tests.cli.test_cli import run_json
from tests.cli.test_train import write_tags

import labeltrees
from labeltrees.cli import main
from labeltrees.models.extreme import spilling

PATIENCE = 60  # seconds, for a busy machine; nothing is measured

# The same in a process of its own.
LITTLE_ROOM = """
import sys
import labeltrees.autotrain._run as run, labeltrees.data.readers.source as source
from labeltrees.cli import main
run.room_for_data = lambda: 20_000
source.BLOCK_BYTES = 4096
"""
END = "sys.exit(main(sys.argv[1:]))"


def write_features(path, n_rows, *, graded=False, n_labels=40, n_unlabelled=5):
    """Rows of features, sorted by label, of which some have no label."""
    random = np.random.default_rng(0)
    with path.open("w") as file:
        for first in np.sort(random.integers(n_labels, size=n_rows)).tolist():
            own = sorted({first, *random.integers(n_labels, size=random.integers(3)).tolist()})
            if graded:
                own = [f"{label}:{random.integers(1, 5)}" for label in own]
            names = {int(str(label).partition(":")[0]) for label in own}
            others = {50 + int(n) for n in random.integers(60, size=4)}
            pairs = " ".join(f"{n}:{random.random() + 0.1:.3f}" for n in sorted(names | others))
            file.write(f"{','.join(map(str, own))} {pairs}\n")
        file.writelines(f" {7}:1\n" for _ in range(n_unlabelled))
    return path


@pytest.fixture
def little_room(monkeypatch):
    """Return a function that takes the room for rows away."""

    def take_away():
        monkeypatch.setattr("labeltrees.autotrain._run.room_for_data", lambda: 20_000)
        monkeypatch.setattr("labeltrees.data.readers.source.BLOCK_BYTES", 4096)
        monkeypatch.setattr(spilling, "_ENTRIES_AT_ONCE", 1000)

    return take_away


@pytest.fixture
def space(tmp_path):
    path = tmp_path / "space"
    path.mkdir()
    return path


def both(capsys, take_away, path, tmp_path, space, *options):
    """Return what is told of a training in memory and of one from files; models are the same."""
    told = run_json(capsys, "train", path, "-o", tmp_path / "memory", *options)
    take_away()
    given = [*options, "--folder", space]
    files = run_json(capsys, "train", path, "-o", tmp_path / "files", *given)
    assert any("trained from files in" in sentence for sentence in files["found"])
    assert not any("trained from files in" in sentence for sentence in told["found"])
    assert (tmp_path / "files").read_bytes() == (tmp_path / "memory").read_bytes()
    assert list(space.iterdir()) == []
    return told, files


@pytest.mark.parametrize(
    ("n_rows", "options"),
    [
        (700, ["--model", "xreg", "--trees", "2"]),  # in five parts
        (1500, []),  # hinge loss is tried, too
        (1500, ["--fast", "--tail", "xreg", "--relevance", "propensity", "--jobs", "2"]),
    ],
)
def test_the_model_and_its_scores_are_those_of_memory(
    n_rows, options, tmp_path, space, capsys, little_room
):
    path = write_features(tmp_path / "rows.svm", n_rows)
    told, files = both(capsys, little_room, path, tmp_path, space, *options)
    assert files["scores"] == told["scores"]
    assert files["rows_without_label"] == told["rows_without_label"] == 5
    for name in ("method", "why", "examples", "labels", "held_out_rows", "held_out_parts"):
        assert files[name] == told[name], name
    assert files["learned_from_held_out_rows"] is True
    assert files["advice"][:-2] == told["advice"][:-2]  # the last two name the model


def test_of_many_rows_those_held_out_stay_unlearned(
    tmp_path, space, capsys, little_room, monkeypatch
):
    monkeypatch.setattr("labeltrees.autotrain._held_out.MOST_ROWS_TWICE", 1000)
    path = write_features(tmp_path / "rows.svm", 1200, graded=True)
    told, files = both(capsys, little_room, path, tmp_path, space)
    assert files["scores"] == told["scores"]
    assert files["learned_from_held_out_rows"] is False
    assert files["held_out_rows"] == 120


def test_texts_have_hashed_features(tmp_path, space, capsys, little_room):
    path = write_tags(tmp_path / "tags.tsv", 0)
    options = ["--vectorizer", "hashing", "--fast"]
    _, files = both(capsys, little_room, path, tmp_path, space, *options)
    assert files["scores"]["labeltrees"]["P@1"] > 0.95
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--fast", "--quiet"]) == 0
    assert "Its features are hashed words and pairs of words" in " ".join(
        capsys.readouterr().out.split()
    )
    (row,) = labeltrees.load(tmp_path / "m").predict_top_k(["apple nile"], 2).labels
    assert sorted(row) == ["fruit", "river"]


def test_the_report_has_a_line_about_it(tmp_path, space, capsys, little_room):
    little_room()
    path = write_features(tmp_path / "rows.svm", 700)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--folder", str(space)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("The rows do not fit into memory, so the model is trained from files") == 1
    assert f"in {space}. Set folder to use another" in said
    assert "rows.svm has 700 rows of features" in said


def test_settings_of_many_rows_are_compared_on_some(
    tmp_path, space, capsys, little_room, monkeypatch
):
    monkeypatch.setattr("labeltrees.autotrain._held_out._MOST_VARIANT_WORK", 18_000)
    path = write_features(tmp_path / "rows.svm", 3000)
    for told in both(capsys, little_room, path, tmp_path, space):
        said = " ".join(told["found"])
        number = said.partition("Settings were compared on ")[2].split()[0]
        assert 1000 <= int(number.replace(",", "")) < 2000


def test_what_is_not_compared_is_not_said_to_be(tmp_path, capsys, little_room, monkeypatch):
    monkeypatch.setattr("labeltrees.autotrain._held_out._MOST_VARIANT_WORK", 18_000)
    path = write_features(tmp_path / "rows.svm", 3000, graded=True)
    little_room()
    told = run_json(capsys, "train", path, "-o", tmp_path / "m")
    assert not any("Settings were compared" in sentence for sentence in told["found"])


def test_rows_of_another_kind_further_down_do_not_change_the_method(
    tmp_path, space, capsys, little_room
):
    path = tmp_path / "rows.svm"
    lines = [f"{n % 7},{n % 5 + 7} {n % 7}:1 {n % 5 + 7}:1\n" for n in range(600)]
    lines += [f"{n % 7} {n % 7}:1\n" for n in range(80_000)]
    path.write_text("".join(lines))
    little_room()
    told = run_json(capsys, "train", path, "-o", tmp_path / "m", "--folder", space, "--fast")
    assert told["method"] == "xreg"
    assert told["examples"] == 80_600
    assert told["scores"]["labeltrees"]["P@1"] > 0.99
    assert list(space.iterdir()) == []


def test_a_pipe_is_read_once(tmp_path, capsys, little_room, monkeypatch):
    path = write_features(tmp_path / "rows.svm", 700)
    little_room()
    run_json(capsys, "train", path, "-o", tmp_path / "m", "--fast")
    stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    run_json(capsys, "train", "-", "-o", tmp_path / "m2", "--fast")
    assert (tmp_path / "m2").read_bytes() == (tmp_path / "m").read_bytes()


def test_what_memory_held_is_given_up_before_the_rest_is_read(
    tmp_path, capsys, little_room, monkeypatch
):
    noted = []

    def gather_in_files(chunks, folder):
        chunks = iter(chunks)
        held = weakref.ref(next(chunks))
        next(chunks)
        noted.append(held() is None)
        raise KeyboardInterrupt

    little_room()
    monkeypatch.setattr("labeltrees.autotrain._run.gather_in_files", gather_in_files)
    path = write_features(tmp_path / "rows.svm", 700)
    assert main(["train", str(path), "-o", str(tmp_path / "m")]) == 130
    assert noted == [True]


def test_rows_that_rate_one_label_each_are_not_joined(tmp_path, capsys, little_room):
    lines = ["query,product,relevance"]
    lines += [f"text {n % 90},{'abc'[n // 90]},{1 + n % 4}" for n in range(270)]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    little_room()
    told = run_json(capsys, "train", path, "-o", tmp_path / "m", "--fast")
    assert told["examples"] == 270
    assert any("not joined" in sentence for sentence in told["found"])
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--join-rows"]) == 2
    assert "--join-rows needs all rows in memory, but the data" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "method"),
    [(["--model", "multilabel"], "multilabel"), (["--labels", "each"], "conditional")],
)
def test_other_methods_learn_row_by_row(options, method, tmp_path, capsys, little_room):
    little_room()
    path = write_features(tmp_path / "rows.svm", 700)
    told = run_json(capsys, "train", path, "-o", tmp_path / "m", *options)
    assert told["method"] == method
    assert any("learned one by one" in sentence for sentence in told["found"])


def test_where_nothing_can_be_spilled_rows_are_learned_one_by_one(
    tmp_path, capsys, little_room, monkeypatch
):
    little_room()
    monkeypatch.setattr("labeltrees.autotrain._run.CAN_SPILL", False)
    path = write_features(tmp_path / "rows.svm", 700)
    assert run_json(capsys, "train", path, "-o", tmp_path / "m")["method"] == "multilabel"
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--model", "xreg"]) == 2
    assert "--model must be one of conditional" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--folder", "nowhere"], "--folder must be a folder in which files can be created, got"),
        (["--folder", "rows.svm"], "--folder must be a folder in which files can be created, got"),
        (
            ["--folder", ".", "--online"],
            "--folder is for methods that train from files, but conditional and multilabel",
        ),
        (
            ["--folder", ".", "--model", "lomtree"],
            "--folder is for methods that train from files, but lomtree would",
        ),
        (["--vectorizer", "tfidf"], "--vectorizer tfidf needs all texts in memory, but the data"),
        (["--vectorizer", "hashing"], "--vectorizer is for texts, but these data have no texts."),
        (
            ["--alpha", "0.5"],
            "--alpha is not a setting of the method xreg, which was chosen because",
        ),
    ],
)
def test_wrong_calls_get_one_line(options, says, tmp_path, capsys, little_room, monkeypatch):
    monkeypatch.chdir(tmp_path)
    little_room()
    write_features(tmp_path / "rows.svm", 700)
    assert main(["train", "rows.svm", "-o", "m", *options]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_failure_leaves_nothing_in_the_folder(tmp_path, space, capsys, little_room, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("no more")

    little_room()
    monkeypatch.setattr("labeltrees.models.extreme.training.train_nodes", fail)
    path = write_features(tmp_path / "rows.svm", 700)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--folder", str(space)]) == 1
    assert capsys.readouterr().err == "labeltrees: no more\n"
    assert list(space.iterdir()) == []


@pytest.mark.parametrize("free", [5, 3000 * 5 * 16 + 1000])
def test_too_small_a_disk_is_told_before_anything_is_learned(
    free, tmp_path, space, capsys, little_room, monkeypatch
):
    def learn(*_, **__):
        raise AssertionError

    little_room()
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr("labeltrees.models.extreme.training.train_nodes", learn)
    path = write_features(tmp_path / "rows.svm", 3000)
    assert main(["train", str(path), "-o", str(tmp_path / "m"), "--folder", str(space)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"labeltrees: {space}: has 0 MB free, and training needs 0 MB more")
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes room in a file beforehand")
@pytest.mark.parametrize("most", [10_000, 200_000])
def test_a_full_disk_is_one_line(most, tmp_path, space):
    """RLIMIT_FSIZE stands for it: while rows are written, and in the core while nodes learn."""
    path = write_features(tmp_path / "rows.svm", 3000)
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
    program = LITTLE_ROOM + limited + END
    options = ["train", path, "-o", tmp_path / "m", "--folder", space, "--fast", "--quiet"]
    code, _, said = children.run(program, *options, timeout=PATIENCE)
    assert code == 1
    assert said.startswith(f"labeltrees: {space}: has no space left for training files")
    assert said.count("\n") == 1
    assert list(space.iterdir()) == []
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_signal_leaves_nothing_in_the_folder(name, tmp_path, space):
    number = getattr(signal, name)
    told = """
import labeltrees.models.extreme.training as training
own = training.train_nodes
def train_nodes(*arguments):
    print("learning", flush=True)
    return own(*arguments)
training.train_nodes = train_nodes
"""
    path = write_features(tmp_path / "rows.svm", 3000)
    options = ["train", path, "-o", tmp_path / "m", "--folder", space, "--quiet"]
    for_long = ["--model", "xreg", "--max-epochs", "10000", "--tolerance", "0", "--trees", "100"]
    child = children.Child(LITTLE_ROOM + told + END, *options, *for_long)
    try:
        assert child.stdout.readline() == b"learning\n"
        assert child.poll() is None
        child.send_signal(number)
        code = child.wait(PATIENCE)
        assert code == (130 if number == signal.SIGINT else -number)
    finally:
        child.kill()
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()
    assert list(space.iterdir()) == []
    assert not (tmp_path / "m").exists()
