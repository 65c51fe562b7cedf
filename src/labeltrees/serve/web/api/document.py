"""The OpenAPI document, generated from the table of operations, and a page that shows it."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from labeltrees import __version__
from labeltrees.serve.wire import NewModel

if TYPE_CHECKING:
    from labeltrees.serve.web.api.operations import Operation

_REF = "#/components/schemas/{name}"
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
}


def openapi(operations: list[Operation]) -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    types = [t for each in operations for t in (each.content, each.returns) if t is not None]
    types.append(NewModel)
    _, schemas = msgspec.json.schema_components(list(dict.fromkeys(types)), ref_template=_REF)
    schemas |= {"Problem": _PROBLEM, "Error": _ERROR}
    paths: dict[str, Any] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "labeltrees",
            "version": __version__,
            "description": "Models over very many labels that predict and learn.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _text(operation),
        "parameters": _parameters(operation),
        "responses": _responses(operation),
    }
    if operation.right is not None:
        described["security"] = [{}, {"key": []}]
        described["x-right"] = operation.right
    body = _body(operation)
    if body is not None:
        described["requestBody"] = {"required": True, "content": body}
    return described


def _text(operation: Operation) -> str:
    text = " ".join((operation.function.__doc__ or "").split())
    right = operation.right
    return f"{text} Needs the right '{right}'." if right else f"{text} Needs no key."


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    found += [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in operation.parameters.items()
    ]
    if operation.name == "learn":
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "A request with the key of an earlier one is not learned again.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            }
        )
    return found


def _body(operation: Operation) -> dict[str, Any] | None:
    if operation.content is not None:
        (schema,), _ = msgspec.json.schema_components([operation.content], ref_template=_REF)
        return {"application/json": {"schema": schema, "example": operation.example}}
    if operation.takes == "application/octet-stream":
        (new,), _ = msgspec.json.schema_components([NewModel], ref_template=_REF)
        raw = {"schema": {"type": "string", "format": "binary"}}
        return {operation.takes: raw, "application/json": {"schema": new}}
    if operation.takes.endswith("urlencoded"):
        properties = {
            "text": {"type": "string"},
            "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
            "threshold": {"type": "number", "minimum": 0, "maximum": 1},
        }
        form = {"type": "object", "required": ["text"], "properties": properties}
        return {operation.takes: {"schema": form}}
    return None


def _responses(operation: Operation) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.status != 204:
        schema: dict[str, Any] = {} if operation.media == "text/plain" else {"type": "object"}
        if operation.returns is not None:
            (schema,), _ = msgspec.json.schema_components([operation.returns], ref_template=_REF)
        content = {"content": {operation.media: {"schema": schema}}}
    name, media = ("Problem", "application/problem+json")
    if operation.plain_errors:
        name, media = ("Error", "application/json")
    wrong = {media: {"schema": {"$ref": _REF.format(name=name)}}}
    return {
        str(operation.status): {"description": "The response.", **content},
        "4XX": {"description": "What is wrong with the request.", "content": wrong},
        "503": {"description": "The server is not able to do this now.", "content": wrong},
        "507": {"description": "The model has reached its maximum size.", "content": wrong},
    }


def as_page(document: dict[str, Any]) -> str:
    """Return the document as a page without scripts and without content of other hosts."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'><title>labeltrees: the interface</title>"
        "<link rel=stylesheet href=/docs.css><main><h1>labeltrees: the interface</h1>"
        "<p>For programs: <a href=/openapi.json>openapi.json</a>.</p>"
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_section(path, method, operation))
    parts.append("<h2>Structures</h2>")
    for name, schema in document["components"]["schemas"].items():
        shown = html.escape(json.dumps(schema, indent=2))
        parts.append(f"<details id='{html.escape(name)}'><summary>{html.escape(name)}</summary>")
        parts.append(f"<pre>{shown}</pre></details>")
    return "".join([*parts, "</main></html>"])


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    lines = [
        f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>",
        f"<p>{html.escape(operation['summary'])}. {html.escape(operation['description'])}</p>",
    ]
    rest = [p for p in operation["parameters"] if p["in"] != "path"]
    if rest:
        items = "".join(
            f"<li><code>{html.escape(p['name'])}</code> {html.escape(p.get('description', ''))}"
            for p in rest
        )
        lines.append(f"<ul>{items}</ul>")
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        if content.get("example") is not None:
            body = html.escape(json.dumps(content["example"]))
            lines.append(f"<pre>{html.escape(media)}\n{body}</pre>")
        reference = str(content["schema"].get("$ref", ""))
        name = html.escape(reference.rpartition("/")[2])
        if name:
            lines.append(f"<p>Body: <a href='#{name}'>{name}</a></p>")
    return "".join(lines)
