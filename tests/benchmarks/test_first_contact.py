"""benchmarks/first_contact.py: files have the same rows in every order, and answers are scored."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

TEXTS = [(("b",), "a perl library"), (("a",), "a game"), (("b",), "perl: docs"), (("a",), "games")]


@pytest.fixture(scope="module", autouse=True)
def folder(work):
    """Write the files of the sets to the folder of the benchmarks."""
    from contact_sections import comparison, contestants

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contestants, "FOLDER", work / "contact")
        patch.setattr(comparison, "FOLDER", work / "contact")
        yield


def rows_of(kind, pairs, header=""):
    from contact_sections.person_files import PersonRows

    return PersonRows(kind, [labels for labels, _ in pairs], [known for _, known in pairs], header)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (("text", [(("x", "y"), "two words"), ((), "none")]), "x y\ttwo words\n\tnone\n"),
        (("xc", [(("3", "0"), "1:0.5 4:1"), ((), "2:1")], "5 4"), "2 5 4\n3,0 1:0.5 4:1\n 2:1\n"),
        (("table", [(("T",), "1.5,2")], "a,b"), "a,b,label\n1.5,2,T\n"),
    ],
)
def test_a_file_is_read_as_it_was_written(rows, text, tmp_path):
    from contact_sections import person_files

    rows = rows_of(*rows)
    path = person_files.write(rows, tmp_path / "some")
    assert path.read_text() == text
    assert person_files.read(path) == rows


def test_every_order_has_the_same_rows(tmp_path):
    from contact_sections.person_files import ORDERS, write

    pairs = [((f"l{i % 3}",), f"text {i}") for i in range(30)]
    rows = rows_of("text", pairs)
    files = {
        order: write(rows.ordered(order), tmp_path / order).read_text().splitlines()
        for order in ORDERS
    }
    assert sorted(files["sorted"]) == sorted(files["shuffled"]) == sorted(files["as found"])
    assert files["sorted"] == sorted(files["as found"], key=lambda line: line.split("\t")[0])
    assert len({tuple(lines) for lines in files.values()}) == 3


def test_a_fifth_is_apart_and_the_rest_keeps_its_order():
    from contact_sections.data_sets import last_fifth_apart

    rows = rows_of("text", [(("x",), f"{i:02}") for i in range(50)])
    train, test = last_fifth_apart(rows)
    assert len(test) == 10
    assert train.inputs == sorted(train.inputs)
    assert sorted(train.inputs + test.inputs) == rows.inputs


def test_packages_with_tags_are_described_once():
    from contact_sections.data_sets import tagged

    available = (
        "Package: a\nDescription: first game\nTag: game::x, role::program,\n use::y\nSize: 3\n\n"
        "Package: b\nDescription: untagged\n\n"
        "Package: a\nDescription: older game\nTag: game::x\n"
    )
    assert tagged(available) == rows_of(
        "text", [(("game::x", "role::program", "use::y"), "first game")]
    )


def test_answers_to_rows_of_one_label_are_scored():
    from contact_sections.scoring import score

    answers = [
        {"labels": ["b", "a"], "probabilities": [0.5, 0.5], "p_truth": 0.5},
        {"labels": ["a", "b"], "probabilities": [1.0, 0.0], "p_truth": 1.0},
        {"labels": ["a", "b"], "probabilities": [1.0, 0.0], "p_truth": 0.25},
        {"labels": ["a"], "probabilities": [1.0], "p_truth": 1.0},
    ]
    found = score(rows_of("text", TEXTS), answers, several=False)
    assert found.main == 0.75
    assert found.log_loss == pytest.approx((np.log(2) + np.log(4)) / 4)
    # One row of P .5 that is right, three of P 1 of which one is wrong.
    assert found.calibration_error == pytest.approx((0.5 + 3 * (1 / 3)) / 4)


def test_answers_to_rows_of_several_labels_are_scored():
    from contact_sections.scoring import score

    rows = rows_of("xc", [(("1", "2"), "0:1"), (("3",), "1:1"), ((), "2:1")], "3 4")
    answers = [
        {"labels": [2, 3, 1, 0], "probabilities": [0.9, 0.5, 0.4, 0.1]},
        {"labels": [0, 1], "probabilities": [0.2, 0.1]},
        {"labels": [], "probabilities": []},
    ]
    found = score(rows, answers, several=True)
    assert found.precision == pytest.approx({1: 1 / 3, 3: 2 / 9, 5: 2 / 15})
    assert found.log_loss is None


def test_settings_are_chosen_by_accuracy_then_by_likelihood():
    from contact_sections.program import tuned

    valid = rows_of("text", [(("a",), "x"), (("b",), "y")])

    def attempt(settings):
        right, p = settings
        return [{"labels": ["a"], "p_truth": p}, {"labels": ["b" if right else "a"], "p_truth": p}]

    grid = [(False, 0.9), (True, 0.2), (True, 0.4), (True, 0.3)]
    assert tuned(grid, attempt, valid) == (True, 0.4)


def runs_of(ours, peer, seconds=1.0):
    from contact_sections.contestants import LOGISTIC, Run
    from contact_sections.scoring import Score

    runs = [Run("labeltrees", o, "-", Score({1: s}, 0.1, 1.0), seconds) for o, s in ours.items()]
    return [*runs, Run(LOGISTIC.title, "any order", "C=1", Score({1: peer}, 0.1, 1.0), 3.0, 2.0)]


@pytest.mark.parametrize(
    ("by_order", "peer", "seconds", "within", "same", "slower"),
    [
        ((0.90, 0.895, 0.90), 0.905, 1.0, "yes", "yes", "no"),
        ((0.80, 0.80, 0.90), 0.90, 4.0, "**no**", "**no**", "**yes**"),
        ((1.0, 0.5, 0.5), 0.9, 3.0, "yes", "yes", "no"),
    ],
)
def test_the_summary_judges_quality_order_and_time(by_order, peer, seconds, within, same, slower):
    from contact_sections import comparison
    from contact_sections.contestants import Question
    from contact_sections.person_files import ORDERS

    rows = rows_of("text", TEXTS * 50)
    runs = runs_of(dict(zip(ORDERS, by_order, strict=True)), peer, seconds)
    found = comparison.Compared("some", rows, Question(Path("test.tsv"), rows, False), runs)
    cells = dict(zip(comparison.SUMMARY, comparison.line(found), strict=True))
    assert (cells["within 1 %"], cells["same"], cells["slower"]) == (within, same, slower)
    assert cells["regression s, tuned / once"] == "3.0 / 1.0"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    import first_contact

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["first_contact.py", *arguments])
        first_contact.BENCHMARK.main()
        return capsys.readouterr().out

    return call


@pytest.mark.thorough
def test_a_set_is_learned_from_files_in_three_orders(run, tmp_path):
    said = run("--data", str(tmp_path), "--only", "iris", "letter", "--no-peers")
    assert "120 rows to learn, 30 to test, 3 labels" in said
    assert "### letter\n\nLeft out: the folder of data" in said
    assert str(tmp_path) not in said
    assert " failed: " not in said
    tables = [line for line in said.splitlines() if line.startswith("| labeltrees |")]
    assert [line.split("|")[2].strip() for line in tables] == ["as found", "sorted", "shuffled"]
    assert all(float(line.split("|")[4]) > 85 for line in tables)


@pytest.mark.thorough
def test_a_peer_is_measured_in_processes_of_its_own(tmp_path):
    from contact_sections import person_files
    from contact_sections.contestants import LOGISTIC, Question

    rows = rows_of("text", TEXTS * 10)
    path = person_files.write(rows, tmp_path / "all")
    run = LOGISTIC.run(path, Question(path, rows, several=False))
    assert run.score.main == 1
    assert run.chosen.startswith("C=")
    assert 0 < run.tuning_seconds < run.seconds


@pytest.mark.parametrize("wrong", [["--limit", "5"], ["--only", "nothing"], ["--data", "nowhere"]])
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)
