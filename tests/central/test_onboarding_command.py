"""`penstock tenant onboard`, `offboard` and `network` against a real central."""

import asyncio
import json
from pathlib import Path

import pytest

from penstock_client import main

from .plane import TOKEN, Central
from .stand_in_site import StandInSite
from .test_onboarding import pools

pytestmark = pytest.mark.anyio

FILE = """
tenant: acme
admin:
  email: ada@acme.example
template: small
networks:
  - {vlans: 2, pkey: true, ipv4: [24]}
quotas:
  - {gpus_max: 16}
organizations:
  - name: research
    projects:
      - {name: llm, quotas: [{gpus_max: 4}]}
"""


def write(folder: Path) -> None:
    (folder / "small.yaml").write_text("skus: [h100.slice]\nsites: [site-a]\n")
    (folder / "tenant.yaml").write_text(FILE)


async def run(*argv: str) -> int:
    return await asyncio.to_thread(main.run, argv)


async def test_a_tenant_comes_and_goes_from_the_command_line(
    central: Central,
    site: StandInSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PENSTOCK_API", f"http://{central.settings.http_listen}")
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    await pools(central)
    write(tmp_path)
    assert await run("template", "set", "small", "--file", "small.yaml") == 0
    assert await run("tenant", "onboard", "--file", "tenant.yaml") == 0
    out = capsys.readouterr().out
    steps = [line.split("s  ", 1)[1] for line in out.splitlines() if line.startswith("  +")]
    named = [step.split()[0] for step in steps if " done" in step]
    assert named == ["domain", "realm", "admin", "network", "quotas", "projects", "ready"]
    link = out.splitlines()[-1]
    assert link.startswith(f"http://{central.settings.http_listen}/realms/acme/invitation?token=")
    assert (await central.client.get(link)).status_code == 200, "and it works"

    assert await run("tenant", "onboard", "--file", "tenant.yaml", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert [step["name"] for step in again["steps"] if step["changed"]] == []
    assert await run("tenant", "network", "expand", "acme", "--vlans", "1") == 0
    assert "vlan" in capsys.readouterr().out
    assert await run("tenant", "network", "show", "acme", "--json") == 0
    network = json.loads(capsys.readouterr().out)["items"]
    assert len([each for each in network if each["kind"] == "vlan"]) == 3
    assert await run("tenant", "onboard", "--file", "tenant.yaml") == 1, "3 VLANs are more than 2"
    assert "only grows" in capsys.readouterr().err
    assert await run("pool", "ls") == 0
    assert "7 free" in capsys.readouterr().out

    assert await run("tenant", "suspend", "acme", "--reason", "unpaid") == 0
    assert await run("tenant", "offboard", "acme", "--reason", "left", "--watch") == 0
    assert "tenant.offboarded" in capsys.readouterr().out
    assert (await central.platform.get("/v1/pools/vlans")).json["assigned"] == 0


async def test_limits_go_from_a_template_and_a_file_to_the_list_and_stay_exact(
    central: Central,
    site: StandInSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PENSTOCK_API", f"http://{central.settings.http_listen}")
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    await pools(central)
    most = 2**53 - 1
    (tmp_path / "small.yaml").write_text(
        f"quotas: [{{clusters_max: 9}}, {{volumes_bytes_max: {most}}}]\n"
    )
    (tmp_path / "tenant.yaml").write_text(FILE.replace("{gpus_max: 16}", "{clusters_max: 4}"))

    async def limits() -> dict[str, int]:
        assert await run("quota", "ls", "--tenant", "acme", "--json") == 0
        listed = json.loads(capsys.readouterr().out)["items"]
        return {line["kind"]: line["limit"] for line in listed}

    async def changed() -> list[str]:
        assert await run("tenant", "onboard", "--file", "tenant.yaml", "--json") == 0
        steps = json.loads(capsys.readouterr().out)["steps"]
        return [step["name"] for step in steps if step["changed"]]

    assert await run("template", "set", "small", "--file", "small.yaml") == 0
    assert f"clusters 9, volumes {most} B" in capsys.readouterr().out
    assert "quotas" in await changed()
    given = {"gpus": None, "clusters": 4, "volumes": most}
    assert await limits() == given, "what the file says goes before"
    assert await changed() == []
    assert await run("quota", "set", "--tenant", "acme", "--volumes", "1.5TiB") == 0
    assert "1536 GiB" in capsys.readouterr().out
    assert await limits() == {**given, "volumes": 3 * 2**39}
    assert await changed() == ["quotas"]
    assert await limits() == given
    assert await run("quota", "set", "--tenant", "acme", "--volumes", "8PiB") == 1
    assert "volumes_bytes_max" in capsys.readouterr().err
    assert await run("quota", "rm", "--tenant", "acme", "--kind", "clusters") == 0
    capsys.readouterr()
    assert await limits() == {"gpus": None, "volumes": most}
