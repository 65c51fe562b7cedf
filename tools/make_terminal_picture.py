"""Draw a run of `labeltrees demo` as an animated picture for the README and the site's first page.

``python tools/make_terminal_picture.py`` runs the demo and writes docs/images/demo.svg; with
``--output FILE`` it draws what an earlier run printed into a file. Lines appear faster than they
did; nothing in them is changed, and those about sizes and settings are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs/images/demo.svg"
COMMAND = ["demo"]
CHARACTER, LINE, LEFT, TOP = 7.25, 16.5, 16.0, 46.0
COLUMNS = 92
EIGHTHS = {"▏": 1, "▎": 2, "▍": 3, "▌": 4, "▋": 5, "▊": 6, "▉": 7, "█": 8}
STYLE = """
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
text{fill:#c9d1d9;white-space:pre}
.b{fill:#2aa397}.p{fill:#e3a54a}.h{fill:#8b949e}.o{fill:#7ee0d5}
g{animation:a .1s .2s}@keyframes a{0%,90%{opacity:0}to{opacity:1}}
@media(prefers-reduced-motion:reduce){g{animation:none}}
"""


def shown(output: str) -> list[str]:
    """Return the lines that are drawn: the learning curve, the comparison, the completions."""
    lines = [line.rstrip() for line in output.splitlines()]
    table = next(i for i, line in enumerate(lines) if line.startswith("  over the last"))
    asked = next(i for i, line in enumerate(lines) if line.startswith("What comes next"))
    saved = next(i for i, line in enumerate(lines) if line.startswith("Saved to"))
    comparison = [line for line in lines[table:] if line][:7]
    completions = [line for line in lines[asked:saved] if line]
    return [*lines[:table], *comparison, "", *completions]


def run_of_text(words: str, column: int, y: float, kind: str) -> str:
    """Return one run of text, as wide as its characters are whatever the font."""
    x = LEFT + CHARACTER * column
    width = CHARACTER * len(words)
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" textLength="{width:.1f}"{style}>{escape(words)}</text>'


def fitting(line: str) -> str:
    """Return as much of a line as fits, without cutting an answer."""
    return line if len(line) <= COLUMNS else line[: COLUMNS + 1].rpartition("  ")[0].rstrip()


def drawn_line(line: str, y: float) -> str:
    """Return a line: words where they stand, bars as rectangles."""
    parts = []
    for found in re.finditer(r"[█-▏]+|\S+(?: \S+)*", fitting(line)):
        words, column = found[0], found.start()
        if words[0] in EIGHTHS:
            width = CHARACTER * sum(EIGHTHS[each] for each in words) / 8
            x, top = LEFT + CHARACTER * column, y - 9.5
            parts.append(
                f'<rect class="b" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="11"/>'
            )
        else:
            parts.append(run_of_text(words, column, y, kind_of(line, words, column)))
    return "".join(parts)


def kind_of(line: str, words: str, column: int) -> str:
    """Return how words are coloured: commands, headings and rules, answers."""
    if line.startswith("$"):
        return "p"
    if set(words) == {"-"} or re.match(r" +(examples|accuracy)\b", line):
        return "h"
    if line.startswith("  conditional") or ("…" in line and column > 10):
        return "o"
    return ""


def delays(lines: list[str]) -> list[float]:
    """Return when each line appears, in seconds."""
    now, found = 0.1, []
    for line in lines:
        found.append(now)
        now += 0.5 if line.startswith("$") else 0.2 if "█" in line else 0.4 if "…" in line else 0.1
    return found


def picture(lines: list[str]) -> str:
    """Return the lines as an SVG whose lines appear one after the other.

    All lines are visible until the animation starts, so a picture that does not play is complete.
    Each line is then hidden for the time after which it appears.
    """
    width, height = 2 * LEFT + CHARACTER * COLUMNS, TOP + LINE * len(lines) + 4
    body = [
        f'<g style="animation-duration:{delay:.2f}s">{drawn_line(line, TOP + LINE * i)}</g>'
        for i, (line, delay) in enumerate(zip(lines, delays(lines), strict=True))
        if line
    ]
    dots = "".join(
        f'<circle cx="{18 + 18 * i}" cy="17" r="5.5" fill="{colour}"/>'
        for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        'role="img"><title>labeltrees demo in a terminal: it learns 1.5 million examples, then '
        "completes code</title>"
        f"<style>{STYLE.strip()}</style>"
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="9" fill="#161b22"/>{dots}'
        + "\n".join(body)
        + "</svg>\n"
    )


def main() -> None:
    """Run the demo, or read what one has printed, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="what a run has printed; by default it is run")
    given = parser.parse_args()
    if given.output is not None:
        output = given.output.read_text(encoding="utf-8")
    else:
        command = [sys.executable, "-m", "labeltrees", *COMMAND]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [f"$ labeltrees {' '.join(COMMAND)}", *shown(output)]
    PICTURE.write_text(picture(lines), encoding="utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes, {len(lines)} lines")


if __name__ == "__main__":
    main()
