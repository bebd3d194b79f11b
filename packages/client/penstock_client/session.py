"""From options to a client: which API, and whether calls are made or shown."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock_client import contexts, errors, signin
from penstock_client.api import Client
from penstock_client.contexts import Context
from penstock_client.dry import Curl
from penstock_client.options import Changing, Options


@dataclass(frozen=True)
class Session:
    client: Client
    context: Context

    def project(self, given: str | None) -> str:
        """The project that was named, or the context's own."""
        project = given or self.context.project
        if project is None:
            raise errors.Misused("no project is named: use --project, or set PENSTOCK_PROJECT")
        return project


@contextmanager
def start(options: Options) -> Generator[Session]:
    context = contexts.select(options.context)
    transport = Curl(context.api) if options.curl else None
    reason = options.reason if isinstance(options, Changing) else None
    with Client(context.api, signin.tokens(context), transport=transport, reason=reason) as client:
        yield Session(client, context)
