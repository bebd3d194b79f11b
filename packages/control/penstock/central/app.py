"""Central as one ASGI application and one process."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from penstock.central import retention, routers
from penstock.central.access import hidden, keys
from penstock.central.access.in_force import IN_FORCE
from penstock.central.allocations import ending
from penstock.central.audit.exporter import Exporter
from penstock.central.defragmentation.planner import Planner
from penstock.central.events import CATALOGUE
from penstock.central.link import SiteLinks
from penstock.central.offboardings import reconciler as leaving
from penstock.central.onboardings import reconciler as coming
from penstock.central.onboardings import service as onboarding_service
from penstock.central.placement import api as placement
from penstock.central.placement import following, rounds
from penstock.central.placement.commit import Committer
from penstock.central.placement.queue import Queue
from penstock.central.placement.reading import Reading
from penstock.central.realms import callers
from penstock.central.realms.hosts import configured as realm_providers
from penstock.central.realms.hosts.reconciler import Hosting
from penstock.central.realms.keys.service import Keyring, load_seal
from penstock.central.realms.pages import refusals
from penstock.central.realms.passwords import Passwords
from penstock.central.realms.service import Realms
from penstock.central.settings import CentralSettings
from penstock.central.sites import absence, enrolment
from penstock.central.sites import service as site_service
from penstock.central.sites.service import Trust
from penstock.central.sweeping import Sweeper
from penstock.kernel import authority, db, events, loops, migrations, process
from penstock.kernel.denials import Denials
from penstock.kernel.http import description, ops, web
from penstock.kernel.http.direct import Direct
from penstock.kernel.http.edge import Doors, Edge
from penstock.kernel.http.gateway import Gateway
from penstock.kernel.loops import Loops
from penstock.kernel.objects import Objects
from penstock.kernel.readiness import Writable
from penstock.kernel.stalls import Stalls
from penstock.kernel.stopping import Stopping
from penstock.kernel.wakeups import Wakeups
from penstock_contracts import VERSION
from penstock_contracts.drivers.realm import RealmProvider
from penstock_contracts.files import Damaged

DOORS = Doors(
    always=frozenset({"/healthz", "/readyz"}),
    streams=frozenset({"/v1/events", "/v1/ws"}),
    # Forms, tokens and codes; and what makes us ask another issuer.
    attempts=re.compile(r"POST /realms/|GET /realms/[^/]+/(device$|provider/)"),
)


def create() -> FastAPI:
    """The API without its state; enough to describe itself."""
    app = FastAPI(
        title="Penstock",
        version=VERSION,
        description="One management plane for GPU compute from every source.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # FastAPI's runs scripts of other origins; ours is `documentation`
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever `Host` says
    )
    for router in routers.ROUTERS:
        app.include_router(router)
    description.complete(app, CATALOGUE)
    return app


async def migrate(settings: CentralSettings) -> None:
    """Bring the database up to date, as its owner."""
    await migrations.migrate(migrations.owner(settings.owner_url, "central"), "central")


async def serve(settings: CentralSettings, stopping: Stopping | None = None) -> None:
    """Run until cancelled; `stopping` says how to end."""
    async with realm_providers.opened(settings) as providers:
        await _serve(settings, stopping or Stopping(), providers)


async def _serve(
    settings: CentralSettings, stopping: Stopping, providers: Mapping[str, RealmProvider]
) -> None:
    stalls = Stalls()
    hangups = process.hangups()
    await IN_FORCE.begin(settings.policies)
    if settings.owner_url is not None:
        await migrate(settings)
    await migrations.check(settings.database_url, "central")
    database = await db.connect(settings.database_url, "central", catalogue=CATALOGUE)
    if settings.bootstrap_token_file is not None:
        token = _read_token(settings.bootstrap_token_file)
        await database.run(lambda tx: keys.ensure_bootstrap(tx, token))
    await database.run(lambda tx: site_service.forget_connections(tx, settings.replica))
    root = authority.load_or_create_root(
        settings.data, timedelta(seconds=settings.certificate_life_s)
    )
    seal = await load_seal(database, settings.data / "seal.key")
    realms = Realms(
        database, settings.url, seal, Keyring(database, seal), Passwords(),
        providers=tuple(sorted(providers)), default_provider=settings.realm_provider,
    )  # fmt: skip
    objects = Objects(settings.audit_url)
    exporter = Exporter(database, objects, root.key)
    trimmer = retention.trimmer(database, settings, objects, root.key)
    wakeups = Wakeups(settings.database_url)
    hosting = Hosting(database, wakeups, providers, settings.url, onboarding_service.go_on)
    kept = timedelta(seconds=settings.idempotency_kept_s)
    sweeper = Sweeper(database, settings.sweep_every_s, kept)
    committer = Committer(database, stalls)
    queue = Queue(committer.commit, committer.follow)
    app = create()
    gateway = Gateway(settings.limits)
    holders = keys.Holders(database, stalls)
    caller = gateway.guard(partial(callers.authenticate, realms, holders))
    denials = Denials(database, existing=hidden.existing)
    web.install(
        app, database=database, authenticate=caller, denials=denials, refused=refusals.respond
    )
    app.state.realms = realms
    app.state.wakeups = wakeups
    app.state.placement = queue
    app.state.recall = partial(callers.recall, holders)
    app.state.stopping = stopping
    app.state.fleet = Reading(stalls)
    app.state.planner = Planner(database, app.state.fleet)
    app.state.loops = known = Loops("central", settings.replica)
    app.state.trust = Trust(settings.join_address, enrolment.SERVER_NAME, root)
    checks: dict[str, ops.Check] = {
        "database": Writable(database),
        "stopping": stopping.ready,
    }
    app.router.routes.extend(ops.routes(checks))
    api = ops.server(
        front(app, gateway, settings, stalls, stopping),
        settings.http_listen,
        proxies=settings.trusted_proxies,
    )
    servers = [api, ops.server(ops.app(checks, known), settings.metrics_listen)]
    stopping.then(partial(events.end, wakeups), queue.finish, api.finish)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        stack.push_async_callback(database.close)
        stack.callback(realms.passwords.close)
        url = settings.database_url
        known.start(
            group,
            (
                stalls.loop(),
                loops.listening(wakeups),
                queue.loop(),
                denials.loop(),
                IN_FORCE.loop(hangups),
                exporter.loop(wakeups, url),
                absence.loop(database, wakeups, settings.site_grace),
                *rounds.both(database, wakeups, queue.decide),
                ending.loop(database, wakeups, settings.ending_warning),
                following.loop(wakeups, queue.follow),
                coming.loop(database, wakeups),
                leaving.loop(database, wakeups),
                *hosting.loops(url),
                sweeper.loop(url),
                trimmer.loop(url),
            ),
        )
        await stack.enter_async_context(SiteLinks(database, wakeups, root, settings).listen())
        ops.start(group, servers)
        for server in servers:
            await server.listening.wait()
        await wakeups.listening.wait()
        process.tell_ready(api=f"http://{settings.http_listen}")


def front(
    app: FastAPI, gateway: Gateway, settings: CentralSettings, stalls: Stalls, stopping: Stopping
) -> ASGIApp:
    """The API behind its gateway."""
    inner = Direct(app, placement.asking.routes)
    edge = Edge(
        inner, gateway, DOORS, hsts_s=settings.hsts_s, refused=refusals.respond,
        stalls=stalls, stopping=stopping,
    )  # fmt: skip
    if not settings.cors_origins:
        return edge
    return CORSMiddleware(
        edge,
        allow_origins=settings.cors_origins,
        allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
        allow_headers=(
            "Authorization", "Idempotency-Key", "Last-Event-ID", "X-Correlation-Id", "X-Reason",
        ),
        expose_headers=(
            "Idempotency-Replayed", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
            "Retry-After", "X-Correlation-Id",
        ),
    )  # fmt: skip


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise Damaged(path, f"cannot be read ({error})", "put a token there, or unset it") from None
    if not token:
        raise Damaged(path, "is empty", "put a token there, or unset it")
    return token
