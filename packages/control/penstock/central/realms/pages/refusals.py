"""Refusals at a realm's doors: on a page for people, as problem+json for programs."""

import re
from dataclasses import dataclass
from typing import Final

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import Scope

from penstock.central.realms.pages import layout
from penstock.central.realms.pages.markup import el
from penstock.kernel.errors import Problem, TooMany, Unavailable
from penstock.kernel.http.problems import render

REALM: Final = re.compile(r"/realms/([a-z0-9._-]{1,63})/")


@dataclass(frozen=True)
class Doorstep:
    """A realm by its name in the address; whether there is one was not asked."""

    name: str

    @property
    def path(self) -> str:
        return f"/realms/{self.name}"


def respond(scope: Scope, problem: Problem, correlation_id: str) -> Response:
    where = REALM.match(scope["path"])
    if where is None or "text/html" not in Headers(scope=scope).get("accept", ""):
        return render(problem, correlation_id)
    page = layout.page(
        Doorstep(where.group(1)),
        problem.title,
        layout.wrong(_words(problem)),
        el("p", "For whoever runs this: ", el("code", correlation_id), class_="soft"),
        status=problem.status,
    )
    if problem.retry_after_s is not None:
        page.headers["Retry-After"] = str(problem.retry_after_s)
    return page


def _words(problem: Problem) -> str:
    wait = f"Nothing was done. Wait {problem.retry_after_s} s, then go back and try again."
    match problem:
        case TooMany():
            return f"Too many requests came from where you are. {wait}"
        case Unavailable():
            return f"There is too much to do here right now. {wait}"
        case _:
            return f"{problem.detail[:1].upper()}{problem.detail[1:]}."
