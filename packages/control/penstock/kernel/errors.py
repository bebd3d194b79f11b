"""What can go wrong, as callers see it. Each becomes a problem+json answer."""

from collections.abc import Mapping

Extras = Mapping[str, object]


class Problem(Exception):
    """A refusal: what is true, what cannot happen, and what to do next."""

    status: int = 500
    code: str = "internal"
    title: str = "Internal error"
    retry_after_s: int | None = None  # when to ask again, if that is known
    replayed: bool = False  # it was told before, to the same Idempotency-Key

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        extras: Extras | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.suggestion = suggestion
        self.extras: Extras = extras or {}


class BadRequest(Problem):
    """What was sent is no request that could be understood in one way."""

    status = 400
    code = "bad_request"
    title = "Bad request"


class Unauthenticated(Problem):
    status = 401
    code = "unauthenticated"
    title = "Not authenticated"


class PaymentRequired(Problem):
    status = 402
    code = "payment_required"
    title = "Payment required"


class Forbidden(Problem):
    status = 403
    code = "forbidden"
    title = "Not allowed"


class NotFound(Problem):
    """Also what one may not see: the answer must not tell the two apart.

    `hidden` says that it is there; only the audit log learns of it.
    """

    status = 404
    code = "not_found"
    title = "Not found"

    def __init__(self, noun: str, id: str, *, hidden: bool = False) -> None:
        super().__init__(f"there is no {noun} {id[:64]!r}")
        self.noun, self.id, self.hidden = noun, id[:64], hidden


class Conflict(Problem):
    status = 409
    code = "conflict"
    title = "Conflict"


class Gone(Problem):
    """It was there, and is not kept any more."""

    status = 410
    code = "gone"
    title = "Gone"


class TooLarge(Problem):
    status = 413
    code = "too_large"
    title = "Too large"


class TooSlow(Problem):
    status = 408
    code = "too_slow"
    title = "Too slow"


class TargetTooLong(Problem):
    status = 414
    code = "target_too_long"
    title = "Target too long"


class HeadTooLarge(Problem):
    status = 431
    code = "headers_too_large"
    title = "Headers too large"


class Invalid(Problem):
    status = 422
    code = "invalid"
    title = "Invalid request"


class TooMany(Problem):
    """More than was agreed. `retry_after_s` says when to ask again."""

    status = 429
    code = "rate_limited"
    title = "Too many requests"

    def __init__(self, detail: str, *, suggestion: str, retry_after_s: int) -> None:
        super().__init__(detail, suggestion=suggestion)
        self.retry_after_s = retry_after_s


class Unavailable(Problem):
    """Not now. `retry_after_s` says when to ask again."""

    status = 503
    code = "unavailable"
    title = "Unavailable"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        retry_after_s: int = 1,
    ) -> None:
        super().__init__(detail, code=code, suggestion=suggestion)
        self.retry_after_s = retry_after_s


class Restarting(Unavailable):
    """This process is told to end: another one answers, or this one when it is back."""

    def __init__(self) -> None:
        super().__init__(
            "this replica is being restarted; what you asked for may not have happened",
            code="restarting",
            suggestion="ask again, with the same Idempotency-Key",
        )


class RefusedBefore(Problem):
    """What was told to the same request with the same Idempotency-Key."""

    replayed = True

    def __init__(
        self, status: int, title: str, detail: str, *, code: str, suggestion: str, extras: Extras
    ) -> None:
        super().__init__(detail, code=code, suggestion=suggestion, extras=extras)
        self.status, self.title = status, title
