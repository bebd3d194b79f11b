"""The keys of realms: made when first needed, turned when they are old, or when asked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from joserfc import jwt
from joserfc.jwk import ECKey

from penstock.central.realms.keys import store
from penstock.central.realms.keys.model import Key, State
from penstock.central.realms.keys.store import Sealed
from penstock.central.realms.model import ALGORITHM
from penstock.kernel import audit, sealing
from penstock.kernel.actor import SYSTEM, Actor
from penstock.kernel.db import Database, Tx
from penstock.kernel.sealing import Seal, SealBroken
from penstock.kernel.stalls import clock_s
from penstock_contracts.files import Damaged
from penstock_contracts.ids import TenantId

REMEMBERED_S: Final = 60.0  # then it is asked again whether the key is old


@dataclass(frozen=True)
class Signer:
    kid: str
    key: ECKey = field(repr=False)

    def sign(self, kind: str, claims: Mapping[str, object]) -> str:
        header = {"alg": ALGORITHM, "kid": self.kid, "typ": kind}
        return jwt.encode(header, dict(claims), self.key, [ALGORITHM])


class Keyring:
    """The current key of each realm, remembered for a minute.

    Another replica may turn it meanwhile, so whoever signs asks `holds` in the transaction of
    what it signs.
    """

    def __init__(self, database: Database, seal: Seal) -> None:
        self._database = database
        self._seal = seal
        self._remembered: dict[TenantId, tuple[float, Signer]] = {}

    async def signer(self, tenant_id: TenantId) -> Signer:
        until, signer = self._remembered.get(tenant_id, (0.0, None))
        if signer is None or clock_s() >= until:
            signer = await self._database.run(lambda tx: self._load(tx, tenant_id), patient=False)
            self._remembered[tenant_id] = (clock_s() + REMEMBERED_S, signer)
        return signer

    async def holds(self, tx: Tx, tenant_id: TenantId, signer: Signer) -> bool:
        """Whether this is the current key, until the transaction ends; if not, it is forgotten."""
        await store.lock_shared(tx, tenant_id)
        if await store.state(tx, signer.kid) == State.CURRENT:
            return True
        if self._remembered.get(tenant_id, (0.0, None))[1] is signer:
            del self._remembered[tenant_id]
        return False

    async def published(self, tenant_id: TenantId) -> list[Key]:
        """What whoever checks our signatures needs."""
        await self.signer(tenant_id)  # there are none before the first
        async with self._database.transaction(tenant=tenant_id) as tx:
            return [key for key in await store.all_of(tx, tenant_id) if key.believed(tx.now)]

    async def rotate(self, tx: Tx, actor: Actor, tenant_id: TenantId, *, distrust: bool) -> str:
        """The next key signs from now on. `distrust` kills what the old one signed."""
        await store.lock(tx, tenant_id)
        keys = await self._ensure(tx, tenant_id)
        return await self._turn(tx, actor, tenant_id, keys, distrust=distrust)

    async def _load(self, tx: Tx, tenant_id: TenantId) -> Signer:
        keys = _by_state(await store.all_of(tx, tenant_id))
        if State.CURRENT not in keys or keys[State.CURRENT].overdue(tx.now):
            await store.lock(tx, tenant_id)
            keys = await self._ensure(tx, tenant_id)
            if keys[State.CURRENT].overdue(tx.now):
                await self._turn(tx, SYSTEM, tenant_id, keys, distrust=False)
                keys = _by_state(await store.all_of(tx, tenant_id))
        kid = keys[State.CURRENT].kid
        private = self._seal.open(_purpose(tenant_id, kid), await store.sealed(tx, kid))
        return Signer(kid, ECKey.import_key(json.loads(private)))

    async def _ensure(self, tx: Tx, tenant_id: TenantId) -> dict[State, Key]:
        keys = _by_state(await store.all_of(tx, tenant_id))
        for state in (State.CURRENT, State.NEXT):
            if state not in keys:
                await self._make(tx, tenant_id, state)
        return _by_state(await store.all_of(tx, tenant_id))

    async def _turn(
        self,
        tx: Tx,
        actor: Actor,
        tenant_id: TenantId,
        keys: Mapping[State, Key],
        *,
        distrust: bool,
    ) -> str:
        old, new = keys[State.CURRENT].kid, keys[State.NEXT].kid
        await store.turn(tx, old, State.DISTRUSTED if distrust else State.RETIRED)
        await store.turn(tx, new, State.CURRENT)
        await self._make(tx, tenant_id, State.NEXT)
        audit.record(
            tx, actor, "realm.rotate", tenant_id, tenant_id=tenant_id, old=old, new=new,
            distrusted=distrust,
        )  # fmt: skip
        return new

    async def _make(self, tx: Tx, tenant_id: TenantId, state: State) -> None:
        key = ECKey.generate_key("P-256", private=True)
        kid = key.thumbprint()
        private = json.dumps(key.as_dict(private=True)).encode()
        public = cast("dict[str, str]", key.as_dict(private=False))
        named = {**public, "kid": kid, "use": "sig", "alg": ALGORITHM}
        sealed = self._seal.seal(_purpose(tenant_id, kid), private)
        await store.add(tx, tenant_id, kid, state, named, sealed)


async def load_seal(database: Database, path: Path) -> Seal:
    """The seal at `path`, made on first use. Refuses one that does not open what is stored."""
    return _seal(path, await database.run(store.any_sealed))


def _seal(path: Path, some: Sealed | None) -> Seal:
    copy = "put back a copy; what else can be done, docs/operations.md says under Files"
    if some is None:
        return sealing.load_or_create(path)
    if not path.exists():
        raise Damaged(path, "is gone, and realms' keys are sealed with it", copy)
    seal = sealing.load_or_create(path)
    try:
        seal.open(_purpose(some.tenant_id, some.kid), some.sealed)
    except SealBroken:
        raise Damaged(path, "does not open what is sealed in the database", copy) from None
    return seal


def _purpose(tenant_id: TenantId, kid: str) -> str:
    return f"signing key {kid} of {tenant_id}"


def _by_state(keys: list[Key]) -> dict[State, Key]:
    """The one current and the one next key; of the others, any."""
    return {key.state: key for key in keys}
