"""One record is all that a method needs: it is trained, saved, loaded, served and documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from pathlib import Path

from docs.site.reference import methods_table
from tests.contract.toy_method import TOY
from tests.serve.conftest import serving

import labeltrees
from labeltrees.cli import main
from labeltrees.client import Client
from labeltrees.serve.learning.folder import ModelFolder
from labeltrees import store
from labeltrees.models.registry import register

register(TOY)
folder = Path(sys.argv[1])
rows = [("a", 1), ("b", 2), ("b", 2)] * 20
data = folder / "rows.svm"
data.write_text("".join(f"{len(label) + place} {place}:1\\n" for label, place in rows))
train = ["train", str(data), "--model", "toy", "--quiet", "--out"]
assert main([*train, str(folder / "m"), "--fast"]) == 0
assert main([*train, str(folder / "m4"), "--toy-size", "4"]) == 0
assert main([*train, str(folder / "no"), "--toy-size", "12"]) == 2
assert main([*train, str(folder / "o"), "--online"]) == 0
assert main(["stream", str(data), "--model", "toy", "--out", str(folder / "s"), "-q"]) == 0
assert main(["train", "--help-all"]) == 0
loaded = labeltrees.load(folder / "m")
assert type(loaded).__name__ == "ToyClassifier" and loaded.toy_size == 1
assert labeltrees.load(folder / "m4").model_.settings.toy_size == 4
assert loaded.predict([[0, 1, 0]]).tolist() == [2]
assert type(labeltrees.load_model(folder / "s")).__name__ == "ToyModel"
home = ModelFolder(folder / "served")
home.add("toy", store.read(folder / "o"))
with serving(home) as (address, _), Client(address) as client:
    client.send("PUT", "/v1/models/new", {"learns": "features", "method": "toy"})
    client.model("new").learn([{"features": {"x": 1.0}, "label": "one"}])
    toy = client.model("toy")
    toy.learn([{"features": [[9, 1.0]], "label": 9}])
    (answer,) = toy.predict([{"features": [[9, 1.0]]}], k=1).rows
    assert answer.labels == [9], answer
assert "| `toy` | a toy table | one | yes | `ToyClassifier` |" in methods_table()
"""


def test_a_method_is_registered_by_its_record_alone(tmp_path):
    root = Path(__file__).parents[2]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Chosen: a toy table, because" in done.stdout
    assert "--toy-size must be an integer in [1, 9], got 12." in done.stderr
    assert "Settings of --model toy" in done.stdout
    assert "How large the toy is." in done.stdout
