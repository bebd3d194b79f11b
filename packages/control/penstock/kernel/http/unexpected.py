"""The outermost layer of every HTTP server: whatever an application raises, its client is answered
with a problem, and never with the server's own plain text."""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.kernel import log
from penstock.kernel.errors import Problem, Restarting
from penstock.kernel.http.problems import render

FAILED: Final = 1011  # close codes of a WebSocket
RESTARTING: Final = 1012
logger = log.get(__name__)


def unexpected() -> Problem:
    return Problem("something went wrong here; nothing you sent is to blame, and it is logged")


class Answered:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = ended = False

        async def noting(message: Message) -> None:
            nonlocal begun, ended
            begun = True
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        try:
            await self._app(scope, receive, noting)
            if not begun and scope["type"] == "http":
                raise RuntimeError("the application answered nothing")
        except asyncio.CancelledError:  # only the end of this process cancels a request
            if begun and scope["type"] == "http":
                raise
            await _answer(scope, receive, send, Restarting())
        except Exception as error:
            if ended:
                return  # the application answered, and said what it was
            logger.error("unexpected", exc_info=error, path=scope.get("path", ""))
            if begun and scope["type"] == "http":
                raise  # half an answer: the server cuts it off
            await _answer(scope, receive, send, unexpected())


async def _answer(scope: Scope, receive: Receive, send: Send, problem: Problem) -> None:
    if scope["type"] == "http":
        correlation_id: str = scope.get("state", {}).get("correlation_id", "")
        response = render(problem, correlation_id)
        response.headers["Connection"] = "close"
        await response(scope, receive, send)
        return
    code = RESTARTING if isinstance(problem, Restarting) else FAILED
    with suppress(Exception):  # it may be closed already
        await send({"type": "websocket.close", "code": code, "reason": problem.detail[:120]})
