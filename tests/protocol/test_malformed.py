"""R29: every operation of the API, called with what its description allows and what it forbids."""

# What schemathesis generates has types that it does not tell:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false

import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.schemas import APIOperation

from penstock.central import app

from .replicas import Replica

pytestmark = pytest.mark.anyio

TOKEN: Final = "pk_platform_of_the_malformed"
EXAMPLES: Final = 10  # for each operation, of what is allowed, and as many of what is not
FINE: Final = settings(
    max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


@dataclass
class Scene:
    address: str
    tokens: list[str]
    ids: list[str]
    statuses: Counter[int] = field(default_factory=Counter[int])
    failures: list[str] = field(default_factory=list[str])

    def call(self, case: Case[Any], token: str, id: str | None) -> None:
        """Send it, with the id of something that is there, or as it was made up."""
        if id is not None and "id" in case.path_parameters:
            case.path_parameters["id"] = id
        try:
            arguments = case.as_transport_kwargs(base_url=self.address)
            headers = {**arguments.pop("headers"), "Authorization": f"Bearer {token}"}
            # A connection of its own: one that was kept may end just when it is used again.
            headers["Connection"] = "close"
            answer = requests.request(**arguments, headers=headers, stream=True, timeout=20)
        except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL, ValueError):
            return  # what cannot be sent over HTTP at all
        except requests.exceptions.ConnectionError as error:
            self.failures.append(f"{case.as_curl_command()}\nwas not answered: {error}")
            return
        with answer:
            self.statuses[answer.status_code] += 1
            known = str(answer.status_code) in case.operation.definition.raw["responses"]
            if answer.status_code >= 500 or not _told(answer) or not known:
                said = answer.text[:300]
                self.failures.append(f"{case.as_curl_command()}\n{answer.status_code} {said}")


def _told(answer: requests.Response) -> bool:
    """Whether a refusal says why, in the way that all do."""
    if answer.status_code < 400 or "json" not in answer.headers.get("content-type", ""):
        return answer.status_code < 400
    return bool(answer.json().get("code"))


@pytest.fixture
async def scene(central_url: str, tmp_path: Path) -> AsyncGenerator[Scene, None]:
    """A platform with a tenant, and a token of each."""
    replica = Replica("central-1", central_url, tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    replica.environment["PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE"] = str(tmp_path / "token")
    try:
        await replica.start()
        async with httpx2.AsyncClient(base_url=replica.address, trust_env=False) as client:
            yield await furnished(client, replica.address)
    finally:
        await replica.kill()


async def furnished(client: httpx2.AsyncClient, address: str) -> Scene:
    async def made(path: str, **body: object) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = await client.post(path, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    tenant = await made("/v1/tenants", name="acme")
    key = await made(f"/v1/tenants/{tenant['id']}/keys", name="k", role="admin")
    things = [
        tenant,
        await made("/v1/projects", name="main", tenant=tenant["id"]),
        await made("/v1/organizations", name="research", tenant=tenant["id"]),
        await made("/v1/sites", name="fra"),
        await made(
            "/v1/skus", name="h100", shape="gpu_slice", family="h100", gpu_counts=[1],
            price_micros_per_gpu_hour=1,
        ),
    ]  # fmt: skip
    return Scene(address, [TOKEN, key["token"]], [thing["id"] for thing in things])


def exercise(scene: Scene, operation: APIOperation[Any, Any, Any, Any]) -> None:
    tokens = st.sampled_from(scene.tokens)
    ids = st.sampled_from([None, *scene.ids])
    for mode in GenerationMode:
        cases = operation.as_strategy(generation_mode=mode)

        @seed(29)
        @FINE
        @given(case=cases, token=tokens, id=ids)
        def call(case: Case[Any], token: str, id: str | None) -> None:
            scene.call(case, token, id)

        with suppress(Unsatisfiable):  # without parameters there is nothing to make wrong
            call()


@pytest.mark.timeout(600)  # thousands of calls
async def test_no_input_leads_to_an_answer_that_blames_the_server(
    scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    schema = schemathesis.openapi.from_dict(app.create().openapi())
    began, operations = time.monotonic(), 0
    for found in schema.get_all_operations():
        exercise(scene, found.ok())
        operations += 1
    took_s = time.monotonic() - began
    calls = scene.statuses.total()
    statuses = dict(sorted(scene.statuses.items()))
    said = f"R29: {calls} calls of {operations} operations in {took_s:.0f} s: {statuses}"
    record_property("counted", said)
    for failure in scene.failures:
        print(failure)
    assert scene.failures == []
    assert calls > operations * EXAMPLES
    assert scene.statuses[200] > operations, "hardly anything was accepted"
