"""Help, versions, and the one line that any failure gets."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_cli import write_tsv

import labeltrees
from labeltrees.cli import COMMANDS, command_named, main
from labeltrees.cli.help import paragraphs
from labeltrees.store import check_out

ROOT = Path(__file__).parents[2]


def shown(*arguments, columns=100):
    child = subprocess.run(
        [sys.executable, "-m", "labeltrees", *arguments],
        capture_output=True, text=True, check=False,
        env=os.environ | {"COLUMNS": str(columns), "NO_COLOR": "1"},
    )  # fmt: skip
    assert child.stderr == ""
    return child.returncode, child.stdout


def test_the_version_is_the_library_s(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"labeltrees {labeltrees.__version__}\n"


@pytest.mark.parametrize("columns", [40, 100])
def test_no_command_shows_the_help(columns):
    code, out = shown(columns=columns)
    assert code == 2
    assert all(command in out for command in COMMANDS)
    assert (0, out) == shown("-h", columns=columns)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_starts_with_a_sentence_and_an_example(command):
    code, out = shown(command, "--help")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"Usage: labeltrees {command} [OPTIONS]")
    assert lines[2] == COMMANDS[command]
    assert lines[4] == "Example:"
    assert lines[5].startswith(f"  labeltrees {command}")
    assert (0, out) == shown(command, "-h")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_has_every_option(command):
    code, out = shown(command, "x", "--help-all")
    assert code == 0
    for parameter in command_named(command).params:
        for typed in (*parameter.opts, *parameter.secondary_opts):
            assert typed in out if typed.startswith("-") else typed.upper() in out


def test_options_are_in_groups_and_the_command_s_own_come_first():
    code, out = shown("stream", "--help-all")
    assert code == 0
    titles = ["Arguments:", "Options:", "Input:", "Model:", "Output:", "Settings of several models"]
    places = [out.index(f"\n{title}") for title in titles]
    assert places == sorted(places)
    assert out.index("--checkpoint-every") < out.index("  --format ") < out.index("  --alpha")
    _, short = shown("stream", "--help")
    assert "--alpha" not in short
    assert "--help-all" in short


def test_help_all_after_two_dashes_is_a_file(tmp_path, capsys):
    assert main(["which", "--", "--help-all"]) == 1
    assert "No such file" in capsys.readouterr().err


RUNS_LONG = ("demo", "serve", "replay")


def test_examples_of_the_help_work(tmp_path, monkeypatch, capsys):
    intents = (ROOT / "docs/examples/intents.tsv").read_text()
    monkeypatch.chdir(tmp_path)
    for name in ("intents.tsv", "test.tsv", "events.tsv"):
        Path(name).write_text(intents)
    Path("new.txt").write_text("wake me at six\n")
    for name in COMMANDS:
        command = command_named(name)
        words = shlex.split(paragraphs(command)[1].removeprefix("Example: "))
        assert words[:2] == ["labeltrees", name]
        if name in RUNS_LONG:  # or needs a running server: reading the call is enough
            command.make_context(name, words[2:])
        else:
            assert main(words[1:]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("command", ["stream", "predict"])
def test_a_narrow_terminal_breaks_no_word(command):
    _, out = shown(command, "--help", columns=40)
    _, wide = shown(command, "--help", columns=300)
    assert max(map(len, out.splitlines())) <= 40
    assert "…" not in out
    wide_words = set(wide.replace("│", " ").split())
    options = [word for word in out.split() if word.startswith("--")]
    assert {word.rstrip(",.;:)") for word in options} <= {w.rstrip(",.;:)") for w in wide_words}


def test_a_terminal_without_unicode_is_no_failure(tmp_path):
    child = subprocess.run(
        [sys.executable, "-m", "labeltrees", "stream", write_tsv(tmp_path / "d.tsv", 0, 50)],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (child.returncode, child.stderr) == (0, "")
    assert "accuracy" in child.stdout


def test_a_missing_package_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    assert main(["stream", str(tmp_path / "d.parquet")]) == 1
    assert capsys.readouterr().err == (
        "labeltrees: Parquet files need pyarrow. Run pip install 'labeltrees[parquet]' first.\n"
    )


def test_a_failure_that_nobody_foresaw_is_one_line_too(tmp_path, monkeypatch, capsys):
    def fail(*arguments, **named):
        raise RuntimeError("the cat\nsat on it")

    monkeypatch.setattr("labeltrees.cli.commands.inspect.open_model", fail)
    assert main(["inspect", "m"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("labeltrees: RuntimeError: the cat sat on it")
    assert err.count("\n") == 1
    monkeypatch.setenv("LABELTREES_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="the cat"):
        main(["inspect", "m"])


def test_a_disk_that_is_full_at_a_checkpoint_leaves_the_last_one(tmp_path, monkeypatch, capsys):
    path, out = write_tsv(tmp_path / "d.tsv", 0, 5000), tmp_path / "m"
    flush, n_saved = labeltrees.store._flush, 0

    def full(target):
        nonlocal n_saved
        n_saved += not target.is_dir()
        if n_saved > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out))
        flush(target)

    monkeypatch.setattr("labeltrees.store._flush", full)
    line = ["stream", str(path), "-o", str(out), "--checkpoint-every", "1000", "-q"]
    assert main(line) == 1
    err = capsys.readouterr().err
    assert err == f"labeltrees: {out}: No space left on device.\n"
    assert labeltrees.store.read(out).extra["stream"]["rows"] == 1024
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.tsv", "m"]
    monkeypatch.undo()
    assert main([*line, "--resume"]) == 0
    assert labeltrees.store.read(out).extra["stream"]["rows"] == 5000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=r"the folder .* cannot be written"):
        check_out(tmp_path / "m")
    tmp_path.chmod(0o700)


def test_a_place_that_can_be_written_stays_as_it_was(tmp_path):
    (tmp_path / "m").write_text("old")
    check_out(tmp_path / "m")
    check_out(tmp_path / "new")
    check_out(None)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("m", "old")]


WRONG = {
    "order": (["stream", "stdlib", "--format", "python", "--order", "x"], 2, "--order must be"),
    "structure": (
        ["stream", "d.tsv", "--structure", "kmeans"],
        2,
        "--structure 'kmeans' needs all",
    ),
    "folder as data": (["stream", ".", "--format", "tsv"], 1, ".: Is a directory."),
    "demo out": (
        ["demo", "--out", "nowhere/m", "--limit", "10"],
        1,
        "--out nowhere/m: the folder nowhere does not exist",
    ),
    "dot": (["inspect", "m", "--dot", "nowhere/x"], 1, "nowhere/x: No such file or directory."),
    "surrogate": (["stream", "\udcff.tsv"], 1, ".tsv"),
    "long name": (["stream", "d.tsv", "-o", "x" * 300], 1, "--out"),
    "jobs": (["stream", "d.tsv", "--jobs", "0"], 2, "--jobs must be"),
    "rate": (["stream", "d.tsv", "--learning-rate", "nan"], 2, "--learning-rate must be"),
    "limit": (["stream", "d.tsv", "--limit", "0"], 2, "--limit"),
    "seed": (["stream", "d.tsv", "--seed", "-1"], 2, "--seed"),
    "empty name": (["stream", ""], 1, "No such file"),
    "model as data": (["stream", "m", "--format", "tsv"], 1, "m:1: "),
    "data as model": (["predict", "d.tsv", "d.tsv"], 1, "is not a model file"),
    "swapped": (["explain", "d.tsv", "m"], 1, "is not a model file"),
    "text twice": (["explain", "m", "d.tsv", "--text", "x"], 2, "not both"),
    "nothing to explain": (["explain", "m"], 2, "--text"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_one_line_and_the_right_code(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_tsv(tmp_path / "d.tsv", 0, 50)
    assert main(["stream", "d.tsv", "-o", "m", "-q"]) == 0
    capsys.readouterr()
    arguments, code, message = WRONG[case]
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("labeltrees: ")
    assert err.count("\n") == 1
    assert "should have been a better message" not in err
