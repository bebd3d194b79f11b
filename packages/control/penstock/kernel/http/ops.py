"""The operators' listener: metrics, health (the process lives), readiness (it can work), loops."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from socket import socket
from typing import Final

import orjson
import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from penstock.kernel import log
from penstock.kernel.http.heads import BoundedProtocol
from penstock.kernel.http.problems import problem_response
from penstock.kernel.http.sockets import MESSAGE_BYTES_MAX, BoundedSocket
from penstock.kernel.http.unexpected import Answered, unexpected
from penstock.kernel.loops import Loops

Check = Callable[[], Awaitable[None]]
ANSWER_S_MAX: Final = 1  # to what was asked before the server is told to finish
logger = log.get(__name__)


async def healthz(_request: Request) -> Response:
    return JSONResponse({"status": "alive"})


def readyz(checks: dict[str, Check]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        failed: dict[str, str] = {}
        for name, check in checks.items():
            try:
                await check()
            except Exception as error:
                failed[name] = str(error) or type(error).__name__
        status = "ready" if not failed else "not ready"
        return JSONResponse({"status": status, "failed": failed}, 503 if failed else 200)

    return answer


async def metrics(_request: Request) -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def loops(known: Loops) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        body = orjson.dumps({"items": known.standings()})
        return Response(body, media_type="application/json")

    return answer


def routes(checks: dict[str, Check]) -> list[Route]:
    return [Route("/healthz", healthz), Route("/readyz", readyz(checks))]


def app(checks: dict[str, Check], known: Loops) -> Starlette:
    made = Starlette(
        routes=[*routes(checks), Route("/metrics", metrics), Route("/loops", loops(known))],
        exception_handlers={Exception: _failed},
    )
    made.router.redirect_slashes = False  # it would redirect to whatever `Host` says
    return made


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("unexpected", exc_info=error, path=request.scope["path"])
    return problem_response(unexpected(), request)


class Server(uvicorn.Server):
    """An HTTP server that leaves signals to us and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self.finished = asyncio.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self.listening.set()

    async def finish(self) -> None:
        """Listen no more, and return when all that was asked is answered."""
        self.should_exit = True
        if self.listening.is_set():
            await self.finished.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def server(app: ASGIApp, listen: str, *, proxies: str = "127.0.0.1,::1") -> Server:
    """`proxies` are those whose word counts on where a request came from."""
    host, _, port = listen.rpartition(":")
    return Server(
        uvicorn.Config(
            Answered(app),
            http=BoundedProtocol,
            ws=BoundedSocket,
            ws_max_size=MESSAGE_BYTES_MAX,
            forwarded_allow_ips=proxies,
            host=host.strip("[]"),
            port=int(port),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=ANSWER_S_MAX,
            server_header=False,
        )
    )


def start(group: asyncio.TaskGroup, servers: Sequence[Server]) -> None:
    """Serve in the group: one that cannot listen ends all of it."""
    for server in servers:
        group.create_task(run(server))


async def run(server: Server) -> None:
    """Serve until cancelled, or finished."""
    try:
        await server.serve()
    except SystemExit:  # how uvicorn says that it could not listen
        address = f"{server.config.host}:{server.config.port}"
        raise OSError(f"cannot listen on {address}: is the port in use?") from None
    finally:
        server.finished.set()
