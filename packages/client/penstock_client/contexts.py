"""Which API to talk to, and with which token. Tokens are stored, never shown."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from penstock_client import errors, secrets
from penstock_client.secrets import Secret

READY: Final = Path(".penstock") / "ready.json"


@dataclass(frozen=True)
class Context:
    """One API and the way in. `name` says where it was found."""

    name: str
    api: str
    token: Secret
    project: str | None = None
    login: "Login | None" = None


@dataclass(frozen=True)
class Login:
    """How a context that was signed in gets its next token."""

    issuer: str
    refresh_token: Secret
    expires_at: float  # of the context's token, in seconds since 1970


@dataclass(frozen=True)
class Contexts:
    """What the contexts file holds."""

    current: str | None
    known: Mapping[str, Context]

    def get(self, name: str) -> Context:
        if name not in self.known:
            names = ", ".join(sorted(self.known)) or "none"
            raise errors.Misused(f"there is no context {name!r}; there are: {names}")
        return self.known[name]

    def adding(self, context: Context) -> "Contexts":
        """The first context added is the current one."""
        known = {**self.known, context.name: context}
        return Contexts(self.current or context.name, known)

    def using(self, name: str) -> "Contexts":
        return replace(self, current=self.get(name).name)

    def removing(self, name: str) -> "Contexts":
        gone = self.get(name).name
        known = {key: value for key, value in self.known.items() if key != gone}
        return Contexts(None if self.current == gone else self.current, known)


def select(name: str | None) -> Context:
    """--context, then the environment, then the current context, then `penstock up` here."""
    found = load().get(name) if name else from_environment() or current() or from_ready()
    if found is None:
        raise errors.NoApi
    return found


def from_environment() -> Context | None:
    api, token = os.environ.get("PENSTOCK_API"), os.environ.get("PENSTOCK_TOKEN")
    if not api:
        return None
    if not token:
        raise errors.Misused("PENSTOCK_API is set but PENSTOCK_TOKEN is not: set both or neither")
    held = secrets.clean(token, "PENSTOCK_TOKEN")
    return Context("environment", check(api), held, os.environ.get("PENSTOCK_PROJECT"))


def address() -> str:
    """Where the API is, for whoever has no token for it yet."""
    api = os.environ.get("PENSTOCK_API")
    return check(api) if api else select(None).api


def overridden(name: str | None) -> str | None:
    """Why commands do not use the current context, if they do not; `name` is that context."""
    if not os.environ.get("PENSTOCK_API"):
        return None
    instead = f", or say --context {name}" if name else ""
    if not os.environ.get("PENSTOCK_TOKEN"):
        return (
            f"PENSTOCK_API is set and PENSTOCK_TOKEN is not, so commands refuse: unset it{instead}"
        )
    return f"PENSTOCK_API and PENSTOCK_TOKEN are set, so commands use those: unset them{instead}"


def current() -> Context | None:
    contexts = load()
    return contexts.known.get(contexts.current) if contexts.current else None


def from_ready() -> Context | None:
    """What `penstock up` wrote when it became ready, if it runs from this folder."""
    if not READY.exists():
        return None
    if not _held(READY.with_name("lock")):
        raise errors.PlatformEnded(str(READY))
    ready = _read(READY)
    return _context(f"{READY}", {**ready, "token": ready.get("admin_token")})


def _held(lock: Path) -> bool:
    """Whether a `penstock up` runs: it holds the lock, and the kernel lets go when it dies."""
    import fcntl

    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:  # somebody holds it; or we may not look, and believe it
        return True
    return False


def check(api: str) -> str:
    try:
        parts = urlsplit(api)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise errors.Misused(f"{api!r} is not an address") from None
    if "@" in parts.netloc:
        raise errors.Misused("an API address has no user and no password in it")
    plain = api.isascii() and api.isprintable() and " " not in api
    if not known or not plain or not api.startswith(("https://", "http://")):
        raise errors.Misused(f"{api!r} is not an API address: it begins with https:// or http://")
    return api.rstrip("/")


def path() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("penstock")) / "contexts.json"


def load() -> Contexts:
    if not path().exists():
        return Contexts(None, {})
    stored = _read(path())
    current, known = stored.get("current"), stored.get("contexts", {})
    if not isinstance(known, dict) or not isinstance(current, str | None):
        raise errors.Misused(_damaged(path(), "it does not list contexts"))
    listed = cast("Mapping[str, object]", known)
    return Contexts(current, {name: _context(name, fields) for name, fields in listed.items()})


def save(contexts: Contexts) -> None:
    """Replace the file in one step; its owner alone may read it."""
    stored = {
        "current": contexts.current,
        "contexts": {name: _stored(each) for name, each in contexts.known.items()},
    }
    target = path()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(stored, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise errors.ClientError(f"{target} cannot be written: {error.strerror}") from None


@contextmanager
def locked() -> Generator[None]:
    """While one command signs in again, others wait: a refresh token is good once."""
    import fcntl

    path().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path().with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _stored(context: Context) -> Mapping[str, object]:
    stored: dict[str, object] = {
        "api": context.api,
        "token": context.token,
        "project": context.project,
    }
    if context.login is not None:
        stored["login"] = asdict(context.login)
    return stored


def _read(source: Path) -> Mapping[str, object]:
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise errors.Misused(_damaged(source, str(error))) from error
    if not isinstance(content, dict):
        raise errors.Misused(_damaged(source, "it is not a JSON object"))
    return cast("Mapping[str, object]", content)


def _damaged(source: Path, why: str) -> str:
    return f"{source} cannot be read ({why}): put back a copy, or delete it and begin anew"


def _context(name: str, stored: object) -> Context:
    fields: Mapping[str, object] = (
        cast("Mapping[str, object]", stored) if isinstance(stored, dict) else {}
    )
    api, token, project = fields.get("api"), fields.get("token"), fields.get("project")
    if not isinstance(api, str) or not isinstance(token, str):
        raise errors.Misused(f"context {name!r} has no API or no token: add it again")
    named = project if isinstance(project, str) else None
    held = secrets.clean(token, f"the token of context {name!r}")
    return Context(name, check(api), held, named, _login(fields.get("login")))


def _login(stored: object) -> Login | None:
    if not isinstance(stored, dict):
        return None
    match cast("Mapping[str, object]", stored):
        case {
            "issuer": str(issuer),
            "refresh_token": str(token),
            "expires_at": int() | float() as expires_at,
        }:
            return Login(issuer, Secret(token), float(expires_at))
        case _:
            return None
