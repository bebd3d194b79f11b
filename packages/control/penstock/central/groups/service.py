"""What may be done to groups. The caller owns the transaction."""

from penstock.central.access import grants, handing
from penstock.central.access.authorization import Resource, authorize
from penstock.central.bindings import service as bindings
from penstock.central.groups import store
from penstock.central.groups.model import Group, Member
from penstock.central.tenants import service as tenants
from penstock.kernel import audit, events
from penstock.kernel.actor import Actor
from penstock.kernel.db import Tx
from penstock.kernel.errors import Invalid, NotFound
from penstock_contracts.ids import GroupId


def resource(group: Group) -> Resource:
    return Resource("group", group.id, group.tenant_id)


async def create(tx: Tx, actor: Actor, *, name: str, tenant: str | None) -> Group:
    """A group of one's tenant; of the platform, if its own name no tenant."""
    owner = await tenants.owner(tx, actor, tenant, "group.create")
    group = Group(GroupId.new(), owner, name, tx.now)
    await store.add(tx, group)
    audit.record(tx, actor, "group.create", group.id, tenant_id=owner, name=name)
    events.emit(tx, "group.created", group.id, tenant_id=owner, name=name)
    return group


async def get(tx: Tx, actor: Actor, id: str) -> tuple[Group, list[Member]]:
    group = _there(await store.find(tx, id), id)
    authorize(actor, "group.view", resource(group))
    return group, await store.members(tx, group.id)


async def page(tx: Tx, actor: Actor, after: str, limit: int) -> list[Group]:
    authorize(actor, "group.view", Resource("group", None, actor.tenant_id))
    return await store.page(tx, after, limit)


async def add_member(tx: Tx, actor: Actor, id: str, member: str) -> tuple[Group, list[Member]]:
    """From their next request on they have the group's roles. Adding again changes nothing."""
    group = await _permitted(tx, actor, id, "group.add_member")
    given = await grants.of(tx, group.id)
    handing.refuse_wider(actor, "group.add_member", resource(group), given, handing.THEIRS)
    kind = await store.kind_of(tx, group.tenant_id, member)
    if kind is None:
        whose = f"tenant {group.tenant_id}" if group.tenant_id else "the platform"
        raise Invalid(
            f"member: {whose} has no user or service account {member!r}", code="unknown_member"
        )
    if await store.add_member(tx, group, member, kind):
        _tell(tx, actor, group, "add_member", member)
    return group, await store.members(tx, group.id)


async def remove_member(tx: Tx, actor: Actor, id: str, member: str) -> tuple[Group, list[Member]]:
    """Afterwards they are not in it; also if they were not before."""
    group = await _permitted(tx, actor, id, "group.remove_member")
    if await store.remove_member(tx, group, member):
        _tell(tx, actor, group, "remove_member", member)
    return group, await store.members(tx, group.id)


async def delete(tx: Tx, actor: Actor, id: str) -> tuple[Group, list[Member]]:
    """It is gone, and what was bound to it: from their next request on, its members are without."""
    group = await _permitted(tx, actor, id, "group.delete")
    members = await store.members(tx, group.id)
    ended = await bindings.end_of(tx, actor, group.id)
    await store.delete(tx, group)
    before = {
        "name": group.name,
        "members": [member.id for member in members],
        "roles": [binding.id for binding in ended],
    }
    audit.record(tx, actor, "group.delete", group.id, tenant_id=group.tenant_id, before=before)
    events.emit(tx, "group.deleted", group.id, tenant_id=group.tenant_id, name=group.name)
    return group, members


def _there(group: Group | None, id: str) -> Group:
    if group is None:
        raise NotFound("group", id)
    return group


async def _permitted(tx: Tx, actor: Actor, id: str, action: str) -> Group:
    """A group on which the actor may act so, until the transaction ends."""
    group = _there(await store.lock(tx, id), id)
    authorize(actor, action, await tenants.with_status(tx, resource(group)))
    return group


def _tell(tx: Tx, actor: Actor, group: Group, verb: str, member: str) -> None:
    audit.record(tx, actor, f"group.{verb}", group.id, tenant_id=group.tenant_id, member=member)
    happened = "group.member_added" if verb == "add_member" else "group.member_removed"
    events.emit(tx, happened, group.id, tenant_id=group.tenant_id, member=member)
