"""Two threads against one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import vstack

from online_sections import our_runs
from online_sections.markdown import notes, number, table
from online_sections.queries import N_ROWS, best_of

if TYPE_CHECKING:
    from online_sections.options import Options


def section(options: Options) -> str:
    """Return what two threads gain at answering, if the estimator can use them."""
    model, rest = our_runs.learned_head("shuffled", options.short)
    title = "### Threads\n"
    if "n_jobs" not in model.get_params():
        return f"{title}\n{type(model).__name__} has no `n_jobs`: nothing to compare.\n"
    X = vstack([features for features, _ in rest], format="csr")[:N_ROWS]
    y = np.concatenate([labels for _, labels in rest])[:N_ROWS]
    asked = {
        "`predict_label_proba`": lambda: model.predict_label_proba(X, y),
        "exact top 1": lambda: model.predict_top_k(X, 1),
        "exact top 5": lambda: model.predict_top_k(X, 5),
    }
    rows = []
    for name, ask in asked.items():
        seconds = []
        for n_jobs in (1, 2):
            model.set_params(n_jobs=n_jobs)
            seconds.append(best_of(ask))
        rates = [number(len(y) / each, 0) for each in seconds]
        rows.append([name, *rates, number(seconds[0] / seconds[1], 2)])
    header = ["question", "1 thread, rows/s", "2 threads, rows/s", "times as fast"]
    said = f"{len(y):,} rows, {len(model.classes_):,} labels, best of 3."
    return "\n".join([title, table(header, rows), "", notes(said), ""])
