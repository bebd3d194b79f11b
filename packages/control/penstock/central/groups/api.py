"""Groups over HTTP."""

from datetime import datetime

from fastapi import APIRouter

from penstock.central.groups import service
from penstock.central.groups.model import Group, Member
from penstock.kernel.http.paging import Page, PageQuery
from penstock.kernel.http.web import Body, Caller, Tx, TxRoute, View
from penstock.kernel.names import Name, Reference

router = APIRouter(prefix="/v1/groups", tags=["roles"], route_class=TxRoute)


class NewGroup(Body):
    name: Name
    tenant: Reference | None = None


class NewMember(Body):
    member: Reference


class GroupView(View):
    id: str
    tenant: str | None
    name: str
    created_at: datetime

    @classmethod
    def of(cls, group: Group) -> "GroupView":
        return cls(
            id=group.id, tenant=group.tenant_id, name=group.name, created_at=group.created_at
        )


class MemberView(View):
    id: str
    kind: str
    name: str
    added_at: datetime

    @classmethod
    def of(cls, member: Member) -> "MemberView":
        return cls(id=member.id, kind=member.kind, name=member.name, added_at=member.added_at)


class GroupMembersView(GroupView):
    members: list[MemberView]

    @classmethod
    def with_members(cls, found: tuple[Group, list[Member]]) -> "GroupMembersView":
        group, members = found
        return cls(
            id=group.id,
            tenant=group.tenant_id,
            name=group.name,
            created_at=group.created_at,
            members=[MemberView.of(member) for member in members],
        )


@router.get("")
async def list_groups(actor: Caller, tx: Tx, paging: PageQuery) -> Page[GroupView]:
    """Groups you may see."""
    rows = await service.page(tx, actor, paging.after, paging.fetch)
    return paging.page(rows, GroupView.of, lambda group: group.id)


@router.post("", status_code=201)
async def create_group(body: NewGroup, actor: Caller, tx: Tx) -> GroupView:
    """Create a group in your tenant (or, as the platform, in the one you name, or its own)."""
    return GroupView.of(await service.create(tx, actor, name=body.name, tenant=body.tenant))


@router.get("/{id}")
async def get_group(id: str, actor: Caller, tx: Tx) -> GroupMembersView:
    """One group, and who is in it."""
    return GroupMembersView.with_members(await service.get(tx, actor, id))


@router.delete("/{id}")
async def delete_group(id: str, actor: Caller, tx: Tx) -> GroupMembersView:
    """Delete it, with what was bound to it. Answers what it was; its members have its roles no
    more."""
    return GroupMembersView.with_members(await service.delete(tx, actor, id))


@router.post("/{id}/members")
async def add_group_member(id: str, body: NewMember, actor: Caller, tx: Tx) -> GroupMembersView:
    """Put a user or a service account into it: they have its roles from now on."""
    return GroupMembersView.with_members(await service.add_member(tx, actor, id, body.member))


@router.delete("/{id}/members/{member}")
async def remove_group_member(id: str, member: str, actor: Caller, tx: Tx) -> GroupMembersView:
    """Take someone out of it: its roles are theirs no more."""
    return GroupMembersView.with_members(await service.remove_member(tx, actor, id, member))
