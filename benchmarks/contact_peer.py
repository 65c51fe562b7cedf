"""Runs one program of `contact_sections/` in the environment of its peer.

    python contact_peer.py PROGRAM train FILE MODEL SETTINGS
    python contact_peer.py PROGRAM predict FILE MODEL SETTINGS OUT

FILE is a person's file, MODEL a folder, SETTINGS are JSON. Training prints JSON in its last line:
what it chose, and the seconds of tuning. OUT gets a JSON line for each row.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from contact_sections import person_files


def main() -> None:
    name, action, file, model, settings, *out = sys.argv[1:]
    program = importlib.import_module(f"contact_sections.{name}_program")
    rows, given = person_files.read(Path(file)), json.loads(settings)
    if action == "train":
        # A careful person shuffles first, so that the order of the file harms no peer.
        print(json.dumps(program.train(rows.shuffled(), Path(model), given)))
        return
    with open(out[0], "w", encoding="utf-8") as answers:
        for answer in program.predict(rows, Path(model), given):
            answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
