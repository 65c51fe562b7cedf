"""The contestants of the calibration benchmark, and their settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from batch_sections.contestants import MOST_LABELS_NAMED
from calibration_sections.data_sets import STREAM
from harness.benchmark import Options
from harness.contestants import settings_of
from harness.data_sets import Split
from multilabel_sections.contestants import (
    BATCH,
    MOST_ONE_AGAINST_ALL,
    OURS,
    OURS_IN_PASSES,
    Contestant,
    chosen_rate,
    measured,
)
from multilabel_sections.vw import Answers

TREE = Contestant(
    "labeltrees, `ConditionalTreeClassifier`",
    "labeltrees_program",
    settings_of("ConditionalTreeClassifier", passes=1),
)
OUR_BATCH = (
    BATCH,
    replace(
        BATCH,
        name="labeltrees, `ExtremeRegressor`, `calibrate=False`",
        settings=settings_of("ExtremeRegressor", mapped=True, calibrate=False),
    ),
)
OUR_ONLINE = (
    replace(OURS, name="labeltrees, `MultiLabelTreeClassifier`, one pass"),
    replace(OURS_IN_PASSES, name="labeltrees, `MultiLabelTreeClassifier`, 3 passes"),
)

#: The rates that `online_multilabel.py` chose on held-out training rows. The stream of single
#: identifiers uses the rates of the stream of sets.
CHOSEN = {
    "OPLT": {"bibtex": 1.0, "delicious": 0.3, "yso-en": 3.0, STREAM: 3.0},
    "--plt": {"bibtex": 2.0, "delicious": 2.0, "yso-en": 2.0, STREAM: 2.0},
    "--multilabel_oaa": {"bibtex": 2.0, "delicious": 0.5},
}
FASTTEXT_RATES = (0.1, 0.3, 1.0)


def _omikuji(loss: str) -> Contestant:
    settings = json.dumps({"loss": loss, "n_trees": 3})
    return Contestant(f"Omikuji, {loss} loss, 3 trees", "omikuji_program", settings, "omikuji")


def _vw(kind: str, name: str) -> Contestant:
    settings = json.dumps({"kind": kind, "given": []})
    return Contestant(f"VW `--{kind}`", "vw", settings, "vw", rates=(CHOSEN[f"--{kind}"][name],))


def taking_part(split: Split, name: str, options: Options) -> list[Contestant]:
    """Return the contestants of a set; of a quick run only one."""
    tree = (TREE,) if name == STREAM else ()
    if options.quick:
        return [*(tree or (BATCH,))]
    all_peers = peers(split, name) if options.with_peers else []
    words = options.own.learners or ("",)
    everybody = [*OUR_BATCH, *OUR_ONLINE, *tree, *all_peers]
    return [each for each in everybody if any(word in each.name for word in words)]


def peers(split: Split, name: str) -> list[Contestant]:
    """Return the peers. One-against-all methods take part only where labels are few."""
    n_labels = split.Y.shape[1]
    some = [
        _omikuji("hinge"),
        _omikuji("log"),
        Contestant("PECOS XR-Linear", "pecos_program", peer="pecos"),
        Contestant("napkinXC PLT", "napkinxc_program", peer="napkinxc"),
        Contestant("napkinXC OPLT", "oplt_program", peer="napkinxc", rates=(CHOSEN["OPLT"][name],)),
        _vw("plt", name),
        Contestant("fastText", "fasttext_program", peer="fasttext", rates=FASTTEXT_RATES),
    ]
    if n_labels <= MOST_ONE_AGAINST_ALL and name in CHOSEN["--multilabel_oaa"]:
        some.append(_vw("multilabel_oaa", name))
    if n_labels <= MOST_LABELS_NAMED:
        some.append(Contestant("scikit-learn, one logistic regression a label", "ovr_program"))
    return some


def asked(contestant: Contestant, split: Split) -> tuple[float | None, Answers]:
    """Train once and query the top labels; return the learning rate and the predictions."""
    contestant.python()  # or raise before anything is measured
    rates = contestant.rates
    rate: Any = chosen_rate(contestant, split) if len(rates) > 1 else (*rates, None)[0]
    # VW prints probabilities only if all labels of at least one row are requested.
    return rate, measured(contestant, split, rate, 1 if contestant.program == "vw" else 0)
