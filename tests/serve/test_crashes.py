"""What was acknowledged survives: a killed server, a full disk, a disk that does not flush.

After every crash each acknowledged example is in the log under its number, none is there twice,
and the recovered model has the same tensors as a clean run over the log.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from tests.serve.process import Process, Teacher, example_of, load

from labeltrees.client import Client
from labeltrees.serve.learning.folder import ModelFolder, replay
from labeltrees.serve.learning.log import FIRST_LINK
from labeltrees.serve.learning.new_models import new_model
from labeltrees.serve.learning.served import ServedModel
from labeltrees.serve.wire import NewModel

OFTEN = ("--snapshot-examples", 40, "--snapshot-seconds", 0.3)
N_TEACHERS = 8


@pytest.fixture
def folder(tmp_path):
    return with_model(tmp_path / "served")


def with_model(path):
    made = ModelFolder(path)
    made.add("m", new_model(NewModel("features")))
    made.close()
    return path


class CleanRun:
    """A model that learns the log from its beginning, in one go, and never crashes."""

    def __init__(self):
        self.served = ServedModel("m", new_model(NewModel("features")))

    def check(self, folder, teachers):
        """Check a folder whose server is dead; return how many examples there are."""
        opened = ModelFolder(folder)
        try:
            after, link = self.served.seq, self.served.link
            replay(self.served, opened.log.examples(opened.ids["m"], after=after, link=link))
            recovered = opened.models["m"]
            assert recovered.seq == self.served.seq
            assert recovered.link == self.served.link
            clean, found = (m.model.stored().checksums() for m in (self.served, recovered))
            assert found == clean
            check_log(opened, teachers)
            return recovered.seq
        finally:
            opened.close()


def check_log(opened, teachers):
    logged = opened.log.examples(opened.ids["m"], after=0, link=FIRST_LINK)
    kept = {each.seq: example_of(each) for each in logged}
    acknowledged = {}
    for teacher in teachers:
        assert not acknowledged.keys() & teacher.acknowledged.keys()
        acknowledged |= teacher.acknowledged
    for seq, example in acknowledged.items():
        assert kept[seq] == example
    ids = [next(iter(example["features"])) for example in kept.values()]
    assert len(set(ids)) == len(ids)


def crash_again_and_again(folder, n_crashes, seed):
    moments = random.Random(seed)
    teachers = [Teacher(number, seed) for number in range(N_TEACHERS)]
    clean = CleanRun()
    n_examples = 0
    for _ in range(n_crashes):
        process = Process(folder, *OFTEN)
        load(process.url, teachers, moments.uniform(0.02, 1.0), process.kill)
        n_now = clean.check(folder, teachers)
        assert n_now >= n_examples
        n_examples = n_now
    anew = CleanRun()
    anew.check(folder, teachers)  # the whole log once more, in other batches
    return n_examples


def test_a_server_killed_at_any_moment_loses_nothing_and_learns_nothing_twice(folder):
    assert crash_again_and_again(folder, n_crashes=3, seed=0) > 0


@pytest.mark.thorough
def test_two_hundred_crashes(folder):
    n_examples = crash_again_and_again(folder, n_crashes=200, seed=1)
    assert n_examples > 1000


def test_sigterm_drains_and_leaves_a_snapshot_of_everything(folder):
    teachers = [Teacher(number, 2) for number in range(2)]
    process = Process(folder)
    load(process.url, teachers, 0.4, process.terminate)
    assert process.child.returncode == 0
    process.kill()
    opened = ModelFolder(folder)
    newest = opened.snapshots("m").seqs()[0]
    assert newest == opened.models["m"].seq == max(
        seq for teacher in teachers for seq in teacher.acknowledged
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
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip(f"mounting is not allowed: {done.stderr.decode().strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def fill(path):
    """Write to a file until there is no room left."""
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
    except OSError:
        return


def test_a_full_disk_stops_learning_with_a_problem_and_not_answering(tmp_path):
    with small_disk(tmp_path / "disk", 32) as disk:
        folder = with_model(disk / "served")
        teachers = [Teacher(number, 3) for number in range(4)]
        with Process(folder, "--snapshot-seconds", 1000) as process:
            load(process.url, teachers, 0.3, lambda: None)
            filler = disk / "filler"
            fill(filler)
            before = sum(len(teacher.acknowledged) for teacher in teachers)
            load(process.url, teachers, 0.5, lambda: None)
            assert any(teacher.refused for teacher in teachers)
            with Client(process.url) as client:
                assert not client.is_ready()
                assert len(client.model("m").predict([{"features": {"w1": 1}}]).rows) == 1
            filler.unlink()
            load(process.url, teachers, 0.5, lambda: None)  # there is room again
            after = sum(len(teacher.acknowledged) for teacher in teachers)
            assert after > before
            with Client(process.url) as client:
                assert client.is_ready()
        CleanRun().check(folder, teachers)


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


def test_a_disk_that_does_not_flush_acknowledges_nothing(folder, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "shim.c").write_text(SHIM)
    shim, broken = tmp_path / "shim.so", tmp_path / "broken"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c", "-ldl"], check=True
    )
    teachers = [Teacher(number, 4) for number in range(4)]
    environment = {"LD_PRELOAD": str(shim), "FAILS_IF": str(broken)}
    with Process(folder, *OFTEN, environment=environment) as process:
        load(process.url, teachers, 0.3, lambda: None)
        broken.touch()
        load(process.url, teachers, 0.1, lambda: None)  # what was on its way comes to an end
        before = sum(len(teacher.acknowledged) for teacher in teachers)
        assert before > 0
        load(process.url, teachers, 0.4, lambda: None)
        assert sum(len(teacher.acknowledged) for teacher in teachers) == before
        with Client(process.url) as client:
            assert not client.is_ready()
            assert len(client.model("m").predict([{"features": {"w1": 1}}]).rows) == 1
        broken.unlink()
        load(process.url, teachers, 0.4, lambda: None)
        assert sum(len(teacher.acknowledged) for teacher in teachers) > before
    CleanRun().check(folder, teachers)
