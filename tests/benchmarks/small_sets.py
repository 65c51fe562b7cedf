"""Small data sets in the forms that benchmarks read, and the cells of what they print."""

from __future__ import annotations

import gzip

import numpy as np


def write_xc(folder, rng, n_labels=6, n_rows=(150, 60)):
    """Rows whose features name their labels, but for a tenth of the rows."""
    folder.mkdir()
    for name, n in zip(("train", "test"), n_rows, strict=True):
        lines = [f"{n} {5 * n_labels} {n_labels}"]
        for _ in range(n):
            labels = np.unique(rng.integers(n_labels, size=2))
            named = labels if rng.random() < 0.9 else rng.integers(n_labels, size=len(labels))
            features = np.unique(5 * named + rng.integers(5, size=len(labels)))
            words = " ".join(f"{each}:1" for each in features)
            lines.append(",".join(map(str, labels)) + " " + words)
        with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")


def write_films(folder, rng):
    """Users like films of one kind each."""
    folder.mkdir()
    kinds = ["Drama", "Comedy", "Western"]
    with gzip.open(folder / "movies.csv.gz", "wt") as file:
        file.write("movieId,title,genres\n")
        file.writelines(f'{i},"Film, {i}",{kinds[i % 3]}\n' for i in range(90))
    with gzip.open(folder / "tags.csv.gz", "wt") as file:
        file.write("userId,movieId,tag,timestamp\n1,3,slow,0\n")
    with gzip.open(folder / "ratings.csv.gz", "wt") as file:
        file.write("userId,movieId,rating,timestamp\n")
        for i in range(90):
            users = [3 * each + i % 3 + 1 for each in rng.permutation(20)[:4]]
            file.writelines(f"{user},{i},{rng.integers(1, 6)}.0,0\n" for user in users)
        file.writelines(f"{user},0,1.0,0\n" for user in range(1, 61))


def cells(said, start):
    """The cells of the table's row that starts so."""
    (line,) = (each for each in said.splitlines() if each.startswith(f"| {start} |"))
    return [each.strip() for each in line.strip("|").split("|")][1:]
