"""Streams as processes: rows of a pipe at once, signals, silent and closed pipes, kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests import children
from tests.cli.test_cli import write_tsv

import labeltrees
from labeltrees import store
from labeltrees.cli import main

PATIENCE = 60  # seconds, for a busy machine; nothing is measured


class Process:
    """A command with pipes on all sides; what it says on stderr must come soon."""

    def __init__(self, *arguments, **options):
        self.child = children.Child(children.CLI, *arguments, **options)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.child.kill()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.child.wait()

    def ask(self, line):
        self.child.stdin.write(line)
        self.child.stdin.flush()
        return self.child.stdout.readline()

    def end(self):
        """Return the exit code and what was said on stderr, while stdin stays open."""
        code = self.child.wait(PATIENCE)
        return code, self.child.stderr.read().decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_silent_stream_that_saves_and_reports(number, tmp_path):
    out = tmp_path / "m"
    options = ["--format", "tsv", "-o", out, "--predictions", "-"]
    with Process("stream", "-", *options) as process:
        assert process.ask(b"fruit\tan apple\n") == b"fruit\t0\n"
        assert process.ask(b"tool\ta saw\n") == b"tool\t0\tfruit\t1\n"
        process.child.send_signal(number)
        process.child.send_signal(number)  # as a terminal and a parent do
        code, err = process.end()
    assert code == 128 + number
    assert "examples" in err
    assert "after 2 rows of -" in err
    assert "Fatal" not in err
    assert "Traceback" not in err
    assert set(labeltrees.load(out).classes_) == {"fruit", "tool"}
    assert store.read(out).extra["stream"]["rows"] == 2


def test_a_signal_ends_a_busy_stream_after_a_whole_row(tmp_path):
    path, out, found = tmp_path / "d.tsv", tmp_path / "m", tmp_path / "found"
    write_tsv(path, 0, 20_000)
    # Several likeliest labels: one row after the other, slow enough to be interrupted.
    options = ["-o", out, "--predictions", found, "--predictions-top", "2"]
    with Process("stream", path, *options) as process:
        wait_for(lambda: found.exists() and found.stat().st_size > 0, process)
        process.child.send_signal(signal.SIGTERM)
        code, err = process.end()
    assert code == 143
    assert err == ""  # the report is on stdout
    n_rows = store.read(out).extra["stream"]["rows"]
    assert 0 < n_rows < 20_000
    assert found.read_bytes().count(b"\n") == n_rows


def wait_for(is_there, process):
    end = time.monotonic() + PATIENCE
    while not is_there():
        assert process.child.poll() is None, "it ended too early"
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_stream_killed_at_a_checkpoint_goes_on_to_the_same_file(tmp_path):
    path, out, found = tmp_path / "d.tsv", tmp_path / "m", tmp_path / "found.jsonl"
    write_tsv(path, 0, 8000)
    command = ["stream", path, "-o", out, "--checkpoint-every", "1000", "--resume"]
    command += ["--predictions", found, "--predictions-top", "2", "--quiet"]
    with Process(*command) as process:
        wait_for(out.exists, process)
        process.child.kill()
        assert process.end()[0] == -signal.SIGKILL
    n_rows = store.read(out).extra["stream"]["rows"]
    assert n_rows % 64 == 0
    assert 0 < n_rows < 8000
    assert main([*map(str, command)]) == 0
    once = [str(tmp_path / "once") if word == out else word for word in command]
    once = [str(tmp_path / "once.jsonl") if word == found else word for word in once]
    assert main([*map(str, once)]) == 0
    assert out.read_bytes() == (tmp_path / "once").read_bytes()
    assert found.read_bytes() == (tmp_path / "once.jsonl").read_bytes()


def test_a_closed_stdout_ends_a_stream_quietly(tmp_path):
    path, out = write_tsv(tmp_path / "d.tsv", 0, 30_000), tmp_path / "m"
    with Process("stream", path, "--predictions", "-", "-o", out) as process:
        assert process.child.stdout.readline() == path.read_bytes().split(b"\t")[0] + b"\t0\n"
        process.child.stdout.close()
        assert process.end() == (0, "")
    assert store.read(out).extra["stream"]["rows"] > 0


def test_a_log_has_a_line_now_and_then_and_checkpoints_need_no_rows(tmp_path):
    out = tmp_path / "m"
    options = ["-o", out, "--heartbeat", "0.2", "--checkpoint-every", "0.2s", "--predictions", "-"]
    with Process("stream", "-", "--format", "tsv", *options) as process:
        process.ask(b"fruit\tan apple\n")
        while "streaming: 1 rows, 1 labels" not in process.child.stderr.readline().decode():
            assert process.child.poll() is None
        wait_for(out.exists, process)
        process.child.stdin.close()
        code, _ = process.end()
        process.child.stdin = None
    assert code == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_stdout_is_one_line(tmp_path):
    path = write_tsv(tmp_path / "d.tsv", 0, 100)
    with open("/dev/full", "wb") as full, Process("stream", path, stdout=full) as process:
        code, err = process.end()
    assert code == 1
    assert err.count("\n") == 1
    assert "No space left on device" in err


@pytest.mark.parametrize("command", ["stream", "train"])
def test_a_full_disk_leaves_the_old_model(command, tmp_path):
    """RLIMIT_FSIZE stands for it: writing beyond fails in the middle of the file."""
    out = tmp_path / "m"
    small, large = write_tsv(tmp_path / "s.tsv", 0, 20), write_tsv(tmp_path / "l.tsv", 0, 3000)
    assert main(["train", str(small), "-o", str(out)]) == 0
    before = out.read_bytes()
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000));"
        "from labeltrees.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    code, _, err = children.run(limited, command, large, "-o", out, "--quiet", timeout=PATIENCE)
    assert code == 1
    assert err.count("\n") == 1
    assert "could not be written" in err
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.tsv", "m", "s.tsv"]


GENERATOR = """
import sys, numpy as np
rng = np.random.default_rng(0)
features = np.sort(rng.integers(1, 2**30, (2000, 60)), axis=1)
for block in range(int(sys.argv[1])):
    features = np.sort((features + rng.integers(1, 2**29, (2000, 1))) % 2**30, axis=1) + 1
    labels = rng.integers(500, size=2000)
    lines = (
        f"{label} |f " + " ".join(map(str, row))
        for label, row in zip(labels.tolist(), features.tolist())
    )
    sys.stdout.write("\\n".join(lines) + "\\n")
"""


def test_memory_does_not_grow_with_the_stream(tmp_path):
    """Every feature is new, the worst that can come; the weights have 32 MB."""
    options = ["--format", "vw", "--max-memory", "32MB", "--heartbeat", "0.3"]
    writer = subprocess.Popen([sys.executable, "-c", GENERATOR, "24"], stdout=subprocess.PIPE)
    command = [sys.executable, "-m", "labeltrees", "stream", "-", *options, "--json"]
    with writer:
        child = subprocess.run(command, stdin=writer.stdout, capture_output=True, check=False)
    assert child.returncode == 0
    assert json.loads(child.stdout)["n_rows"] == 48_000  # some 30 MB of text
    beats = child.stderr.decode().splitlines()
    sizes = [float(line.split(", ")[-1].split()[0].replace(",", "")) for line in beats]
    early = sizes[len(sizes) // 3]
    assert max(sizes) < early + 24
