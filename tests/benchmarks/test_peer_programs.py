"""What we run in the peers' environments, as far as it can be had without the peers."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def without_fasttext(monkeypatch):
    """Make fastText's program importable without fastText."""
    monkeypatch.setitem(sys.modules, "fasttext", types.ModuleType("fasttext"))


def test_huffman_paths_by_hand():
    from online_sections.fasttext_program import huffman_paths

    paths, signs = huffman_paths([6, 2, 1])
    # 1 and 2 are joined first, in row 0 of the output matrix; then with 6 in row 1.
    assert paths == [[1], [0, 1], [0, 1]]
    assert signs == [[1], [1, -1], [-1, -1]]


def test_paths_of_many_labels_have_probabilities_that_sum_to_one():
    from online_sections.fasttext_program import PathProbabilities

    random = np.random.default_rng(0)
    counts = sorted(random.integers(1, 100, size=50).tolist(), reverse=True)
    labels = [f"__label__{i}" for i in range(50)]

    class Model:
        def get_labels(self, include_freq):
            return labels, counts

        def get_output_matrix(self):
            return np.random.default_rng(1).normal(size=(50, 4))

        def get_sentence_vector(self, row):
            return np.array([0.5, -1.0, 2.0, 0.1])

    p_of = PathProbabilities(Model())
    assert sum(p_of("f1 f2", label) for label in labels) == pytest.approx(1)
    assert p_of("f1 f2", "__label__new") == 0


PROGRAM = """
import sys
asked, out, rate = sys.argv[2:5]
rows = [line.split()[0] for line in open(asked)]
open(out, "w").write("".join(f"7 0.5 {rate}\\n" for label in rows))
print('{"train_seconds": 2.0, "top_us": 3.0, "megabytes": 4.0}')
"""


def test_a_programs_answers_and_costs_are_read(monkeypatch, tmp_path):
    from harness import peers
    from online_sections import peer_runs

    monkeypatch.setattr(peer_runs, "PROGRAMS", tmp_path)
    monkeypatch.setattr(peers, "WORK", tmp_path)
    monkeypatch.setattr(peers, "peer", lambda name: peers.Peer(sys.executable, "some 1.0"))
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "asked.vw").write_text("7 | f1\n8 | f1\n9 | f2\n")
    told = peer_runs.run_program("some", "program.py", tmp_path, tmp_path / "asked.vw", 0.25)
    assert told.costs == peer_runs.Costs(2.0, top_us=3.0, megabytes=4.0)
    answers = told.answers("some", np.array([7, 8, 9]), learned=np.array([7, 8]))
    assert answers.correct.tolist() == [True, False, False]
    assert answers.is_new.tolist() == [False, False, True]
    assert answers.log_loss_seen == pytest.approx(np.log(4))


def test_words_are_features_without_values(tmp_path):
    from online_sections.refinement_small_sets import write_words

    (tmp_path / "rows.vw").write_text("12 | f3:0.25 f10:1e-05\n1 | f3:1\n")
    write_words(tmp_path / "rows.vw", tmp_path / "rows.txt")
    assert (tmp_path / "rows.txt").read_text() == "__label__12 f3 f10\n__label__1 f3\n"
