"""benchmarks/scale.py: its quick form runs without a download, and its numbers add up."""

from __future__ import annotations

import re
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from labeltrees import ConditionalTreeClassifier
from labeltrees.data import python_source


@pytest.fixture(scope="module")
def work(work, source_files):
    """Let the built-in stream have few files; return the folder of the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_source, "source_files", lambda folder=None: source_files)
        yield work


@pytest.fixture
def run(work, monkeypatch, capsys):
    import scale

    def call(*arguments):
        command = ["scale.py", "--no-peers", "--plots", str(work / "plots"), *arguments]
        monkeypatch.setattr(sys, "argv", command)
        scale.BENCHMARK.main()
        return capsys.readouterr().out

    return call


def titles(said):
    return re.findall(r"^### (.+)$", said, re.MULTILINE)


def rows_of(said, first):
    """Return the cells of the lines of tables whose first cell is this."""
    lines = [line for line in said.splitlines() if line.startswith(f"| {first} |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_quick_streams_are_shown_drawn_and_kept(run, work):
    results = str(work / "quick.jsonl")
    said = run("--quick", "--only", "identifiers", "debian", "--measured", results)
    assert titles(said) == [
        "Next identifier, source of many packages",
        "Debian: which package has this path",
    ]
    assert str(work) not in said
    (last,) = rows_of(said, "8,000")
    accuracy = float(last[3])
    assert 0.2 < accuracy < 0.9
    programs = rows_of(said, "labeltrees")
    assert len(programs) == 2
    assert programs[0][1] == "3,000"
    assert 1000 < (work / "plots" / "scale.png").stat().st_size < 200_000
    again = run("--report", "--measured", results)
    assert again.split("###")[1:] == said.split("###")[1:]  # made from the file alone


def test_a_section_that_is_run_again_takes_the_place_of_what_it_measured_before(work, tmp_path):
    from scale_sections import measurements

    path = tmp_path / "results.jsonl"
    for section in ("debian", "debian-prefix", "batch"):
        measurements.append(path, section=section)
    measurements.forget(path, ("debian", "debian-prefix"))
    assert [each["section"] for each in measurements.read(path)] == ["batch"]
    measurements.forget(tmp_path / "none", ("batch",))


def test_models_take_turns_and_are_projected(run, work, monkeypatch):
    from scale_sections import label_growth, measurements

    monkeypatch.setattr(label_growth, "TURN_ROWS", 500)
    path = work / "growth.jsonl"
    said = run("--quick", "--only", "growth", "--measured", str(path))
    assert titles(said) == ["Cost per row by labels, models taking turns"]
    small, large = rows_of(said, "200"), rows_of(said, "800")
    assert len(small) == 4  # refined, the tree alone; tables with room, and full ones
    assert len(large) == 2
    assert small[0][3] == "1.00 (1.00-1.00)"
    assert float(large[0][1]) > float(small[0][1]) + 1.5  # four times the labels: two levels more
    assert "needs measurements of the sections" in run("--project", "--measured", str(path))
    for examples, megabytes in ((1_000, 10), (2_000, 20)):
        sizes = {"table_mb": megabytes, "experts_mb": 0, "labels": examples}
        row = {"examples": examples, "n_rows": 1_000, "lines": examples, "entries_per_row": 20.0}
        measurements.append(path, section="identifiers", **row, **sizes)
    assert "| 10 G rows, one core |" in run("--project", "--measured", str(path))


@pytest.mark.thorough
def test_batch_is_measured_in_processes_of_its_own(run, work):
    said = run("--quick", "--only", "batch", "--measured", str(work / "batch.jsonl"))
    assert titles(said) == ["Many labels per row, learned in batch"]
    names = [each[2] for n in ("200", "400") for each in rows_of(said, n)]
    assert names == ["labeltrees, 1 tree", "labeltrees, hinge, 1 tree"] * 2
    assert float(rows_of(said, "200")[0][7]) > 20


def test_the_projection_is_the_arithmetic_it_shows(work):
    from scale_sections.projection import Costs, steps

    costs = Costs(
        row_us=20.0, labels=1e6, least_us=16.0, least_labels=62_500, least_depth=16.0, entries=15.0,
        rows=1e7, table_bytes=4e9, table_power=1.0, label_bytes=500.0, stream_labels=1e6,
        label_power=0.5,
    )  # fmt: skip
    found = {step: value for step, _, value in steps(costs)}
    assert found["a level of small tables"] == "1.00 µs"
    twice = found["twice the labels: a level more, tables twice as large"]
    assert twice == "1.00 µs"  # 4 µs, 16 times the labels
    assert found["a row at 100 M labels"] == "26.6 µs"
    assert found["10 G rows, one core"] == "3.1 days"  # 266,439 s
    assert found["tables"] == "4.00 TB"
    assert found["vocabulary and tree"] == "50 GB"
    assert found["machines by memory"] == "22"  # 4.05 TB / 192 GB
    assert found["top levels, on one machine"] == "12 hours"  # 4.46 µs
    assert found["subtrees, a machine each, one core"] == "3 hours"  # 22.2 µs / 22
    assert found["rows over the network"] == "0.76 TB"
    assert found["labels that so many rows of the stream would have"] == "32 M"


def test_windows_add_up_to_one_progressive_pass(work):
    from scale_sections.growing import grow

    class Chunk:
        def __init__(self, labels):
            self.labels = np.array([f"l{i}" for i in labels], object)
            self.features = csr_array(np.eye(8, dtype=np.float32)[labels])

    labels = np.random.default_rng(0).integers(8, size=(6, 50))
    found = []
    grow(map(Chunk, labels), ConditionalTreeClassifier(), found.append, 100)
    assert [each["examples"] for each in found] == [100, 200, 300]
    assert [each["labels"] for each in found] == [8, 8, 8]
    assert [("far_us" in each) for each in found] == [False, True, True]
    model = ConditionalTreeClassifier()
    chunks = map(Chunk, labels)
    hits = [
        model.progressive_fit(each.features, each.labels).top[:, 0] == each.labels
        for each in chunks
    ]
    expected = np.concatenate(hits).reshape(3, 100).mean(axis=1)
    assert [each["accuracy"] for each in found] == expected.tolist()
    assert found[0]["new_share"] == 0.08
    assert all(each["cpu_s"] > 0 and each["resident_mb"] > 1 for each in found)


def test_the_growth_that_is_told_is_of_four_windows_each_and_says_when_tables_were_full(work):
    from scale_sections.report import filled, grown

    def window(labels, cpu_s, lines):
        sizes = {"examples": labels, "labels": labels, "n_rows": 1_000, "lines": lines}
        return sizes | {"cpu_s": cpu_s, "load": 1.0}

    windows = [window(10_000, 9.0, 104_000)]  # the first rows make most lines
    windows += [window(64_000 + i, 0.01, 108_000 + 4_000 * i) for i in range(4)]
    windows += [window(500_000 + i, 0.015, 124_000 + 4_000 * i) for i in range(4)]
    assert filled(windows) is None
    said = grown(windows)
    assert "to 500,003 the processor's time per row grew 1.50 times, from 10.0 to 15.0" in said
    assert "full" not in said
    assert grown(windows[:-1]) is None
    windows += [window(600_000 + i, 0.025, 137_000 + i) for i in range(4)]
    assert filled(windows) == 9
    said = grown(windows)
    assert "grew 1.50 times" in said
    assert "then the tables were full, and to 600,003" in said
    assert "grew 2.50 times, from 10.0 to 25.0" in said


def test_a_line_of_a_file_list_names_the_first_package(work):
    from scale_sections.debian_files import listed, parts

    lines = ["usr/bin/two words   utils/a,admin/b\n", "etc/x  net/c\n", "FILE\n"]
    assert list(listed(iter(lines))) == [("a", "usr/bin/two words"), ("c", "etc/x")]
    known = {"/usr", "/usr/lib", "0:usr", "1:lib", "f:libA2.so", "e:so"}
    words = {"w:usr", "w:lib", "w:a", "w:2", "w:so"}
    assert parts("usr/lib/libA2.so") == sorted(known | words)


def test_debian_rows_are_written_once_in_a_fixed_order(work, tmp_path, monkeypatch):
    from scale_sections import debian_files, streams

    lines = [f"usr/{i}  s/p{i % 7}\n" for i in range(60)]
    monkeypatch.setattr(debian_files, "_fetched", lambda folder: [Path("one"), Path("two")])
    monkeypatch.setattr(debian_files, "_text", lambda path: iter(lines))
    text = debian_files.rows_file(tmp_path).read_text()
    assert sorted(text.splitlines()) == sorted(f"p{i % 7}\tusr/{i}" for i in range(60))
    assert text.splitlines() != sorted(text.splitlines())
    monkeypatch.setattr(debian_files, "_text", lambda path: iter(()))
    assert debian_files.rows_file(tmp_path).read_text() == text
    (chunk,) = streams.Stream("debian", tmp_path / "debian.tsv").chunks(10)
    assert chunk.labels.tolist() == [line.split("\t")[0] for line in text.splitlines()[:10]]
    assert np.diff(chunk.features.indptr).tolist() == [5] * 10  # /usr 0:usr f:i w:usr w:i


def test_without_apt_the_file_lists_are_left_out_with_a_sentence(run, work, monkeypatch):
    from scale_sections import debian_files

    monkeypatch.setattr(debian_files.shutil, "which", lambda name: None)
    path = str(work / "no-apt.jsonl")
    run("--only", "debian", "--data", str(work / "nothing"), "--measured", path)
    assert "left out: there is no apt-get" in Path(path).read_text()


def test_only_python_is_unpacked_and_nothing_outside(work, tmp_path, monkeypatch):
    from scale_sections import packages

    wheel = tmp_path / "wheels" / "Some.Thing-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("some/a.py", "some/b.pyi", "some/c.so", "../outside.py"):
            archive.writestr(name, "x = 1\n")
    monkeypatch.setattr(packages, "requirements", lambda: ["some-thing==1.0", "absent==2"])
    monkeypatch.setattr(packages, "_downloaded", lambda *_: None)
    source, refused = packages.source_folder(tmp_path)
    files = [path.relative_to(source) for path in source.rglob("*.py")]
    assert files == [Path("some-thing-1.0/some/a.py")]
    assert refused == ["absent==2"]
    assert not list(tmp_path.rglob("outside.py"))
    wheel.unlink()
    assert packages.source_folder(tmp_path) == (source, refused)  # what is there is not asked for


def test_every_package_has_a_name_and_one_version(work):
    from scale_sections.packages import requirements

    named = requirements()
    assert len(named) > 200
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+", each) for each in named)
    assert len({each.split("==")[0].lower() for each in named}) == len(named)


def test_what_was_stopped_is_not_tried_with_more_rows(work, tmp_path, monkeypatch):
    from harness.benchmark import Options
    from scale_sections import measurements, peers_on_prefix

    asked = []

    def slow(file):
        asked.append(file.n_examples)
        raise RuntimeError("program failed: stopped after 900 seconds of the processor")

    class Rows:
        features = csr_array(np.eye(3, dtype=np.float32))
        labels = np.array(["a", "b", "a"], object)
        n_rows = 3

    monkeypatch.setattr(peers_on_prefix, "PREFIXES", (100, 200))
    monkeypatch.setattr(peers_on_prefix, "ours", slow)
    own = types.SimpleNamespace(measured=tmp_path / "x.jsonl")
    options = Options(with_peers=False, own=own)
    peers_on_prefix.run("made", lambda limit: iter([Rows()]), options)
    assert asked == [3]
    (record,) = measurements.read(own.measured, section="made-prefix")
    assert record["left_out"] == "stopped after 900 seconds of the processor"


@pytest.mark.thorough
def test_a_program_is_stopped_after_its_seconds(work):
    from harness.processes import run_measured

    with pytest.raises(RuntimeError, match="stopped after 1 seconds of the processor"):
        run_measured([sys.executable, "-c", "while True: pass"], 1)


@pytest.mark.parametrize("wrong", [["--limit", "5"], ["--only", "nothing"], ["--only", "debian"]])
def test_wrong_calls_are_refused(run, wrong):
    with pytest.raises(SystemExit, match="2"):
        run(*wrong)
