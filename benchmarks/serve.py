"""Measure the learning server under load on this machine, on 127.0.0.1 only.

    python benchmarks/serve.py                 # queries, updates, queries during updates
    python benchmarks/serve.py --soak 300      # five minutes of everything, to see memory
    python benchmarks/serve.py --replicas 4    # memory of replicas

Clients are processes of this script; each has its own connection and waits for its answers.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

CODE = "import os\n\ndef listing(folder):\n    return sorted(os."
BODY = json.dumps({"text": CODE, "k": 5})


class Server:
    """`labeltrees serve` in a separate process."""

    def __init__(self, folder: Path, *options: str):
        command = [sys.executable, "-m", "labeltrees", "serve", str(folder), "--port", "0"]
        self.child = subprocess.Popen(
            [*command, "--quiet", *options],
            stdout=subprocess.PIPE,
        )
        self.said: list[str] = []
        for line in self.child.stdout:
            self.said.append(line.decode())
            found = re.search(r"Serving at http://([\d.]+:\d+)/", self.said[-1])
            if found:
                self.where = found[1]
                return
        raise RuntimeError("the server did not start")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)
        self.child.stdout.close()

    @property
    def resident(self) -> int:
        return int(Path(f"/proc/{self.child.pid}/statm").read_text().split()[1]) * 4096


def requests(where: str, kind: str, seconds: float, number: int, times) -> None:
    """Send requests for so long; give the times of the answers."""
    connection = http.client.HTTPConnection(where)
    taken = []
    end = time.perf_counter() + seconds
    count = 0
    while time.perf_counter() < end:
        count += 1
        if kind == "learn":
            label = f"name{(7 * count + number) % 500}"
            body = json.dumps({"text": f"{CODE}x{number}_{count % 100}.", "label": label})
            path, method = "/v1/models/demo/learn", "POST"
        elif kind == "predict":
            path, method, body = "/v1/models/demo/predict", "POST", BODY
        else:
            path, method, body = "/v1/nothing", "GET", None
        begin = time.perf_counter()
        connection.request(method, path, body)
        answer = connection.getresponse()
        answer.read()
        taken.append(time.perf_counter() - begin)
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
    connection.close()
    times.put(taken)


def load(where: str, kind: str, seconds: float, clients: int) -> np.ndarray:
    """Return the times of all answers."""
    times = multiprocessing.Queue()
    children = [
        multiprocessing.Process(target=requests, args=(where, kind, seconds, i, times))
        for i in range(clients)
    ]
    for child in children:
        child.start()
    found = [times.get(timeout=seconds + 30) for _ in children]
    for child in children:
        child.join()
    return np.concatenate([np.array(each) for each in found])


LESSON = """
local count = 0
function request()
  count = count + 1
  local text = string.format("import os\\\\nsorted(os.x%d.", count % 100)
  local body = string.format('{"text": "%s", "label": "name%d"}', text, 7 * count % 500)
  return wrk.format("POST", nil, nil, body)
end
"""


def asking(body: str | None) -> str:
    """Return wrk's script for requests that are all the same."""
    return "" if body is None else f"wrk.method = 'POST'\nwrk.body = {json.dumps(body)}\n"


def wrk(where: str, path: str, seconds: float, connections: int, script: str) -> float:
    """Return requests per second as wrk measures them."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", file.name]
        done = subprocess.run(
            [*command, f"http://{where}{path}"], capture_output=True, text=True, check=True
        )
    if "Non-2xx" in done.stdout:
        raise RuntimeError(done.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


def questions(server: Server, seconds: float) -> None:
    rounds = []
    for _ in range(3):
        if shutil.which("wrk"):
            nothing = wrk(server.where, "/v1/nothing", seconds, 8, asking(None))
            asked = wrk(server.where, "/v1/models/demo/predict", seconds, 8, asking(BODY))
        else:
            nothing = len(load(server.where, "nothing", seconds, 8)) / seconds
            asked = len(load(server.where, "predict", seconds, 8)) / seconds
        rounds.append((nothing, asked, asked / nothing))
    for nothing, asked, ratio in rounds:
        print(f"nothing {nothing:,.0f}/s, predict {asked:,.0f}/s: {ratio:.0%}")


def taught(where: str, seconds: float) -> float:
    """Return how many requests of one example 8 clients get acknowledged per second."""
    if shutil.which("wrk"):
        return wrk(where, "/v1/models/demo/learn", seconds, 8, LESSON)
    return len(load(where, "learn", seconds, 8)) / seconds


def lessons(folder: Path, server: Server, seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as other:
        copy = Path(other) / "served"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("log*", "lock"))
        with Server(copy, "--most-together", "1") as alone:
            for _ in range(3):
                together, apart = taught(server.where, seconds), taught(alone.where, seconds)
                print(
                    f"learn, 8 clients: {together:,.0f}/s together, {apart:,.0f}/s a commit each: "
                    f"{together / apart:.1f} times"
                )


def while_learning(server: Server, seconds: float) -> None:
    rest = load(server.where, "predict", seconds, 2)
    learners = threading.Thread(target=load, args=(server.where, "learn", seconds + 2, 4))
    learners.start()
    time.sleep(1)
    busy = load(server.where, "predict", seconds, 2)
    learners.join()
    for name, taken in (("at rest", rest), ("while learning and snapshotting", busy)):
        p50, p99 = np.percentile(taken, [50, 99]) * 1000
        print(
            f"questions {name}: {len(taken) / seconds:,.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms"
        )
    print(f"p99 ratio {np.percentile(busy, 99) / np.percentile(rest, 99):.2f}")


def soak(server: Server, seconds: float) -> None:
    """Query and update for long; report memory and the number of snapshots over time."""
    learners = threading.Thread(target=load, args=(server.where, "learn", seconds, 2))
    askers = threading.Thread(target=load, args=(server.where, "predict", seconds, 2))
    learners.start()
    askers.start()
    begin = time.time()
    for tenth in range(1, 11):
        seen = []
        while time.time() - begin < seconds * tenth / 10 - 1:
            seen.append(server.resident / 1e6)
            time.sleep(0.25)
        connection = http.client.HTTPConnection(server.where)
        connection.request("GET", "/v1/models/demo")
        about = json.loads(connection.getresponse().read())
        connection.close()
        print(
            f"{time.time() - begin:5.0f} s: {min(seen):,.0f} MB between snapshots, "
            f"{max(seen):,.0f} MB while one is written, weights "
            f"{about['memory_bytes'] / 1e6:,.0f} MB; {about['seq']:,} examples",
            flush=True,
        )
    learners.join()
    askers.join()


def memory_of_replicas(folder: Path, n: int) -> None:
    """Tell what replicas have for themselves and what they share."""
    with Server(folder, "--replicas", str(n)) as server:
        time.sleep(8)
        pids = subprocess.run(
            ["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True
        ).stdout.split("\n")[1:]
        parents = dict(map(int, line.split()) for line in pids if line.strip())
        keepers = [pid for pid, parent in parents.items() if parent == server.child.pid]
        replicas = [pid for pid, parent in parents.items() if parent in keepers]
        for name, members in (
            ("server", [server.child.pid]),
            ("keeper", keepers),
            ("replica", replicas),
        ):
            for pid in members:
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                found = {
                    key: int(re.search(rf"^{key}:\s+(\d+)", rollup, re.MULTILINE)[1]) / 1000
                    for key in ("Rss", "Pss", "Private_Dirty")
                }
                print(name, ", ".join(f"{key} {value:,.0f} MB" for key, value in found.items()))
        where = next(line for line in server.said if " replicas at " in line)
        where = re.search(r"http://([\d.:]+)", where)[1]
        for label, at in (("server", server.where), ("replicas", where)):
            asked = wrk(at, "/v1/models/demo/predict", 4, 16, asking(BODY))
            print(f"predict at the {label}: {asked:,.0f}/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, help="kept; by default a temporary one")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--soak", type=float, help="seconds of a soak instead")
    parser.add_argument("--replicas", type=int, help="their memory instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "served"
        if given.replicas:
            Server(folder).__exit__()  # so that the model is there
            memory_of_replicas(folder, given.replicas)
            return
        with Server(folder, "--snapshot-seconds", "2") as server:
            if given.soak:
                soak(server, given.soak)
                return
            questions(server, given.seconds)
            while_learning(server, given.seconds)
        with Server(folder) as server:
            lessons(folder, server, given.seconds)


if __name__ == "__main__":
    main()
