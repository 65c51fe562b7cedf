"""Progress shows on a terminal, on stderr only, and never fails the command it reports on."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from labeltrees.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def attach(screen: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called by the test itself: between set-up and test pytest replaces stderr once more."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    return screen


def test_a_terminal_shows_rows_and_values(monkeypatch, capsys) -> None:
    terminal = attach(Terminal(), monkeypatch)
    with Progress("learning [all]", total=20_000) as progress:
        progress.advance(4_000, loss=0.123456, labels=1234)
        progress.advance(1_000)
        progress._next_show = 0
        progress.advance(5_000, loss=0.5, source="a.txt")
        sys.stdout.write("a result\n")
    shown = terminal.getvalue()
    for text in ("learning [all]", "10,000", "/s", "loss 0.5", "labels 1,234"):
        assert text in shown
    assert "a result" not in shown
    assert capsys.readouterr().out == "a result\n"


def test_an_unknown_total_works(monkeypatch) -> None:
    terminal = attach(Terminal(), monkeypatch)
    with Progress("reading") as progress:
        progress.advance(7)
    assert " 7 " in terminal.getvalue()


def test_no_terminal_no_output(capfd) -> None:
    with Progress("learning", total=10) as progress:
        progress.advance(10, loss=1.0)
    assert capfd.readouterr() == ("", "")


def test_disabled_is_silent_on_a_terminal(monkeypatch) -> None:
    terminal = attach(Terminal(), monkeypatch)
    with Progress("learning", total=10, enabled=False) as progress:
        progress.advance(10)
    assert terminal.getvalue() == ""


def test_errors_pass_through_and_the_bar_is_closed(monkeypatch) -> None:
    attach(Terminal(), monkeypatch)
    with pytest.raises(KeyError), Progress("learning") as progress:
        raise KeyError("a")
    progress.advance(1)  # after the end: nothing


@pytest.mark.parametrize("n_writes", [0, 1, 3])
def test_a_failing_terminal_is_only_silence(monkeypatch, n_writes: int) -> None:
    class Broken(Terminal):
        left = n_writes

        def write(self, text: str) -> int:
            self.left -= 1
            if self.left < 0:
                raise OSError("gone")
            return len(text)

    attach(Broken(), monkeypatch)
    with Progress("learning", total=2) as progress:
        progress._next_show = 0
        progress.advance(1)
        progress._next_show = 0
        progress.advance(1)


@pytest.mark.parametrize("stderr", [None, "no file"])
def test_no_stderr_at_all(monkeypatch, stderr) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    with Progress("learning") as progress:
        progress.advance(1)


def test_rich_is_imported_only_when_shown() -> None:
    code = (
        "import sys, labeltrees.progress as p\n"
        "with p.Progress('x') as bar: bar.advance(1)\n"
        "assert not any(name.split('.')[0] == 'rich' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.PIPE)
