"""Train one model on one stream. Usage: KIND SOURCE LIMIT WINDOW SETTINGS RESULTS.

The process's memory is then the model's and the reader's. RESULTS gets a line per window.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from labeltrees import ConditionalTreeClassifier
from scale_sections import growing, streams


def main() -> None:
    kind, source, limit, window, settings, out = sys.argv[1:]
    stream = streams.Stream(kind, Path(source))
    model = ConditionalTreeClassifier(**json.loads(settings))
    record = streams.recorder(kind, Path(out))
    growing.grow(stream.chunks(int(limit)), model, record, int(window))


if __name__ == "__main__":
    main()
