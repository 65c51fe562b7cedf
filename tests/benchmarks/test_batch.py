"""benchmarks/batch.py: its sections run on small sets without other libraries, and add up."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import labeltrees
from labeltrees.model import TopLabels, TopRows

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


class LeastSquares:
    """The questions of the estimator, answered by one ridge regression for each label."""

    def __init__(self, *, n_jobs=None, random_state=None, cost=1.0, relevance=None, **rest):
        self.cost = cost
        self.learned_with = rest

    def fit(self, X, Y):
        self.classes_ = np.arange(Y.shape[1])
        gram = (X.T @ X).toarray() + np.eye(X.shape[1]) / self.cost
        self.weights = np.linalg.solve(gram, (X.T @ Y).toarray())
        return self

    @property
    def model_(self):
        return self

    def set_params(self, **_):
        return self

    def predict_proba(self, X):
        return np.clip(X @ self.weights, 0, None)

    def predict_top_k(self, X, k):
        p = self.predict_proba(X)
        labels = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopLabels(labels, np.take_along_axis(p, labels, axis=1))

    predict_top_scores = predict_top_k

    def top_rows(self, X, labels=None, k=5, exact=False):
        p = self.predict_proba(X).T
        rows = np.argsort(-p, axis=1, kind="stable")[:, :k]
        return TopRows(rows, np.take_along_axis(p, rows, axis=1))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make the benchmarks' modules importable, and a folder of two small sets."""
    folder = tmp_path_factory.mktemp("data")
    write_xc(folder / "bibtex")
    write_films(folder / "movielens-latest-small")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        patch.setenv("LABELTREES_BENCHMARK_WORK", str(folder / "work"))
        import peers

        patch.setattr(peers, "WORK", folder / "work")
        import batch_sections.contestants
        import batch_sections.data_sets

        patch.setattr(batch_sections.data_sets, "WORK", folder / "work")
        patch.setattr(batch_sections.contestants, "WORK", folder / "work")
        yield folder


@pytest.fixture
def run(data, monkeypatch, capsys):
    import batch

    def call(*arguments):
        command = ["batch.py", "--no-peers", "--data", str(data), "--plots", str(data / "plots")]
        monkeypatch.setattr(sys, "argv", [*command, *arguments])
        batch.main()
        return capsys.readouterr().out

    return call


def write_xc(folder):
    """Rows whose labels are the thirds of their features."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for name, n_rows in (("train", 200), ("test", 120)):
        lines = [f"{n_rows} 30 6"]
        for _ in range(n_rows):
            labels = np.unique(rng.integers(6, size=2))
            features = np.unique([5 * labels + rng.integers(5, size=len(labels))])
            lines.append(
                ",".join(map(str, labels)) + " " + " ".join(f"{each}:1" for each in features)
            )
        with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")


def write_films(folder):
    """Users like films of one kind each."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    kinds = ["Drama", "Comedy", "Western"]
    with gzip.open(folder / "movies.csv.gz", "wt") as file:
        file.write("movieId,title,genres\n")
        file.writelines(f'{i},"Film, {i}",{kinds[i % 3]}\n' for i in range(90))
    with gzip.open(folder / "tags.csv.gz", "wt") as file:
        file.write("userId,movieId,tag,timestamp\n1,3,slow,0\n")
    with gzip.open(folder / "ratings.csv.gz", "wt") as file:
        file.write("userId,movieId,rating,timestamp\n")
        for i in range(90):
            users = [3 * each + i % 3 + 1 for each in rng.permutation(20)[:4]]
            file.writelines(f"{user},{i},{rng.integers(1, 6)}.0,0\n" for user in users)
        file.writelines(f"{user},0,1.0,0\n" for user in range(1, 61))


def cells(said, start):
    """The numbers of the table's row that starts so."""
    (line,) = (each for each in said.splitlines() if each.startswith(f"| {start} |"))
    return [each.strip() for each in line.strip("|").split("|")][1:]


def test_one_vs_rest_is_measured_in_processes_of_its_own(run, data, monkeypatch):
    from batch_sections import contestants

    monkeypatch.setattr(contestants, "COSTS", (1.0,))
    said = run("--only", "comparison", "--sets", "bibtex")
    assert "200 rows to learn, 120 to ask, 30 features" in said
    assert str(data) not in said
    rows = [line for line in said.splitlines() if line.startswith("| scikit-learn, one vs rest")]
    quality = rows[-1].split("|")
    p1, p3 = float(quality[3]), float(quality[4])
    assert p1 > 80  # the features name the labels
    assert p3 < p1
    assert 0 < float(quality[-2]) < 0.6


def test_without_the_estimator_sections_say_so(run, monkeypatch):
    from batch_sections import comparison

    monkeypatch.setattr(comparison, "MOST_LABELS_NAMED", 0)  # no one vs rest: it takes seconds
    monkeypatch.delattr(labeltrees, "ExtremeRegressor", raising=False)
    said = run("--limit", "100")
    titles = re.findall(r"^### (.+)$", said, re.MULTILINE)
    assert titles == [
        "Cost and quality",
        "Bibtex, propensity relevance",
        "Filtering by relevance",
        "MovieLens, films for users",
        "Labelwise search among many points and labels",
        "Growth with the number of labels",
    ]
    assert said.count("has no `ExtremeRegressor`") == 5


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(labeltrees, "ExtremeRegressor", LeastSquares, raising=False)


def test_propensities_are_scored_beside_the_paper(stand_in, run):
    said = run("--only", "propensity")
    ours = cells(said, "labeltrees, default")
    assert 60 < float(ours[1]) <= 100
    assert cells(said, "paper: XReg")[1:4] == ["49.66", "52.66", "58.61"]


def test_labelwise_search_of_everything_is_scoring_all_pairs(stand_in, run):
    said = run("--only", "movielens")
    assert "90 films, 60 users" in said
    found, every = cells(said, "labelwise search"), cells(said, "all pairs scored")
    assert found[:3] == every[:3]
    assert cells(said, "labelwise search, exact")[:3] == every[:3]


def test_filtering_is_drawn(stand_in, run, data):
    said = run("--only", "filtering")
    assert "precision at recall 0.1" in said
    assert (data / "plots" / "filtering.png").stat().st_size > 1000


def test_made_up_sets_grow(stand_in, run, monkeypatch):
    from batch_sections import synthetic

    monkeypatch.setattr(synthetic, "N_FEATURES", 300)
    monkeypatch.setattr(synthetic, "SWEEP", (100, 200))
    monkeypatch.setattr(synthetic, "N_ASKED", 20)
    monkeypatch.setattr(synthetic, "N_SINGLE", 5)
    said = run("--only", "labelwise", "growth", "--limit", "300")
    assert "300 points x 300 labels" in said
    assert cells(said, "100")[3:] == ["1.00", "1.00", "1.00"]
    assert cells(said, "200")[-1] == "1.15"


def test_made_up_points_have_their_labels_words(data):
    from batch_sections.synthetic import made_up

    points = made_up(300, 50, 1000, seed=3)
    assert points.X.shape == (300, 50_000)
    assert points.Y_test.shape == (50, 1000)
    assert set(points.Y.data.tolist()) == {1.0}
    assert np.allclose(points.X.multiply(points.X).sum(axis=1), 1)


def test_answers_become_a_matrix(data):
    from batch_sections.contestants import as_matrix

    labels, scores = np.array([[2, 0], [1, -1]]), np.array([[0.5, 0.25], [1, 0]])
    assert as_matrix(labels, scores, 3).toarray().tolist() == [[0.25, 0, 0.5], [0, 1, 0]]


def test_top_rows_become_a_matrix_of_rows_and_labels(data):
    from batch_sections.our_models import top_rows

    X = csr_array(np.eye(4, 3))
    model = LeastSquares(cost=1e9).fit(csr_array(np.eye(3)), csr_array(np.diag([1.0, 2, 3])))
    found = top_rows(model, X, 1, 3)
    assert found.shape == (4, 3)
    assert np.allclose(found.toarray(), np.diag([1.0, 2, 3, 0])[:, :3])


@pytest.mark.parametrize(
    "wrong", [["--limit", "5"], ["--only", "nothing"], ["--data", "nowhere"], ["--threads", "0"]]
)
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)


def test_a_program_says_what_it_measured_in_its_last_line(data, tmp_path):
    from batch_sections.data_sets import whole

    folder = whole(data, "bibtex", None).folder
    program = str(BENCHMARKS / "batch_sections" / "ovr_program.py")
    settings = json.dumps({"cost": 1.0, "threads": 1})
    command = [sys.executable, program, "train", str(folder), str(tmp_path), settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert set(facts) == {"reading_s", "train_s", "train_cpu_s", "before_mb"}
    assert facts["train_s"] > 0
