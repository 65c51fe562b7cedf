"""Clusters on this machine that end with their tests, and small data for them."""

from __future__ import annotations

import hashlib
import logging
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from distributed import Client, LocalCluster
from scipy import sparse


@contextmanager
def cluster_of(n_workers, folder, *, processes):
    """Yield the client of so many workers of one thread each."""
    how = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    how |= {"local_directory": str(folder), "processes": processes, "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **how) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")  # closed before anything else computes on a cluster
def client(tmp_path_factory):
    """A scheduler and two workers in threads of this process: real but for the processes."""
    folder = tmp_path_factory.mktemp("threads")
    with cluster_of(2, folder, processes=False) as client:
        yield client


def digest(estimator, folder):
    path = folder / "model"
    estimator.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rows(n_rows=240, seed=1):
    """Return sparse rows, some of them empty, with names of labels, a few rows having none."""
    random = np.random.default_rng(seed)
    X = sparse.random(n_rows, 60, density=0.08, format="csr", random_state=seed, dtype=np.float32)
    kinds = np.asarray(X.argmax(axis=1)).ravel() % 40
    y = [[f"label {(kind + step) % 40}" for step in range(random.integers(0, 4))] for kind in kinds]
    return sparse.csr_array(X), y


def cut(data, n_parts):
    """Return the data in consecutive parts of different sizes."""
    n_rows = data.shape[0] if hasattr(data, "shape") else len(data)
    ends = np.linspace(0, 1, n_parts + 1) ** 1.5 * n_rows
    edges = ends.round().astype(int)
    return [data[a:b] for a, b in pairwise(edges)]
