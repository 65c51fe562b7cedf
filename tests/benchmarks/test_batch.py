"""benchmarks/batch.py: its sections run on small sets without other libraries, and add up."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.benchmarks.small_sets import cells, write_films, write_xc

import labeltrees

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder of two small sets."""
    folder = tmp_path_factory.mktemp("data")
    write_xc(folder / "bibtex", np.random.default_rng(0), n_rows=(200, 120))
    write_films(folder / "movielens-latest-small", np.random.default_rng(1))
    return folder


@pytest.fixture
def run(data, monkeypatch, capsys):
    import batch

    def call(*arguments):
        command = ["batch.py", "--no-peers", "--data", str(data), "--plots", str(data / "plots")]
        monkeypatch.setattr(sys, "argv", [*command, *arguments])
        batch.BENCHMARK.main()
        return capsys.readouterr().out

    return call


@pytest.mark.thorough
def test_a_contestant_is_measured_in_processes_of_its_own(run, data, monkeypatch):
    from batch_sections import comparison, contestants

    single = contestants.OURS[1]
    monkeypatch.setattr(comparison, "taking_part", lambda *_: [single])
    monkeypatch.setattr(comparison, "best_cost", lambda *_: 3.0)  # the default, so no second run
    said = run("--only", "comparison", "--sets", "bibtex")
    assert "200 training rows, 120 test rows, 30 features" in said
    assert str(data) not in said
    rows = [line for line in said.splitlines() if line.startswith("| labeltrees, 1 tree | 3 (def")]
    assert len(rows) == 2  # what it costs, and how good it is
    quality = rows[1].split("|")
    p1, p3 = float(quality[3]), float(quality[4])
    assert p1 > 70  # the features mostly name the labels
    assert p3 < p1
    assert 0 < float(quality[-2]) < 0.6


def test_the_cost_with_the_best_answers_to_rows_kept_apart_is_chosen(data, monkeypatch):
    from batch_sections import contestants

    asked = []

    def measured(contestant, split, cost, *, threads, timed):
        """Right about as many rows as the cost is near 1."""
        asked.append((split.X.shape[0], split.Y_test.shape[0], threads, timed))
        n_right = round(split.Y_test.shape[0] / (1 + abs(np.log(cost))))
        scores = split.Y_test.toarray()
        scores[n_right:] = 0
        return contestants.Run(contestant, cost, {}, csr_array(scores), None)

    monkeypatch.setattr(contestants, "measured", measured)
    assert contestants.chosen_cost(contestants.OURS[1], data, "bibtex", None, 7) == 1.0
    assert asked == [(180, 20, 7, False)] * len(contestants.COSTS)


def test_a_contestant_that_fails_is_named_without_our_folders(run, data, monkeypatch):
    from batch_sections import comparison
    from harness.contestants import Contestant

    broken = Contestant("broken", "nothing", usual_cost="1")
    monkeypatch.setattr(Contestant, "python", lambda _: sys.executable)
    monkeypatch.setattr(comparison, "taking_part", lambda *_: [broken])
    monkeypatch.setattr(comparison, "best_cost", lambda *_: 1.0)
    said = run("--only", "comparison", "--sets", "bibtex")
    assert "- broken failed: " in said
    assert str(data) not in said


def test_the_sections_of_one_set(run, data, monkeypatch):
    from batch_sections import comparison

    monkeypatch.setattr(comparison, "taking_part", lambda *_: [])  # its processes take seconds
    said = run(
        "--sets", "bibtex", "--only", "comparison", "propensity", "filtering", "--limit", "100"
    )
    titles = re.findall(r"^### (.+)$", said, re.MULTILINE)
    sections = ["Cost and quality", "Bibtex, propensity relevance", "Filtering by relevance"]
    assert titles == [*sections, "Claims"]
    assert "100 training rows, 100 test rows" in said


def test_propensities_are_scored_beside_the_paper(run):
    said = run("--only", "propensity")
    ours = cells(said, "labeltrees, default")
    assert 60 < float(ours[2]) <= 100
    assert cells(said, "paper: XReg")[2:5] == ["49.66", "52.66", "58.61"]


def test_exact_labelwise_search_is_scoring_all_pairs(run):
    said = run("--only", "movielens")
    assert "90 films, 60 users" in said
    every = cells(said, "all pairs scored")
    assert cells(said, "labelwise search, exact")[:3] == every[:3]
    assert float(cells(said, "labelwise search")[2]) > 0.9 * float(every[2])


def test_filtering_is_drawn(run, data):
    said = run("--only", "filtering")
    assert "precision at recall 0.1" in said
    assert (data / "plots" / "filtering.png").stat().st_size > 1000


def test_made_up_sets_grow(run, monkeypatch):
    from batch_sections import synthetic

    monkeypatch.setattr(synthetic, "N_FEATURES", 300)
    monkeypatch.setattr(synthetic, "SWEEP", (100, 200))
    monkeypatch.setattr(synthetic, "N_ASKED", 20)
    monkeypatch.setattr(synthetic, "N_SINGLE", 5)
    said = run("--only", "labelwise", "growth", "--limit", "300")
    assert "300 points x 300 labels" in said
    assert cells(said, "100")[3:] == ["1.00", "1.00", "1.00"]
    assert cells(said, "200")[-1] == "1.15"


def test_claims_compare_our_default_with_the_better_run_of_a_peer(data):
    from batch_sections.claims import all_claims
    from batch_sections.contestants import ONE_VS_REST, OURS, PEERS, Run

    def run_of(contestant, cost, train_s, ndcg, **more):
        facts = dict.fromkeys(("batch_ms", "model_mb", "p50_ms", "p99_ms", "load_s"), 1.0)
        run = Run(contestant, cost, facts | {"train_s": train_s}, csr_array((1, 1)), None)
        return run, {"P@1": ndcg, "P@3": ndcg, "P@5": ndcg, "nDCG@5": ndcg, "ECE@1": 0.02} | more

    ensemble, one = OURS[0], OURS[1]
    log = next(each for each in PEERS if each.name == "Omikuji log, 1 tree")
    runs = [
        run_of(ensemble, None, 6.0, 0.4, **{"log loss": 0.05}),
        run_of(ensemble, 10.0, 1.0, 0.9, **{"log loss": 0.01}),
        run_of(one, None, 2.0, 0.3),
        run_of(log, None, 20.0, 0.2),
        run_of(log, 10.0, 30.0, 0.25),
        run_of(ONE_VS_REST, None, 1.0, 0.3, **{"log loss": 0.05}),
        run_of(ONE_VS_REST, 3.0, 1.0, 0.2, **{"log loss": 0.04}),
    ]
    claims = {each.what: each for each in all_claims({"yso-en": runs})}
    trained = claims["yso-en 100k, one tree: training time of Omikuji log, 1 tree / ours"]
    assert trained.row()[1:] == [">= 8.00", "15.00", "1.88", "yes"]
    ranked = claims["yso-en 100k, one tree, best single-tree peer: nDCG@5"]
    assert ranked.row()[1:] == [">= 25.00", "30.00", "1.20", "yes"]
    losses = claims["yso-en, default: log loss of all labels / one-vs-rest's"]
    assert losses.row()[1:] == ["<= 1.020", "1.250", "1.23", "**no**"]
    assert not any("PECOS" in what or "three-tree" in what for what in claims)
    assert not list(all_claims({}))


def test_made_up_points_have_their_labels_words(data):
    from batch_sections.synthetic import made_up

    points = made_up(300, 50, 1000, seed=3)
    assert points.X.shape == (300, 50_000)
    assert points.Y_test.shape == (50, 1000)
    assert set(points.Y.data.tolist()) == {1.0}
    assert np.allclose(points.X.multiply(points.X).sum(axis=1), 1)


def test_answers_become_a_matrix(data):
    from harness.contestants import as_matrix

    labels, scores = np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.25], [1, 0]])
    assert as_matrix(labels, scores, 3).toarray().tolist() == [[0.25, 0, 0.5], [0, 1, 0]]


def test_top_rows_become_a_matrix_of_rows_and_labels(data):
    from batch_sections.our_models import top_rows

    X = csr_array(np.eye(4, 3))
    model = labeltrees.ExtremeRegressor(n_trees=1).fit(
        np.eye(3)[[0, 1, 2] * 20], [[0], [1], [2]] * 20
    )
    found = top_rows(model, X, 1, 3)
    assert found.shape == (4, 3)
    assert found.nnz == 3
    assert (found.diagonal() > 0.5).all()


@pytest.mark.parametrize(
    "wrong", [["--limit", "5"], ["--only", "nothing"], ["--data", "nowhere"], ["--threads", "0"]]
)
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)


def test_a_program_says_what_it_measured_in_its_last_line(data, tmp_path):
    from harness.data_sets import whole

    folder = whole(data, "bibtex", None).folder
    program = str(BENCHMARKS / "harness" / "programs" / "measuring.py")
    settings = json.dumps({"cost": 1.0, "threads": 1})
    command = [sys.executable, program, "ovr_program", "train", str(folder), str(tmp_path)]
    done = subprocess.run([*command, settings], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert set(facts) == {"reading_s", "train_s", "train_cpu_s", "before_mb", "added_mb"}
    assert facts["train_s"] > 0
