"""A model hub of this process, on 127.0.0.1: what the hub's client asks of one, and no more.

Repositories are made, files are sent in commits, small ones inside the commit and large ones before
it (Git LFS), and every revision can be fetched again. Files are held in memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

NAME = r"([\w.-]+/[\w.-]+)"


@dataclass
class Repository:
    """Files by revision; a branch is the name of its last commit."""

    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=lambda: {"main": ""})
    messages: list[str] = field(default_factory=list)

    def commit_of(self, revision: str) -> str | None:
        return self.branches.get(revision) or (revision if revision in self.commits else None)

    def files(self, revision: str) -> dict[str, bytes]:
        return self.commits.get(self.commit_of(revision) or "", {})

    def add(self, branch: str, files: dict[str, bytes], message: str) -> str:
        whole = self.files(branch) | files
        content = "".join(f"{name}{hashlib.sha256(b).hexdigest()}" for name, b in whole.items())
        commit = hashlib.sha1(f"{content}{len(self.commits)}".encode()).hexdigest()
        self.commits[commit], self.branches[branch] = whole, commit
        self.messages.append(message)
        return commit


class Hub:
    """Its repositories, the requests it got, and which files go around the commit."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        self.large: dict[str, bytes] = {}
        self.large_endings: tuple[str, ...] = ()
        self.endpoint = ""


@contextmanager
def running():
    """Serve a new hub until the block ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"hub": hub}))
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._fetch(with_body=False)

    def do_GET(self) -> None:
        self._fetch(with_body=True)

    def do_POST(self) -> None:
        body = self._body()
        for pattern, answer in {
            "/api/repos/create": self._create,
            "/api/validate-yaml": self._validate,
            rf"/api/models/{NAME}/preupload/([^/]+)": self._preupload,
            rf"/api/models/{NAME}/commit/([^/]+)": self._commit,
            rf"/{NAME}\.git/info/lfs/objects/batch": self._batch,
        }.items():
            found = re.fullmatch(pattern, self.path.split("?")[0])
            if found:
                answer(body, *map(unquote, found.groups()))
                return
        self._answer(404, {"error": "no such operation"})

    def do_PUT(self) -> None:
        content, oid = self._body(), self.path.removeprefix("/lfs/")
        is_right = hashlib.sha256(content).hexdigest() == oid
        if is_right:
            self.hub.large[oid] = content
        self._answer(200 if is_right else 400, {})

    def _create(self, body: bytes) -> None:
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        is_new = name not in self.hub.repositories
        if is_new:
            private = asked.get("visibility") == "private" or asked.get("private") is True
            self.hub.repositories[name] = Repository(private)
        self._answer(200 if is_new else 409, {"url": f"{self.hub.endpoint}/{name}", "name": name})

    def _validate(self, body: bytes) -> None:
        assert json.loads(body)["content"].startswith("---\n")
        self._answer(200, {"errors": [], "warnings": []})

    def _preupload(self, body: bytes, name: str, revision: str) -> None:
        if self._repository(name) is None:
            return
        files = [
            {
                "path": each["path"],
                "uploadMode": "lfs" if each["path"].endswith(self.hub.large_endings) else "regular",
                "shouldIgnore": False,
            }
            for each in json.loads(body)["files"]
        ]
        self._answer(200, {"files": files})

    def _batch(self, body: bytes, _: str) -> None:
        objects = [
            each | {"actions": {"upload": {"href": f"{self.hub.endpoint}/lfs/{each['oid']}"}}}
            for each in json.loads(body)["objects"]
        ]
        self._answer(200, {"transfer": "basic", "objects": objects})

    def _commit(self, body: bytes, name: str, branch: str) -> None:
        repository = self._repository(name)
        if repository is None:
            return
        files, message = {}, ""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            else:
                files[value["path"]] = self.hub.large[value["oid"]]
        commit = repository.add(branch, files, message)
        url = f"{self.hub.endpoint}/{name}/commit/{commit}"
        self._answer(200, {"success": True, "commitOid": commit, "commitUrl": url})

    def _fetch(self, *, with_body: bool) -> None:
        self._note()
        found = re.fullmatch(rf"/{NAME}/resolve/([^/]+)/(.+)", self.path.split("?")[0])
        if not found:
            self._answer(404, {"error": "no such page"}, with_body=with_body)
            return
        name, revision, path = map(unquote, found.groups())
        repository = self._repository(name, with_body=with_body)
        if repository is None:
            return
        commit = repository.commit_of(revision)
        content = repository.files(revision).get(path)
        if commit is None or content is None:
            code = "RevisionNotFound" if commit is None else "EntryNotFound"
            self._answer(404, {"error": "not there"}, {"X-Error-Code": code}, with_body=with_body)
            return
        facts = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": commit}
        self._send(200, content, facts, with_body=with_body)

    def _repository(self, name: str, *, with_body: bool = True) -> Repository | None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            code = {"X-Error-Code": "RepoNotFound"}
            self._answer(404, {"error": "no such repository"}, code, with_body=with_body)
        return repository

    def _body(self) -> bytes:
        self._note()
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _note(self) -> None:
        self.hub.requests.append((self.command, self.path))
        self.hub.tokens.add(self.headers.get("Authorization"))

    def _answer(
        self, code: int, content: object, more: dict[str, str] | None = None, **send: bool
    ) -> None:
        kind = {"Content-Type": "application/json"} | (more or {})
        self._send(code, json.dumps(content).encode(), kind, **send)

    def _send(
        self, code: int, content: bytes, more: dict[str, str], *, with_body: bool = True
    ) -> None:
        self.send_response(code)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)
