"""benchmarks/online_multilabel.py: its tables from small data, without other libraries."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.benchmarks.small_sets import cells


@pytest.fixture(scope="module")
def work(work):
    """Return the folder of the benchmarks, which VW's files are written to as well."""
    import multilabel_sections.vw

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multilabel_sections.vw, "FOLDER", work)
        yield work


@pytest.fixture
def run(work, monkeypatch, capsys):
    import online_multilabel

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["online_multilabel.py", "--no-peers", *arguments])
        online_multilabel.BENCHMARK.main()
        return capsys.readouterr().out

    return call


def test_the_built_in_stream_is_learned_in_one_pass_and_scored(run, monkeypatch, work):
    from multilabel_sections import contestants

    monkeypatch.setattr(contestants, "OUR_OWN", (contestants.OURS,))  # each takes seconds
    said = run("--only", "comparison", "--limit", "300")
    assert "300 training rows, 60 test rows" in said
    assert str(work) not in said
    rate, *scores = cells(said, "labeltrees, one pass")
    p1, p3, p5, ndcg, loss, of_learned, ece, speed, asking, _ = (
        float(x.replace(",", "")) for x in scores
    )
    assert rate == "-"
    # How good it is after so few rows depends on the Python whose source they are of.
    assert 100 > 5 * p5 / 3 >= p3 >= p1 / 3 > 1
    assert 100 > ndcg > 5
    assert loss > of_learned > 1
    assert 0 < ece < 1
    assert speed > 0
    assert asking > 0


def test_the_labels_of_a_row_are_the_next_five_identifiers(work):
    from labeltrees.data.python_source import PythonSource
    from multilabel_sections.data_sets import identifier_sets

    (chunk,) = PythonSource(order="files", limit=124)
    split = identifier_sets(100)
    ids = {name: place for place, name in enumerate(sorted(set(chunk.labels.astype(str))))}
    for row, learned in ((0, True), (57, True), (3, False)):
        Y, first = (split.Y, row) if learned else (split.Y_test, 100 + row)
        expected = {ids[name] for name in chunk.labels[first : first + 5]}
        assert set(Y[[row]].indices.tolist()) == expected
    assert split.X.shape[1] == len(np.unique(chunk.features[:100].indices))
    assert np.allclose(split.X.multiply(split.X).sum(axis=1), 1)


def test_goals_name_the_columns_in_which_a_peer_is_ahead(work):
    from multilabel_sections import comparison
    from multilabel_sections.contestants import BATCH, OURS, OURS_IN_PASSES, VW_TREE, Run

    even = dict.fromkeys(comparison.DIGITS, 50.0)
    scored = [
        (Run(OURS, None, None), even | {"rows/s": 3000.0}),
        (Run(OURS_IN_PASSES, None, None), even | {"P@1": 49.5}),
        (Run(BATCH, None, None), even),
        (Run(VW_TREE, 1.0, None), even | {"P@3": 51.0, "ECE@1": 0.1, "rows/s": 1500.0}),
    ]
    assert comparison.goals(scored) == [
        "VW `--plt` is ahead of our one pass in: P@3, ECE@1.",
        "Our one pass learns 2.00 times the rows/s of VW `--plt`.",
        "P@1 of three passes minus P@1 of our batch model is -0.50 points.",
    ]
    assert comparison.goals([]) == []


def test_a_tree_s_answers_are_read_from_what_vw_prints(work, monkeypatch):
    from multilabel_sections import vw

    (work / "sample.vw").write_text("0 | f1:1\n")

    def question(rows, out, *options):
        """Two rows: of the second even the likeliest label is too unlikely to be printed."""
        top = "2,0,1 \n1,2,0 \n"
        likely = "2:0.5,0:0.25\n\n"
        every = "2:0.5,0:0.25,1:0\n"
        text = {"--top_k": top, "--threshold": every if "0" in options else likely}
        out.write_text(text[options[0]])

    monkeypatch.setattr(vw, "question", question)
    monkeypatch.setattr(vw, "asking_seconds", lambda *given: question(*given) or 2.0)
    labels, scores, seconds, all_labels, all_scores = vw.tree_answers(
        work / "ask.vw", work / "sample.vw", 2, 1
    )
    assert labels.tolist() == [[2, 0, 1], [1, 2, 0]]
    assert scores[0, :2].tolist() == pytest.approx([0.5, 0.25])
    assert (np.diff(scores) < 0).all()
    assert scores[1].max() < 1e-5
    assert seconds == 2.0
    assert all_labels.tolist() == [[2, 0, 1]]
    assert all_scores.tolist() == [[0.5, 0.25, 5e-7]]


def test_growth_measures_each_number_of_labels(run, monkeypatch):
    from multilabel_sections import growth

    monkeypatch.setattr(growth, "SIZES", (100, 200))
    monkeypatch.setattr(growth, "CALL_ROWS", (50, 50, 50))
    monkeypatch.setattr(growth, "N_ROUNDS", 6)
    said = run("--only", "growth", "--limit", "200")
    (first, second) = (line for line in said.splitlines() if line.startswith("| 100 |"))
    assert float(first.split("|")[3]) > 80  # P@1
    assert second != first  # with and without experts
    assert said.count("| last / first | - | - |") == 2


def test_a_topic_has_three_labels(work):
    from multilabel_sections.growth import label_sets

    assert label_sets(np.array([4, 0]), 5) == [[4, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    "wrong", [["--limit", "5"], ["--only", "nothing"], ["--data", "nowhere"], ["--sets", "bibtex"]]
)
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)


def test_settings_are_json(work):
    from multilabel_sections.contestants import OUR_OWN, PEERS

    assert all(isinstance(json.loads(each.settings), dict) for each in (*OUR_OWN, *PEERS))
