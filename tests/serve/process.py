"""A server in a separate process, and clients that load it until it is killed."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

from labeltrees.client import Client, ServerProblem

START = (sys.executable, "-m", "labeltrees", "serve")
START_SECONDS = 120


class Process:
    """`labeltrees serve` on a free port; the context manager kills it at the end."""

    def __init__(self, folder, *options, environment=None):
        self.log = open(f"{folder}.stderr", "ab")  # noqa: SIM115 - closed with the process
        self.child = subprocess.Popen(
            [*START, str(folder), "--port", "0", "--quiet", *map(str, options)],
            stdout=subprocess.PIPE, stderr=self.log, env=os.environ | (environment or {}),
        )  # fmt: skip
        self.output = []
        self.url = self._url()

    def _url(self):
        # A server that never prints its address is killed, which ends its output.
        patience = threading.Timer(START_SECONDS, self.child.kill)
        patience.start()
        try:
            for line in self.child.stdout:
                self.output.append(line.decode())
                found = re.search(r"Serving at (http://[\d.]+:\d+)/", self.output[-1])
                if found:
                    return found[1]
        finally:
            patience.cancel()
        self.log.close()
        raise RuntimeError(f"the server did not start: {''.join(self.output)}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

    def kill(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self.child.stdout.close()
        self.log.close()

    def terminate(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)
        return self.child.returncode


class Writer:
    """A client that sends examples and requests predictions, and keeps acknowledged examples.

    A request without a response is sent again, with the same key, to the next server.
    """

    def __init__(self, number, seed, *, several=False):
        self.several = several
        self.number, self.random = number, random.Random(1000 * seed + number)
        self.n_made = 0
        self.pending = None
        self.acknowledged = {}  # the example's number in the log, and the example
        self.refused = 0

    def work(self, url, stop):
        with Client(url, timeout=10) as client:
            model = client.model("m")
            while not stop.is_set():
                try:
                    self._one(model)
                except ServerProblem as problem:
                    if problem.status != 503:
                        raise
                    self.refused += 1
                    time.sleep(0.02)
                except (OSError, http.client.HTTPException):
                    return  # the server was killed

    def _one(self, model):
        if self.pending is None:
            self.pending = [self._example() for _ in range(self.random.choice((1, 1, 1, 5)))]
        key = self.pending[0]["features_id"]
        examples = [{k: v for k, v in e.items() if k != "features_id"} for e in self.pending]
        body = {"examples": examples}
        found = model.client.send(
            "POST", "/v1/models/m/learn", body, headers={"Idempotency-Key": key}
        )
        for i, example in enumerate(examples):
            self.acknowledged[found["first_seq"] + i] = example
        self.pending = None
        if self.random.random() < 0.5:
            predicted = model.predict([{"features": examples[0]["features"]}], k=3)
            assert predicted.seq >= found["seq"]

    def _example(self):
        self.n_made += 1
        own = f"{self.number}-{self.n_made}"
        words = [f"w{self.random.randrange(30)}" for _ in range(4)]
        features = dict.fromkeys([own, *words], 1.0)
        if self.several:
            n_labels = self.random.choice((0, 1, 1, 2, 3))
            labels = [f"l{i}" for i in self.random.sample(range(40), n_labels)]
            return {"features": features, "labels": labels, "features_id": own}
        label = f"l{self.random.randrange(40)}"
        return {"features": features, "label": label, "features_id": own}


def load(url, writers, seconds, then):
    """Let all writers work for some seconds, call ``then``, and wait until they end."""
    stop = threading.Event()
    threads = [threading.Thread(target=each.work, args=(url, stop)) for each in writers]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    then()
    stop.set()
    for thread in threads:
        thread.join()


def example_of(logged):
    """Return an example of the log as sent."""
    return json.loads(logged.example)
