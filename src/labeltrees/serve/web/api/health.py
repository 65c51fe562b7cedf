"""Whether the server lives, whether it is ready, and what it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from labeltrees import __version__
from labeltrees.serve.problems import Problem

if TYPE_CHECKING:
    from labeltrees.serve.web.api.operations import Call

__all__ = ["livez", "metrics", "nothing", "readyz"]


async def livez(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Tell that the process answers."""
    return {"status": "alive", "version": __version__}


async def readyz(call: Call) -> dict[str, Any]:
    """Tell whether everything works: models are there, and what is taught can be kept."""
    trouble = call.server.trouble
    if trouble is not None:
        raise Problem(503, trouble, kind="not-ready")
    return {"status": "ready"}


async def metrics(call: Call) -> Response:
    """Tell what is measured, in Prometheus' text format."""
    server = call.server
    text = server.instruments.text(server.folder, server.learner)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def nothing(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Do nothing: what a request costs before anything is asked."""
    return {}
