"""What a file comes to, with its template under it. What the file says goes first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.central.networks.model import Network
from penstock.central.onboardings.file import Placement, TenantFile
from penstock.central.policies import service as policies
from penstock.central.policies.model import Policy
from penstock.central.pools import service as pools
from penstock.central.quotas import rules
from penstock.central.quotas import service as quotas
from penstock.central.quotas.form import Limit, by_measure
from penstock.central.quotas.model import Level, Measure, measure
from penstock.central.templates import service as templates
from penstock.central.templates.model import Template
from penstock.kernel.db import Tx
from penstock.placement.model import Strategy
from penstock_contracts.ids import SiteId, TenantId


@dataclass(frozen=True)
class Intent:
    """None: neither the file nor a template says anything of it, so it stays as it is."""

    policy: Policy | None
    quotas: Mapping[Measure, int] | None
    networks: tuple[Network, ...] | None


async def of(tx: Tx, file: TenantFile) -> Intent:
    """Raises if it names what there is not."""
    template = await templates.find(tx, file.template) if file.template else None
    return Intent(
        policy=await _policy(tx, file.placement, template),
        quotas=_quotas(file, template),
        networks=await _networks(tx, file),
    )


async def check(tx: Tx, file: TenantFile) -> Intent:
    """Also what only later steps would find."""
    intent = await of(tx, file)
    limited = _measures(file) | {(Level.TENANT, each) for each in intent.quotas or ()}
    for level, each in sorted(limited):
        await quotas.refuse_unknown(tx, level, each)
    for part in (intent.quotas or {}, *_below_tenant(file)):
        rules.refuse_parts(part)
    if intent.policy is not None:
        await policies.refuse_unknown_skus(tx, intent.policy.skus)
    return intent


def _measures(file: TenantFile) -> set[tuple[Level, Measure]]:
    """What it limits below the tenant."""
    limits: list[tuple[Level, list[Limit] | None]] = []
    for each in file.organizations:
        limits.append((Level.ORGANIZATION, each.quotas))
        limits += [(Level.PROJECT, project.quotas) for project in each.projects]
    return {(level, limit.measure) for level, some in limits for limit in some or ()}


def _below_tenant(file: TenantFile) -> list[dict[Measure, int]]:
    some = [
        quotas
        for each in file.organizations
        for quotas in (each.quotas, *(project.quotas for project in each.projects))
    ]
    return [by_measure(quotas) for quotas in some if quotas is not None]


async def _policy(tx: Tx, said: Placement | None, template: Template | None) -> Policy | None:
    if said is None and template is None:
        return None
    policy = _from_template(template) if template else Policy(TenantId(""))
    if said is None:
        return policy
    if said.sites is not None:
        policy = replace(policy, sites=await policies.site_ids(tx, said.sites))
    if said.residency is not None:
        policy = replace(policy, residency=tuple(said.residency))
    if said.strategy is not None:
        policy = replace(policy, strategy=Strategy(said.strategy))
    if said.price_micros_max is not None:
        policy = replace(policy, price_micros_max=said.price_micros_max)
    return replace(
        policy,
        skus=policy.skus if said.skus is None else tuple(said.skus),
        images=policy.images if said.images is None else tuple(said.images),
        families=policy.families if said.families is None else tuple(said.families),
    )


def _from_template(template: Template) -> Policy:
    return Policy(
        TenantId(""),
        sites=template.sites,
        families=template.families,
        skus=template.skus,
        images=template.images,
        residency=template.residency,
        strategy=template.strategy,
        price_micros_max=template.price_micros_max,
    )


def _quotas(file: TenantFile, template: Template | None) -> dict[Measure, int] | None:
    if file.quotas is None and (template is None or not template.quotas):
        return None
    given = template.quotas.items() if template else ()
    return {measure(each): most for each, most in given} | by_measure(file.quotas or [])


async def _networks(tx: Tx, file: TenantFile) -> tuple[Network, ...] | None:
    if file.networks is None:
        return None
    wanted: dict[SiteId | None, Network] = {}
    for each in file.networks:
        site_id = await pools.site_of(tx, each.site)
        wanted[site_id] = Network(
            site_id,
            vrfs=1,
            vlans=each.vlans,
            vnis=int(each.vni),
            pkeys=int(each.pkey),
            ipv4=tuple(each.ipv4),
            ipv6=tuple(each.ipv6),
        )
    return tuple(wanted.values())
