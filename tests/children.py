"""Programs in processes of their own that need not import everything first.

Importing scikit-learn takes a child longer than most of what it is asked to do. So one process
imports it, this file as a program, and every child is forked from that one: it has its own pipes,
signals and end of the interpreter, but it has not been started by `python -m labeltrees`. Tests of
the start, of encodings and of memory start Python themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache

CLI = "import sys; from labeltrees.cli import main; sys.exit(main(sys.argv[1:]))"
LONGEST = 2**17  # bytes of a request: a program and its arguments


class Child:
    """A Python program with pipes on all sides, or with the files that are given.

    `pid`, `poll`, `wait`, `kill` and `send_signal` are as those of subprocess.Popen.
    """

    def __init__(self, program, *arguments, stdin=None, stdout=None, stderr=None):
        request = {"program": program, "arguments": [*map(str, arguments)], "cwd": os.getcwd()}
        theirs, self.stdin, self.stdout, self.stderr = [], None, None, None
        for name, given in (("stdin", stdin), ("stdout", stdout), ("stderr", stderr)):
            if given is not None:
                theirs.append(os.dup(given.fileno()))
                continue
            reading, writing = os.pipe()
            theirs.append(reading if name == "stdin" else writing)
            mine, mode = (writing, "wb") if name == "stdin" else (reading, "rb")
            setattr(self, name, os.fdopen(mine, mode))
        self._news, keeper = socket.socketpair()
        socket.send_fds(mother(), [json.dumps(request).encode()], [*theirs, keeper.fileno()])
        keeper.close()
        for number in theirs:
            os.close(number)
        self.pid = int(self._news.recv(64))
        self.returncode = None

    def poll(self):
        with contextlib.suppress(TimeoutError):
            self.wait(0.0001)
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            self._news.settimeout(timeout)
            self.returncode = int(self._news.recv(64))
            self._news.close()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def run(program, *arguments, timeout=120):
    """Return the exit code, stdout and stderr, as text, of a program without input."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with open(os.devnull, "rb") as nothing:
            child = Child(program, *arguments, stdin=nothing, stdout=out, stderr=err)
        try:
            code = child.wait(timeout)
        finally:
            child.kill()
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


@cache
def mother():
    """Return the socket of the process that children come from; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen([sys.executable, __file__, str(number)], pass_fds=[number])
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def next_request(calls):
    """Return the request that this process, a child, was forked for; the mother never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are nobody's care
    while True:
        message, numbers, _, _ = socket.recv_fds(calls, LONGEST, 4)
        if not message:
            os._exit(0)
        if os.fork() > 0:
            for number in numbers:
                os.close(number)
            continue
        calls.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        *pipes, news = numbers
        child = os.fork()
        if child > 0:
            keep(child, pipes, news)
        os.close(news)
        for place, number in enumerate(pipes):
            os.dup2(number, place)
            os.close(number)
        return json.loads(message)


def keep(child, pipes, news):
    """Say the child's number, then how it ended."""
    for number in (0, 1, 2, *pipes):
        os.close(number)
    os.write(news, str(child).encode())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(news, str(code).encode())
    os._exit(0)


def be_mother(number):
    """Import what children need, and become one of them."""
    import labeltrees.cli.commands.predict
    import labeltrees.cli.commands.stream
    import labeltrees.cli.commands.train
    import labeltrees.estimators
    import labeltrees.transforms._words_and_pairs  # noqa: F401

    gc.freeze()  # or the end of every child would search and copy it all
    request = next_request(socket.socket(fileno=number))
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    os.chdir(request["cwd"])
    sys.argv = ["-c", *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    exec(compile(request["program"], "<child>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    be_mother(int(sys.argv[1]))
