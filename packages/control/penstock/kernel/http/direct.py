"""A way past the framework, for routes that must cost little.

Its layers (errors, routing, dependencies) are a fifth of what it costs to lease GPUs. A lean route
needs none of them: its path is fixed, and it makes its response itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from fastapi import FastAPI, Request, Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from penstock.kernel.http.web import LeanRoute

Handler = Callable[[Request, Exception], Awaitable[Response]]


class Direct:
    """ASGI: lean routes are called at once, and what goes wrong there is answered as the app
    would. All else goes to the app."""

    def __init__(self, app: FastAPI, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._lean = {
            (method, route.path): route
            for route in routes
            if isinstance(route, LeanRoute)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._lean.get((scope.get("method", ""), scope.get("path", "")))
        if route is None:
            await self._app(scope, receive, send)
            return
        scope.update(app=self._app, route=route)
        request = Request(scope, receive, send)
        try:
            response = await route.respond(request)
        except Exception as error:
            response = await self._answer(request, error)
        await response(scope, receive, send)

    async def _answer(self, request: Request, error: Exception) -> Response:
        handlers = self._app.exception_handlers
        found = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
        return await cast("Handler", found)(request, error)
