"""Files that are empty, garbage or gone: named, with what to do next, and left as they are."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from penstock.central.realms.keys import service as realm_keys
from penstock.kernel import authority
from penstock.local import inspection, memory
from penstock.local.errors import Refused
from penstock_contracts import membership
from penstock_contracts.files import Damaged

from . import stand_in_site
from .plane import Central, Tenant

pytestmark = pytest.mark.anyio

HARMS: Final[dict[str, Callable[[Path], object]]] = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\x00\xffgarbage" * 7),
    "no object": lambda path: path.write_bytes(b'["text"]'),
    "gone": Path.unlink,
}
JOINED: Final = ("membership.json", "key.pem", "ca-key.pem")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def check_refusal(
    folder: Path, name: str, harm: str, use: Callable[[], object], kind: type[Exception] = Damaged
) -> None:
    """Harm the file, use the folder: it is refused by the file's name, and nothing changes."""
    HARMS[harm](folder / name)
    before = contents(folder)
    with pytest.raises(kind) as refused:
        use()
    assert str(folder / name) in str(refused.value), harm
    assert "put back" in str(refused.value), harm
    assert contents(folder) == before, harm


async def test_a_membership_is_whole_or_refused(central: Central, tmp_path: Path) -> None:
    await stand_in_site.joined(central, tmp_path / "site", "site-a")
    for name in JOINED:
        for harm in HARMS:
            if (name, harm) == ("membership.json", "gone"):
                continue  # whoever has none has not joined
            folder = tmp_path / f"{name} {harm}"
            shutil.copytree(tmp_path / "site", folder)
            check_refusal(folder, name, harm, lambda folder=folder: membership.load(folder))
    assert membership.load(tmp_path / "site") is not None


async def test_a_members_key_is_the_one_of_its_certificate(
    central: Central, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        await stand_in_site.joined(central, tmp_path / name, f"site-{name}")
    for key in ("key.pem", "ca-key.pem"):
        mixed = tmp_path / f"mixed {key}"
        shutil.copytree(tmp_path / "a", mixed)
        shutil.copy(tmp_path / "b" / key, mixed / key)
        with pytest.raises(Damaged, match=rf"{key} is not the key"):
            membership.load(mixed)


@pytest.mark.parametrize("harm", HARMS)
def test_a_root_is_never_replaced_beside_its_certificate(tmp_path: Path, harm: str) -> None:
    authority.load_or_create_root(tmp_path)
    check_refusal(tmp_path, "ca-key.pem", harm, lambda: authority.load_or_create_root(tmp_path))


@pytest.mark.parametrize("harm", ["empty", "garbage", "no object"])
def test_a_roots_certificate_is_read_or_refused(tmp_path: Path, harm: str) -> None:
    authority.load_or_create_root(tmp_path)
    check_refusal(tmp_path, "ca.pem", harm, lambda: authority.load_or_create_root(tmp_path))


def test_a_root_whose_certificate_is_another_ones_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        authority.load_or_create_root(tmp_path / name)
    shutil.copy(tmp_path / "a" / "ca.pem", tmp_path / "b" / "ca.pem")
    with pytest.raises(Damaged, match=r"ca\.pem is not the certificate of .*ca-key\.pem"):
        authority.load_or_create_root(tmp_path / "b")


async def test_a_seal_that_is_needed_is_never_replaced(central: Central, tenant: Tenant) -> None:
    assert (await central.caller(None).get("/realms/acme/jwks")).status == 200
    path = central.settings.data / "seal.key"
    kept = path.read_bytes()
    other = bytes(32)
    for harm in (lambda: path.write_bytes(b""), lambda: path.write_bytes(other), path.unlink):
        path.write_bytes(kept)
        harm()
        before = contents(path.parent)
        with pytest.raises(Damaged, match=r"seal\.key .*: put back a copy"):
            await realm_keys.load_seal(central.database, path)
        assert contents(path.parent) == before
    path.write_bytes(kept)
    await realm_keys.load_seal(central.database, path)


async def test_up_refuses_a_folder_whose_site_has_joined_what_is_gone(
    central: Central, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    await stand_in_site.joined(central, data / "site" / "membership", "site-a")
    shutil.copytree(data / "site" / "membership", data / "agent" / "nodes" / "node-0001")
    (data / "postgres" / "data").mkdir(parents=True)
    authority.load_or_create_root(data / "central")
    memory.keep(data, memory.Memory("h100-8"))

    def look() -> None:
        inspection.refuse_damage(data, embedded=True)

    look()
    kept = contents(data)
    for name in ("up.json", "central/ca-key.pem", "agent/nodes/node-0001/key.pem"):
        check_refusal(data, name, "gone", look, Refused)
        (data / name).write_bytes(kept[name])
    (data / "postgres" / "data").rmdir()
    with pytest.raises(Refused, match=r"postgres/data is gone"):
        look()
