"""Templates over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from penstock.central.policies.api import Ceiling
from penstock.central.quotas.form import Limit, Limits, LimitView
from penstock.central.quotas.model import measure
from penstock.central.templates import service
from penstock.central.templates.model import Template
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Images, Name, Names, Reference, References, Tags
from penstock.placement.model import Strategy
from penstock_contracts.ids import TemplateId

router = APIRouter(prefix="/v1/templates", tags=["tenants"], route_class=TxRoute)


class NewTemplate(Body):
    """What is left out is not restricted. With a site it is a compute source's own, and whoever
    is onboarded with it is bound to that site."""

    site: Reference | None = None
    sites: References | None = None
    skus: Names | None = None
    images: Images | None = None
    families: Names | None = None
    residency: Tags = Field(default_factory=list[str])
    strategy: Literal["pack", "spread"] = "pack"
    price_micros_max: Ceiling | None = None
    quotas: Limits = Field(default_factory=list[Limit])


class TemplateView(View):
    id: str
    name: str
    revision: int
    site: str | None
    sites: list[str] | None
    skus: list[str] | None
    images: list[str] | None
    families: list[str] | None
    residency: list[str]
    strategy: str
    price_micros_max: int | None
    quotas: list[LimitView]

    @classmethod
    def of(cls, template: Template) -> "TemplateView":
        return cls(
            id=template.id,
            name=template.name,
            revision=template.revision,
            site=template.site_id,
            sites=_list(template.sites),
            skus=_list(template.skus),
            images=_list(template.images),
            families=_list(template.families),
            residency=list(template.residency),
            strategy=template.strategy,
            price_micros_max=template.price_micros_max,
            quotas=[
                LimitView.of(of, most)
                for of, most in sorted((measure(of), n) for of, n in template.quotas.items())
            ],
        )


def _list(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


@router.get("")
async def list_templates(actor: Caller, tx: Tx, paging: PageQuery) -> Page[TemplateView]:
    """What tenants can be onboarded with."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, TemplateView.of, lambda template: template.id)


@router.get("/{id}")
async def get_template(id: str, actor: Caller, tx: Tx) -> TemplateView:
    """One template, by id or by name."""
    return TemplateView.of(await service.get(tx, actor, id))


@router.put("/{name}")
async def set_template(
    name: Annotated[Name, Path()], body: NewTemplate, actor: Caller, tx: Tx
) -> TemplateView:
    """Make or replace a template. Tenants that have it already stay as they are."""
    wanted = Template(
        id=TemplateId(""),
        name=name,
        skus=_tuple(body.skus),
        images=_tuple(body.images),
        families=_tuple(body.families),
        residency=tuple(body.residency),
        strategy=Strategy(body.strategy),
        price_micros_max=body.price_micros_max,
        quotas={str(limit.measure): limit.most for limit in body.quotas},
    )
    return TemplateView.of(await service.put(tx, actor, wanted, site=body.site, sites=body.sites))
