"""benchmarks/online.py: the sections that need no other library run, and say what they should."""

from __future__ import annotations

import gzip
import re
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from labeltrees.data import python_source
from labeltrees.data.readers import read_vw

PICTURES = {"growth.png", "learning_curves.png", "reliability.png"}


@pytest.fixture(scope="module")
def work(work, source_files):
    """Let the built-in stream have few files; return the folder of the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_source, "source_files", lambda folder=None: source_files)
        yield work


@pytest.fixture
def run(work, monkeypatch):
    import online

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["online.py", "--no-peers", *arguments])
        online.BENCHMARK.main()

    return call


@pytest.mark.thorough
def test_every_section_reports_without_peers(run, work, capsys):
    run("--limit", "1000", "--plots", str(work / "plots"))
    said = capsys.readouterr().out
    titles = re.findall(r"^### (.+)$", said, re.MULTILINE)
    assert titles == [
        "End to end from one file",
        "Quality over the last 20 %",
        "Queries",
        "Growth with the number of labels",
        "Threads",
        "Small sets",
        "LOMtree and filter tree",
        "Arity",
        "Refined trees",
        "Refined trees, small sets",
        "Refined trees, growth with the number of labels",
    ]
    assert {path.name for path in (work / "plots").iterdir()} == PICTURES
    assert str(work) not in said
    by_file, direct = map(
        float, re.search(r"is ([\d.]+) from the file and ([\d.]+) w", said).groups()
    )
    assert abs(by_file - direct) <= 0.02  # of 200 rows; only hash collisions tell them apart


def test_one_section_can_be_run_alone(run, capsys):
    run("--only", "queries", "--limit", "500")
    assert re.findall(r"^### (.+)$", capsys.readouterr().out, re.MULTILINE) == ["Queries"]


@pytest.mark.parametrize("wrong", [["--limit", "5"], ["--only", "nothing"], ["--data", "nowhere"]])
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)


@pytest.fixture(scope="module")
def easy_data(work):
    """A folder with one small set, three labels that one word tells apart."""
    (work / "data" / "clinc150").mkdir(parents=True)
    lines = "".join(f"{word}\tplease {word} it\n" for word in ("open", "close", "paint") * 9)
    for part in ("train", "valid", "test"):
        (work / "data" / "clinc150" / f"{part}.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    return work / "data"


def test_small_sets_are_learned_by_every_structure(run, easy_data, monkeypatch, capsys):
    from online_sections import small_sets

    monkeypatch.setattr(small_sets, "PASSES", (1,))
    monkeypatch.setattr(small_sets, "OUR_PASSES", (1,))
    monkeypatch.setattr(small_sets, "OUR_RATES", (1.0,))
    monkeypatch.setattr(small_sets, "STRENGTHS", (1.0,))
    run("--only", "small_sets", "--data", str(easy_data))
    said = capsys.readouterr().out
    assert "27 rows to learn, 27 to test, 3 labels" in said
    ours = re.findall(r"^\| labeltrees, ([\w ]+)", said, re.MULTILINE)
    pools = ["8 kmeans trees", "8 kmeans trees", "one against all"]
    assert [name.strip() for name in ours] == [*small_sets.STRUCTURES, *pools]


def test_refined_trees_are_compared_on_the_stream_on_small_sets_and_as_labels_grow(
    run, easy_data, monkeypatch, capsys
):
    from online_sections import our_runs, refinement, refinement_small_sets

    monkeypatch.setattr(refinement_small_sets, "STRENGTHS", (1.0,))
    sections = ("refinement", "refinement_small_sets", "refinement_growth")
    run("--only", *sections, "--limit", "500", "--data", str(easy_data))
    said = capsys.readouterr().out
    on_stream = list(our_runs.makers(refinement.OURS))
    on_small_sets = list(our_runs.makers(refinement_small_sets.OURS))
    assert re.findall(r"^\| labeltrees, ([^|]+) \|", said, re.MULTILINE) == [
        *(f"{name}, frozen" for name in on_stream),
        *(f"{name}, progressive" for name in on_stream),
        *on_small_sets,
    ]
    assert "27 rows to learn, 27 to test, 3 labels" in said
    assert "| multinomial logistic | 1 | 0.00 |" in said
    growing = [name for name in on_stream if name in refinement.GROWING]
    assert re.findall(r"^\| ([^|]+) \| 500 \|", said, re.MULTILINE) == growing * 2


def test_arities_run_from_the_tree_to_one_node(run, work, easy_data, capsys):
    run("--only", "arity", "--data", str(easy_data), "--plots", str(work / "plots"))
    said = capsys.readouterr().out
    asked = re.findall(r"^\| (\w+) \| (\d+) \| [^|]+ \| ([\d.]+) ", said, re.MULTILINE)
    # Three labels: a path of one or two nodes, or one node with a code of four.
    assert [each[:2] for each in asked] == [
        ("kmeans", "2"), ("kmeans", "4"), ("random", "2"), ("random", "4"),
    ]  # fmt: skip
    assert [each[2] for each in asked] == ["1.7", "3.0"] * 2
    assert (work / "plots" / "arity.png").is_file()


def test_written_rows_are_read_back(work, tmp_path):
    from online_sections.stream_file import write_vw

    class Rows:
        features = csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], np.float32))
        labels = np.array(["b", "a", "b"], object)
        n_rows = 3

    assert write_vw([Rows, Rows], tmp_path / "rows.vw") == (6, 2)
    (chunk,) = read_vw(tmp_path / "rows.vw")
    assert chunk.labels.tolist() == [1, 2, 1] * 2
    assert np.diff(chunk.features.indptr).tolist() == [2, 0, 1] * 2


def test_scores_are_those_of_the_last_rows(work):
    from online_sections.scores import Answers

    answers = Answers(
        "x",
        np.array([False, True, True, False]),
        p_label=np.array([0.0, 0.5, 1.0, 0.0]),
        p_top=np.array([0.5, 0.5, 1.0, 1.0]),
        is_new=np.array([True, False, False, True]),
    )
    tail = answers.tail(2)
    assert tail.accuracy == 0.5
    assert tail.log_loss_seen == 0.0
    assert tail.squared_loss == 0.5
    assert tail.calibration_error == 0.5
    assert answers.curve(2)[1].tolist() == [0.5, 0.5]


def test_measured_program_has_its_own_peak(work):
    from harness.processes import run_measured

    ballast = np.ones(50_000_000)  # 400 MB here must not count there
    measured = run_measured([sys.executable, "-c", "print('done')"])
    assert ballast[-1] == 1
    assert measured.output == "done\n"
    assert 1 < measured.peak_mb < 100
    with pytest.raises(RuntimeError, match="no luck"):
        run_measured([sys.executable, "-c", "raise SystemExit('no luck')"])


def test_peer_that_cannot_be_installed_is_left_out_with_a_sentence(work, monkeypatch, tmp_path):
    from harness import peers

    monkeypatch.setattr(peers, "WORK", tmp_path)
    monkeypatch.setattr(peers, "_found", {})
    monkeypatch.setattr(peers, "_run", lambda command: None)
    with pytest.raises(peers.MissingPeerError, match="vw is left out: vowpalwabbit could not"):
        peers.peer("vw")
