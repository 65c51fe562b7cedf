"""benchmarks/calibration.py: its table from a few rows, and its numbers by hand."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run(work, monkeypatch, capsys, source_files):
    import calibration
    from labeltrees.data import python_source

    monkeypatch.setattr(python_source, "source_files", lambda *_: source_files)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["calibration.py", *arguments])
        calibration.BENCHMARK.main()
        return capsys.readouterr().out

    return call


def test_a_quick_run_has_every_column_before_and_after(run, work):
    said = run("--quick", "--limit", "200", "--plots", str(work))
    assert "200 rows to learn, 40 held out, 40 to test" in said
    assert str(work) not in said
    (line,) = (each for each in said.splitlines() if each.startswith("| labeltrees"))
    name, rate, train_s, p1, p5, *pairs = (cell.strip() for cell in line.strip("|").split("|"))
    assert "ConditionalTreeClassifier" in name
    assert rate == "-"
    assert float(train_s) >= 0
    assert 100 > 5 * float(p5) >= float(p1) >= 0  # of a few rows: as good as their Python's source
    assert len(pairs) == 7
    assert all(re.fullmatch(r"0\.\d{3} → 0\.\d{3}", pair) for pair in pairs)
    assert not (work / "calibration.png").exists()  # drawing takes as long as all the rest


@pytest.mark.thorough
def test_the_picture_has_a_panel_for_each_set_before_and_after(work):
    from calibration_sections.plots import STYLES, reliability
    from labeltrees.metrics import reliability_curve

    curve = reliability_curve([1, 2], [[1], [1]], [[0.9], [0.4]])
    path = work / "plots" / "calibration.png"
    reliability({"one set": dict.fromkeys([*STYLES, "new"], (curve, curve))}, path)
    assert path.stat().st_size > 10_000


def test_the_map_is_that_of_held_out_rows_and_keeps_the_order(work):
    from calibration_sections.scoring import Top, isotonic_map

    held = Top.of(np.array([[1, 0], [0, 1], [1, -1]]), np.array([[0.8, 0.4], [0.8, 0.2], [0.4, 0]]))
    truth = csr_array([[0, 1], [0, 0], [0, 1]])
    fitted = isotonic_map(held, truth)
    # 0.8: one of two is true; 0.4: one of two; 0.2: none.
    assert fitted.predict([0.8, 0.4, 0.2, 0.0]).tolist() == pytest.approx([0.5, 0.5, 0, 0])
    mapped = Top.of(np.array([[1, 0]]), np.array([[0.8, 0.4]])).mapped(fitted)
    assert mapped.labels.tolist() == [[1, 0]]
    assert mapped.p.tolist() == [[0.5, 0.5]]
    assert mapped.first(1, 2).toarray().tolist() == [[0, 0.5]]  # a tie does not change the first


def test_labels_come_likeliest_first_and_scores_above_one_count_as_one(work):
    from calibration_sections.scoring import Top

    top = Top.of(np.array([[2, 0, -1], [-1, -1, 1]]), np.array([[0.1, 1.7, 0.9], [0.3, 0, 0.2]]))
    assert top.labels.tolist() == [[0, 2, -1], [1, -1, -1]]
    assert top.p[:, 0].tolist() == [1, 0.2]
    assert top.hits(csr_array([[1, 0, 0], [1, 0, 0]])).tolist() == [
        [True, False, False],
        [False] * 3,
    ]


def test_calibration_by_hand(work):
    from calibration_sections.scoring import Top, calibration, errors_by_chance, precision

    n = 400
    labels = np.tile([0, 1, 2, 3, 4], (n, 1))
    p = np.tile([0.9, 0.5, 0.25, 0.0, 0.0], (n, 1))
    truth = np.zeros((n, 5))
    truth[:300, 0] = truth[:200, 1] = truth[:100, 2] = 1
    found = calibration(Top.of(labels, p), csr_array(truth))
    assert found["ECE@1"] == pytest.approx(0.15)
    assert found["ECE@3"] == found["wide ECE@3"] == pytest.approx(0.05)
    assert found["Brier@1"] == pytest.approx(0.75 * 0.01 + 0.25 * 0.81)
    assert precision(Top.of(labels, p), csr_array(truth))["P@3"] == pytest.approx(50)
    lucky = errors_by_chance(Top.of(labels, p), csr_array(truth))
    assert 0 < lucky[1] < 0.05


def test_parts_share_no_row(work, tmp_path):
    from calibration_sections.data_sets import STREAM, parts
    from harness.benchmark import Options

    found = parts(Options(limit=100), STREAM)
    assert (found.split.X.shape[0], found.n_held, found.tested.shape[0]) == (100, 20, 20)
    assert (np.diff(found.split.Y_test.indptr) == 1).all()
    assert found.held.shape[0] + found.tested.shape[0] == found.split.X_test.shape[0]


def test_fasttext_s_program_halves_the_rate_until_it_does_not_come_apart(
    work, monkeypatch, tmp_path
):
    tried = []

    class Model:
        def save_model(self, path):
            Path(path).write_text("")

        def predict(self, rows, k):
            return [("__label__3",), ("__label__1",)], [(1.00001,), (0.5,)]

    def train_supervised(path, lr, **options):
        tried.append((lr, options["loss"], Path(path).read_text()))
        if lr > 0.3:
            raise RuntimeError("Encountered NaN.")
        return Model()

    fake = types.ModuleType("fasttext")
    fake.train_supervised = train_supervised
    monkeypatch.setitem(sys.modules, "fasttext", fake)
    monkeypatch.syspath_prepend(str(BENCHMARKS / "harness" / "programs"))
    monkeypatch.delitem(sys.modules, "harness.programs.fasttext_program", raising=False)
    from harness.programs import fasttext_program

    starts, shape = np.array([0, 1, 2]), np.array([2, 4])
    for name, columns in {"train_X": [2, 0], "train_Y": [1, 3]}.items():
        arrays = {"data": np.ones(2), "indices": np.array(columns), "indptr": starts}
        np.savez(tmp_path / f"{name}.npz", **arrays, shape=shape, n_labels=np.array(4))
    fasttext_program.train(tmp_path, tmp_path, {"rate": 1.0})
    assert [rate for rate, _, _ in tried] == [1.0, 0.5, 0.25]
    assert tried[0][1:] == ("ova", "__label__1 f2\n__label__3 f0\n")
    labels, p = fasttext_program.top(Model(), ["f2", "f0"], 2, False)
    assert labels.tolist() == [[3, -1], [1, -1]]
    assert p.tolist() == [[1, 0], [0.5, 0]]


@pytest.mark.parametrize("wrong", [["--limit", "5"], ["--data", "nowhere"], ["--sets", "bibtex"]])
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)


def test_learners_are_chosen_by_words(work):
    from calibration_sections.contestants import taking_part
    from calibration_sections.data_sets import STREAM
    from harness.benchmark import Options

    def learners(*words, **given):
        return Options(own=types.SimpleNamespace(learners=words), **given)

    split, chosen = types.SimpleNamespace(Y=np.zeros((1, 9))), learners("VW", "fast")
    names = [each.name for each in taking_part(split, "bibtex", chosen)]
    assert names == ["VW `--plt`", "fastText", "VW `--multilabel_oaa`"]
    everybody = taking_part(split, STREAM, learners())
    assert {each.program for each in everybody} >= {"labeltrees_program", "pecos_program"}
    assert [each.peer for each in taking_part(split, STREAM, learners(with_peers=False))] == [
        None
    ] * 5
