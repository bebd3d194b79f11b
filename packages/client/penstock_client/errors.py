"""What can go wrong between a caller and the API, and the exit code that says so."""

from collections.abc import Mapping
from typing import ClassVar, Final, NotRequired, TypedDict, cast

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3
NOT_NOW: Final = frozenset({429, 502, 503, 504})


class FieldError(TypedDict):
    field: str
    message: str


class Problem(TypedDict):
    """An RFC 9457 body, as the API gives it."""

    type: NotRequired[str]
    title: str
    status: int
    detail: NotRequired[str]
    code: str
    correlation_id: NotRequired[str]
    errors: NotRequired[list[FieldError]]
    suggestion: NotRequired[str | None]
    never: NotRequired[bool]  # of `sku_unavailable`: no wait will help
    explanation: NotRequired[object]


class ClientError(Exception):
    """The call did not do what was asked. The message says what is true."""

    exit_code: ClassVar[int] = REFUSED


class Refused(ClientError):
    """The API answered no; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.get("detail") or problem["title"])
        self.problem = problem

    @property
    def code(self) -> str:
        return self.problem["code"]


class Unavailable(Refused):
    """The API, or the gateway before it, said not now, and said so until we gave up."""

    exit_code = UNREACHABLE


class Unreachable(ClientError):
    exit_code = UNREACHABLE

    def __init__(self, api: str, reason: str) -> None:
        super().__init__(f"the API at {api} cannot be reached: {reason}")


class NotTheApi(ClientError):
    """Something answered, but not in the API's words."""

    exit_code = UNREACHABLE


class NoApi(ClientError):
    exit_code = UNREACHABLE

    def __init__(self) -> None:
        super().__init__("no API is known: run `penstock up`, or `penstock context add`")


class PlatformEnded(ClientError):
    """What `penstock up` wrote is there, and `penstock up` is not."""

    exit_code = UNREACHABLE

    def __init__(self, ready: str) -> None:
        super().__init__(
            f"{ready} is left from a `penstock up` that was killed: nothing runs here; "
            "run `penstock up`, which goes on from there, or delete the file"
        )


class SignedOut(ClientError):
    """The session behind a context is over."""

    def __init__(self, name: str) -> None:
        super().__init__(f"context {name!r} is signed out: run `penstock login` again")


class LoginFailed(ClientError):
    """Nobody let us in."""


class Misused(ClientError):
    """The command line, the environment or the contexts file asks for what cannot be."""

    exit_code = USAGE


def refusal(problem: Problem) -> Refused:
    return Unavailable(problem) if problem["status"] in NOT_NOW else Refused(problem)


def problem_of(status: int, reason: str, body: object) -> Problem:
    """The problem in a body; one made from the status where the body is none of ours."""
    problem: Problem = {"title": reason or f"HTTP {status}", "status": status, "code": "unknown"}
    if isinstance(body, Mapping):
        given = cast("Mapping[str, object]", body)
        known = {key: value for key, value in given.items() if _fits(key, value)}
        problem.update(cast("Problem", known))
    elif isinstance(body, str) and body.strip():
        problem["detail"] = body.strip()[:500]
    return problem


def _fits(key: str, value: object) -> bool:
    """Whether a field from outside has the type that its readers rely on."""
    match key:
        case "title" | "detail" | "code" | "type" | "correlation_id" | "suggestion":
            return isinstance(value, str)
        case "status":
            return False  # the status line is the one that counts
        case "errors":
            return isinstance(value, list)
        case "never":
            return isinstance(value, bool)
        case _:
            return True
