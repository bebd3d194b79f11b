"""Who follows events from before the log begins is told so, and never given less."""

import pytest
from websockets.exceptions import InvalidStatus

from . import plane
from .plane import Central, Tenant
from .test_events import events, socket

pytestmark = pytest.mark.anyio


async def trim(central: Central) -> int:
    """All events so far are gone; the last of them."""
    last: int = await central.value("SELECT max(seq) FROM events")
    await plane.as_superuser(
        central.settings.database_url,
        f"UPDATE log_starts SET seq = {last} WHERE log = 'events'; "
        f"DELETE FROM events WHERE seq <= {last}",
    )
    return last


async def test_a_cursor_before_the_log_is_refused_at_both_doors(
    central: Central, tenant: Tenant
) -> None:
    last = await trim(central)
    headers = {"Last-Event-ID": str(last - 1)}
    refused = await tenant.viewer.send("GET", "/v1/events", headers=headers)
    assert (refused.status, refused.code) == (410, "events_trimmed")
    assert f"begins after {last}" in refused.json["detail"]
    assert "without Last-Event-ID" in refused.json["suggestion"]
    with pytest.raises(InvalidStatus) as closed:
        async with socket(central, tenant.viewer, f"?after={last - 1}"):
            pass
    assert closed.value.response.status_code == 410


async def test_who_saw_the_last_that_went_or_begins_with_what_there_is_reads_on(
    central: Central, tenant: Tenant
) -> None:
    last = await trim(central)
    async with (
        events(tenant.viewer, str(last)) as resumed,
        events(tenant.viewer, "0") as whole,
        events(tenant.viewer) as fresh,
    ):
        await tenant.admin.made("/v1/projects", name="another")
        for stream in (resumed, whole, fresh):
            id, envelope = await stream.next()
            assert int(id) > last
            assert envelope["type"] == "project.created"
