"""Certificates run out all the time: links are dialled again with fresh ones, leases go on."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from . import checks
from .platform import Platform

LIFE_S = "6"


@pytest.fixture
def hasty() -> Iterator[Platform]:
    """A platform whose certificates live for seconds."""
    platform = Platform(
        {"PENSTOCK_SITE_CERTIFICATE_LIFE_S": LIFE_S},
        {"PENSTOCK_CENTRAL_CERTIFICATE_LIFE_S": LIFE_S},
    )
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()


def leaf(folder: Path) -> x509.Certificate:
    held = json.loads((folder / "membership.json").read_text())
    return x509.load_pem_x509_certificate(held["certificate_pem"].encode())


def test_a_lease_outlives_every_certificate_under_it(hasty: Platform) -> None:
    folders = (hasty.data / "site" / "membership", hasty.data / "agent" / "nodes" / "node-0001")
    first = [leaf(folder) for folder in folders]
    id = hasty.lease()
    hasty.until_active(id)
    for happened in ("site.connected", "node.connected"):
        hasty.until_central(
            "SELECT 1 FROM events WHERE type = %s GROUP BY type HAVING count(*) > 2", happened
        )
    for folder, old in zip(folders, first, strict=True):
        assert old.not_valid_after_utc < datetime.now(UTC)
        assert leaf(folder).not_valid_after_utc > old.not_valid_after_utc
        assert leaf(folder).public_key() == old.public_key()
    hasty.release(id)
    hasty.until_freed(id)
    checks.assert_released(hasty, id)
