"""benchmarks/papers/: every script runs in its quick form on small sets, and says both numbers."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from tests.benchmarks.small_sets import cells, write_films, write_xc

from labeltrees.errors import DivergedError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder of small sets."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    write_xc(folder / "rcv1-sub1", rng)
    write_xc(folder / "bibtex", rng)
    write_intents(folder / "clinc150", rng)
    write_films(folder / "movielens-latest-small", rng)
    return folder


@pytest.fixture
def run(data, monkeypatch, capsys, tmp_path):
    def call(script, *sections, folder=data):
        import importlib

        module = importlib.import_module(script)
        words = ["--quick", "--data", str(folder), "--plots", str(tmp_path), "--only", *sections]
        monkeypatch.setattr("sys.argv", [f"{script}.py", *words])
        module.BENCHMARK.main()
        return capsys.readouterr().out

    return call


def write_intents(folder, rng):
    """Texts of which one word of three names the label."""
    folder.mkdir()
    for name, n_rows in (("train", 240), ("valid", 60), ("test", 100)):
        with gzip.open(folder / f"{name}.tsv.gz", "wt") as file:
            for label in rng.integers(5, size=n_rows):
                noise = " ".join(f"word{each}" for each in rng.integers(20, size=2))
                file.write(f"intent{label}\tsay{label} {noise}\n")


def value(cell):
    return float(re.match(r"[\d.]+", cell)[0])


# Paper 1.


def test_reuters_prints_the_papers_losses_beside_ours(run):
    said = run("paper1", "reuters")
    paper, ours = cells(said, "one-against-all")[:2]
    assert paper == "0.55 ± .012"
    assert 0 < value(ours) < 0.7  # one of about two labels is drawn
    balanced = cells(said, "CPT, balanced tree")
    assert value(balanced[5]) == pytest.approx(2.6, abs=0.3)  # regressors per row, of six labels
    assert "Search over alpha" in said


def test_of_advertisements_nothing_beats_the_best_possible(run):
    said = run("paper1", "advertising")
    losses = {name: value(cells(said, name)[2]) for name in ("table", "online tree")}
    best = value(cells(said, "best possible")[2])
    least = value(cells(said, "least loss of any f")[2])
    assert 1 > min(losses.values()) > best >= least
    assert cells(said, "table")[:2] == ["0.812 ± .00055", "10.11"]


def test_settings_that_diverge_are_left_out_and_raise_where_all_do(data):
    from paper1 import Learned, chosen

    def make(rate):
        if rate > 1:
            raise DivergedError(f"rate {rate}")
        return Learned(None, training_loss=1 - rate, seconds=0.0)

    assert chosen(make, [(0.1,), (2.0,), (0.5,)])[0] == (0.5,)
    with pytest.raises(DivergedError, match="rate 3"):
        chosen(make, [(2.0,), (3.0,)])


def test_the_least_loss_is_that_of_a_fine_grid(data):
    from paper1 import least_loss

    p = np.array([0.6, 0.3, 0.1])
    grid = np.linspace(0, 1, 401)
    first, second = (each.ravel() for each in np.meshgrid(grid, grid))
    f = np.stack([first, second, 1 - first - second])[:, first + second <= 1]
    assert least_loss(p) == pytest.approx(
        (p[:, np.newaxis] * (1 - f) ** 2).sum(axis=0).min(), abs=1e-4
    )
    assert least_loss(np.array([1.0])) == 0
    assert least_loss(np.full(4, 0.25)) == pytest.approx(0.75**2)


def test_the_curve_ends_at_pecocs_factor_of_four(run, tmp_path):
    said = run("paper1", "tradeoff", folder=tmp_path)
    assert "Left out: no folder with clinc150" in said
    assert cells(said, "k = 2 (tree)")[:2] == ["14", "196.0"]
    assert cells(said, "k = 16,384 (PECOC)")[:2] == ["16,383", "4.0"]


# Paper 2.


def test_the_tables_of_the_lomtree(run, monkeypatch, data):
    import multiclass

    monkeypatch.setattr(multiclass, "N_TIMED", 20)
    said = run("paper2", "tables", "theorem1")
    errors = said[said.index("Table 4") :]
    assert cells(errors, "paper: Isolet")[0] == "6.36 ± 1.71"
    intents = [value(cell) for cell in cells(errors.split("### Theorem")[0], "clinc150, TF-IDF")]
    assert len(intents) == 4
    assert min(intents) < 20  # a word names the label
    assert cells(said, "Aloi")[0] == "1,000"
    for growth in ("online", "heaviest"):
        entropies = [float(cell) for cell in cells(said, f"clinc150, TF-IDF, {growth}")[2:6]]
        assert entropies == sorted(entropies, reverse=True)  # splits never raise it


def test_one_against_all_stops_when_its_time_is_over(run, data):
    from multiclass import split
    from paper2 import until
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    few = split("few", csr_array(rng.random((300, 3))), rng.integers(4, size=300))
    assert until(0.0, few)[1] == 0
    assert until(1e9, few)[1] == 270
    said = run("paper2", "figure1")
    assert "of 360 |" in said


def test_the_random_tree_is_balanced_and_asked_greedily(data):
    from multiclass import RTREE, predicted, rtree, split
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    some = split("some", csr_array(rng.random((600, 3))), rng.integers(50, size=600))
    model = rtree(some, 1.0, 1).fit(*some.learning)
    assert model.tree_.depth == 6
    assert np.array_equal(predicted(RTREE, model, some.test[0]), model.predict_greedy(some.test[0]))


# Paper 3.


def test_gains_add_up_to_the_fall_of_equation_1(run):
    said = run("paper3", "risk", "compatibility", "penalties")
    rows = [line.split("|") for line in said.splitlines() if line.startswith("| digits |")]
    risks = [row for row in rows if len(row) == 9]
    assert len(risks) == 4
    for row in risks:
        assert float(row[6].replace(",", "")) == pytest.approx(float(row[7].replace(",", "")))
    leaves = [int(row[5]) for row in rows if len(row) == 11 and row[2].strip() in FORMS]
    assert len(leaves) == 6
    assert leaves[4] < leaves[2] < leaves[0]  # penalties that grow with depth make trees smaller


FORMS = ("constant", "by depth", "doubling")


# Paper 5.


def test_bounds_hold_and_say_how_many_rows_they_need(run):
    said = run("paper5", "rounds", "bounds", "smooth")
    for line in said.splitlines():
        if line.startswith("| made up | 0."):
            above, bound, looser = (float(cell) for cell in line.split("|")[4:7])
            assert above <= bound <= looser
        if line.startswith("| k ="):
            norm, most = (float(cell) for cell in line.split("|")[3:5])
            assert norm <= most
    needed = re.findall(r"10\^([\d.]+) \|$", said, re.MULTILINE)
    assert len(needed) == 4
    assert all(float(power) > 5 for power in needed)


def test_the_rows_needed_are_where_the_bound_falls_below(data):
    from paper5 import least_rows

    assert least_rows(lambda n: 1e6 / n, 1.0) == "10^6.0"
    assert least_rows(lambda n: 2.0, 1.0) == "above 10^40"


@pytest.mark.filterwarnings("ignore:error >= eta")
def test_frequencies_of_equal_rows_are_learned_beside_labels(run):
    said = run("paper5", "repeated")
    found = [line.split("|") for line in said.splitlines() if line.startswith("| 0.6 |")]
    assert [row[2].strip() for row in found] == ["labels as they come", "frequencies of equal rows"]
    assert all(0 <= float(row[7]) <= 1 for row in found)


# Paper 4.


def test_the_tables_of_extreme_regression(run):
    said = run("paper4", "sizes", "bibtex", "errors", "theory")
    assert cells(said, "bibtex, here")[:4] == ["150", "30", "6", "60"]
    assert cells(said, "paper: XReg")[:3] == ["49.66", "52.66", "58.61"]
    ours = [line.split("|") for line in said.splitlines() if line.startswith("| XReg (cost")]
    assert all(60 < float(cell) <= 100 for cell in ours[0][2:6])
    errors = cells(said, "BibTeX: XReg")
    assert max(float(errors[0]), float(errors[1])) <= float(errors[2])
    assert errors[-1] == "0"  # Lemma 3.1 holds for every row
    (theorem,) = (line.split("|") for line in said.splitlines() if line.startswith("| 37 |"))
    assert float(theorem[2]) <= float(theorem[3]) + 1e-3
    assert theorem[4].strip() == "0"


def test_films_for_users(run):
    said = run("paper4", "movielens", "ablation", "settings")
    assert cells(said, "paper, 138K users: XReg")[2] == "48.94"
    pointwise, labelwise = (cells(said, f"{how} XReg") for how in ("pointwise", "labelwise"))
    assert float(labelwise[0]) > float(pointwise[0])
    assert labelwise[2:] == ["100.0", "48.94", "66.99"]
    assert cells(said, "MovieLens")[0] == "factor F = 4"
    assert "| bibtex | n_trees = 1 |" in said


def test_systems_are_compared_where_they_can_be_asked(data):
    from systems import LABELWISE, POINTWISE, SYSTEMS

    def names(systems):
        return {each.name for each in systems}

    assert names(SYSTEMS) - names(POINTWISE) == {"XLR"}
    assert names(SYSTEMS) - names(LABELWISE) == {"RankSVM"}


def test_every_system_of_the_paper_is_there_with_its_parameters(data):
    from published import BIBTEX, MOVIELENS
    from systems import NAMED, SYSTEMS

    assert set(BIBTEX) | set(MOVIELENS) <= set(NAMED)
    for system in SYSTEMS:
        model = system.make(**{name: values[0] for name, values in system.grid.items()})
        assert ("relevance" in model.get_params()) >= system.graded
        for name, values in system.grid.items():
            assert len(set(values)) == len(values) > 1
            assert model.get_params()[name] == values[0]
