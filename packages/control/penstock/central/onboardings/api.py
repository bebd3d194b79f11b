"""Onboardings over HTTP."""

from datetime import datetime

from fastapi import APIRouter, Request

from penstock.central.onboardings import service
from penstock.central.onboardings.file import TenantFile
from penstock.central.onboardings.hosts import Hosts
from penstock.central.onboardings.model import Onboarding, Step
from penstock.central.realms.service import Realms
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Caller, Tx, TxRoute, View

router = APIRouter(prefix="/v1/onboardings", tags=["tenants"], route_class=TxRoute)


class OnboardingStepView(View):
    name: str
    status: str
    detail: str
    changed: bool
    at: datetime | None

    @classmethod
    def of(cls, step: Step) -> "OnboardingStepView":
        return cls(
            name=step.name,
            status=step.status,
            detail=step.detail,
            changed=step.changed,
            at=step.at,
        )


class OnboardingView(View):
    """`tenant` is null until the first step made or found it."""

    id: str
    name: str
    tenant: str | None
    admin: str
    status: str
    reason: str
    steps: list[OnboardingStepView]
    created_by: str
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, onboarding: Onboarding) -> "OnboardingView":
        return cls(
            id=onboarding.id,
            name=onboarding.name,
            tenant=onboarding.tenant_id,
            admin=TenantFile.model_validate(onboarding.file).admin.email,
            status=onboarding.status,
            reason=onboarding.reason,
            steps=[OnboardingStepView.of(step) for step in onboarding.steps],
            created_by=onboarding.created_by,
            created_at=onboarding.created_at,
            finished_at=onboarding.finished_at,
        )


@router.get("")
async def list_onboardings(actor: Caller, tx: Tx, paging: PageQuery) -> Page[OnboardingView]:
    """How tenants came to be, or did not."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, OnboardingView.of, lambda onboarding: onboarding.id)


@router.post("", status_code=202)
async def create_onboarding(
    body: TenantFile, actor: Caller, tx: Tx, request: Request
) -> OnboardingView:
    """Make a tenant what the file says: a new one, or one that is there. Returns at once; watch
    `status` for `done`, or `undone` with the reason. What is so already is not changed."""
    realms: Realms = request.app.state.realms
    hosts = Hosts(realms.providers, realms.default_provider)
    return OnboardingView.of(await service.create(tx, actor, body, hosts))


@router.get("/{id}")
async def get_onboarding(id: str, actor: Caller, tx: Tx) -> OnboardingView:
    """One onboarding, with its seven steps in order."""
    return OnboardingView.of(await service.get(tx, actor, id))


@router.get("/{id}/timeline")
async def get_onboarding_timeline(id: str, actor: Caller, tx: Tx) -> Page[dict[str, object]]:
    """Each step as it went."""
    happened = await service.timeline(tx, actor, id)
    return Page(items=[event.envelope() for event in happened])
