"""Acknowledged examples survive a killed server, a full disk, and a disk that does not flush.

After every crash each acknowledged example is in the log under its number, none is in it twice,
and the recovered model has the same tensors as a clean run over the log.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from tests.serve.process import Process, Writer, example_of, load

from labeltrees.client import Client
from labeltrees.serve.learning.folder import ModelFolder, replay
from labeltrees.serve.learning.log import FIRST_LINK
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.wire import NewModel

OFTEN = ("--snapshot-examples", 40, "--snapshot-seconds", 0.3)
N_WRITERS = 8


@pytest.fixture
def folder(tmp_path):
    return with_model(tmp_path / "served")


def with_model(path, method="conditional"):
    made = ModelFolder(path)
    made.add("m", new_model(NewModel("features", method=method)))
    made.close()
    return path


class CleanRun:
    """A model that learns the whole log without a crash."""

    def __init__(self, method="conditional"):
        self.served = ServedModel("m", new_model(NewModel("features", method=method)))

    def check(self, folder, writers):
        """Check the folder of a killed server; return the number of examples."""
        opened = ModelFolder(folder)
        try:
            after, link = self.served.seq, self.served.link
            replay(self.served, opened.log.examples(opened.ids["m"], after=after, link=link))
            recovered = opened.models["m"]
            assert recovered.seq == self.served.seq
            assert recovered.link == self.served.link
            clean, found = (m.model.stored().checksums() for m in (self.served, recovered))
            assert found == clean
            check_log(opened, writers)
            return recovered.seq
        finally:
            opened.close()


def check_log(opened, writers):
    logged = opened.log.examples(opened.ids["m"], after=0, link=FIRST_LINK)
    kept = {each.seq: example_of(each) for each in logged}
    acknowledged = {}
    for writer in writers:
        assert not acknowledged.keys() & writer.acknowledged.keys()
        acknowledged |= writer.acknowledged
    for seq, example in acknowledged.items():
        assert kept[seq] == example
    ids = [next(iter(example["features"])) for example in kept.values()]
    assert len(set(ids)) == len(ids)


def crash_again_and_again(folder, n_crashes, seed, method="conditional"):
    moments = random.Random(seed)
    several = method == "multilabel"
    writers = [Writer(number, seed, several=several) for number in range(N_WRITERS)]
    clean = CleanRun(method)
    n_examples = 0
    for _ in range(n_crashes):
        process = Process(folder, *OFTEN)
        load(process.url, writers, moments.uniform(0.02, 1.0), process.kill)
        n_now = clean.check(folder, writers)
        assert n_now >= n_examples
        n_examples = n_now
    again = CleanRun(method)
    again.check(folder, writers)  # the whole log again, in other batches
    return n_examples


def test_a_killed_server_loses_no_example_and_learns_none_twice(folder):
    assert crash_again_and_again(folder, n_crashes=3, seed=0) > 0


def test_a_killed_server_loses_no_example_of_a_multi_label_model(tmp_path):
    folder = with_model(tmp_path / "served", "multilabel")
    assert crash_again_and_again(folder, n_crashes=2, seed=5, method="multilabel") > 0


@pytest.mark.thorough
def test_two_hundred_crashes(folder):
    n_examples = crash_again_and_again(folder, n_crashes=200, seed=1)
    assert n_examples > 1000


def test_sigterm_finishes_requests_and_writes_a_final_snapshot(folder):
    writers = [Writer(number, 2) for number in range(2)]
    process = Process(folder)
    load(process.url, writers, 0.4, process.terminate)
    assert process.child.returncode == 0
    process.kill()
    opened = ModelFolder(folder)
    newest = opened.snapshots("m").seqs()[0]
    assert newest == opened.models["m"].seq == max(
        seq for writer in writers for seq in writer.acknowledged
    )  # fmt: skip
    opened.close()


@contextmanager
def small_disk(path, megabytes):
    path.mkdir()
    size = f"size={megabytes}m"
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(path)],
                              capture_output=True, check=False)  # fmt: skip
    except FileNotFoundError:
        pytest.skip("mount is not installed")
    if done.returncode:
        pytest.skip(f"mounting is not allowed: {done.stderr.decode().strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def fill(path):
    """Write to a file until the disk is full."""
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
    except OSError:
        return


def test_a_full_disk_stops_learning_with_a_problem_but_not_predicting(tmp_path):
    with small_disk(tmp_path / "disk", 32) as disk:
        folder = with_model(disk / "served")
        writers = [Writer(number, 3) for number in range(4)]
        with Process(folder, "--snapshot-seconds", 1000) as process:
            load(process.url, writers, 0.3, lambda: None)
            filler = disk / "filler"
            fill(filler)
            before = sum(len(writer.acknowledged) for writer in writers)
            load(process.url, writers, 0.5, lambda: None)
            assert any(writer.refused for writer in writers)
            with Client(process.url) as client:
                assert not client.is_ready()
                assert len(client.model("m").predict([{"features": {"w1": 1}}]).rows) == 1
            filler.unlink()
            load(process.url, writers, 0.5, lambda: None)  # the disk has space again
            after = sum(len(writer.acknowledged) for writer in writers)
            assert after > before
            with Client(process.url) as client:
                assert client.is_ready()
        CleanRun().check(folder, writers)


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int fails(void) { const char* at = getenv("FAILS_IF"); return at && !access(at, F_OK); }
#define FLUSH(name)                                            \
  int name(int file) {                                         \
    static int (*own)(int);                                    \
    if (!own) own = (int (*)(int))dlsym(RTLD_NEXT, #name);     \
    if (fails()) { errno = EIO; return -1; }                   \
    return own(file);                                          \
  }
FLUSH(fsync)
FLUSH(fdatasync)
"""


def test_a_disk_that_does_not_flush_acknowledges_no_example(folder, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    (tmp_path / "shim.c").write_text(SHIM)
    shim, broken = tmp_path / "shim.so", tmp_path / "broken"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c", "-ldl"], check=True
    )
    writers = [Writer(number, 4) for number in range(4)]
    environment = {"LD_PRELOAD": str(shim), "FAILS_IF": str(broken)}
    with Process(folder, *OFTEN, environment=environment) as process:
        load(process.url, writers, 0.3, lambda: None)
        broken.touch()
        load(process.url, writers, 0.1, lambda: None)  # open requests end
        before = sum(len(writer.acknowledged) for writer in writers)
        assert before > 0
        load(process.url, writers, 0.4, lambda: None)
        assert sum(len(writer.acknowledged) for writer in writers) == before
        with Client(process.url) as client:
            assert not client.is_ready()
            assert len(client.model("m").predict([{"features": {"w1": 1}}]).rows) == 1
        broken.unlink()
        load(process.url, writers, 0.4, lambda: None)
        assert sum(len(writer.acknowledged) for writer in writers) > before
    CleanRun().check(folder, writers)
