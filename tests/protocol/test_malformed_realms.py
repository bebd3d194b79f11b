"""R29 at a realm's doors, which no OpenAPI describes: forms that are right, or almost, or not."""

import html
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import httpx2
import pytest
import requests
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from penstock.central.realms import routers

from .replicas import Replica

pytestmark = pytest.mark.anyio

TOKEN: Final = "pk_platform_of_the_malformed"
PASSWORD: Final = "correct horse battery"
EXAMPLES: Final = 25  # for each method of each route
FINE: Final = settings(
    max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
UNLIMITED: Final = ("ADDRESS_REQUESTS", "ADDRESS_ATTEMPTS", "BAD_KEYS")
DOORS: Final[Sequence[tuple[str, str]]] = sorted(
    (method, route.path)
    for router in routers.ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute) and not route.include_in_schema
    for method in route.methods or ()
)
# What forms and queries have, with what could be in them.
NAMES: Final = (
    "amr", "client_id", "client_secret", "code", "code_challenge", "code_challenge_method",
    "code_verifier", "csrf", "decision", "device_code", "email", "entered", "full_name",
    "grant_type", "max_age", "next", "nonce", "password", "post_logout_redirect_uri", "prompt",
    "query", "redirect_uri", "refresh_token", "response_mode", "response_type", "scope",
    "session", "state", "ticket", "token", "token_type_hint", "user_code",
)  # fmt: skip
RIGHT: Final[Mapping[str, Sequence[str]]] = {
    "client_id": ["penstock-cli"],
    "code_challenge_method": ["S256", "plain"],
    "decision": ["allow", "refuse"],
    "email": ["ann@acme.example", "nobody@acme.example"],
    "grant_type": [
        "authorization_code", "refresh_token", "client_credentials", "password",
        "urn:ietf:params:oauth:grant-type:device_code",
    ],
    "next": ["/realms/acme/account", "//evil.example", "/realms/acme/authorize?a=b"],
    "password": [PASSWORD],
    "prompt": ["none", "login consent", "x"],
    "query": ["client_id=penstock-cli&response_type=code"],
    "response_type": ["code", "token", "code id_token"],
    "scope": ["openid", "openid administer", "read read"],
    "token_type_hint": ["access_token", "refresh_token"],
    "user_code": ["AAAA-AAAA"],
}  # fmt: skip
WRONG: Final = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(codec="utf-8", categories=["Cc", "Cf", "Co", "Zl"]), max_size=20),
    st.integers().map(str),
    st.sampled_from(
        ["", "\x00", "a" * 9_000, "é" * 5_000, "null", "[]", "{}", "' OR 1=1 --", "../../x",
         "<script>", "%00", "%", "a\r\nSet-Cookie: b=c", "pr_x", "a.b.c", "\ufffd\u202e", "-1"]
    ),
)  # fmt: skip


@dataclass
class Scene:
    address: str
    cookies: dict[str, str]
    csrf: str
    statuses: Counter[int] = field(default_factory=Counter[int])
    failures: list[str] = field(default_factory=list[str])

    def values(self, name: str) -> st.SearchStrategy[str]:
        right = [self.csrf] if name == "csrf" else RIGHT.get(name, [])
        return st.one_of(st.sampled_from(right), WRONG) if right else WRONG

    @property
    def forms(self) -> st.SearchStrategy[dict[str, str]]:
        """Mostly of names that there are; with what makes a form ours, as often as not."""
        some = st.lists(st.sampled_from(NAMES), max_size=8, unique=True).flatmap(
            lambda names: st.fixed_dictionaries({name: self.values(name) for name in names})
        )
        odd = st.dictionaries(st.text(max_size=10), WRONG, max_size=3)
        ours = st.sampled_from([{}, {"csrf": self.csrf}])
        return st.tuples(some, odd, ours).map(lambda of: {**of[0], **of[1], **of[2]})

    def send(self, method: str, path: str, sent: "Sent") -> None:
        target = path.replace("{name}", sent.realm).replace("{id}", quote(sent.id, safe=""))
        url = f"{self.address}{target}"
        body: bytes | None = None
        if method == "POST":
            body = sent.body
        elif sent.form:
            url = f"{url}?{_encoded(sent.form)}"
        kind = sent.kind.encode()
        headers = {"Connection": b"close", "Content-Type": kind, **sent.headers}
        cookies = self.cookies if sent.known else {}
        try:
            answer = requests.request(
                method, url, data=body, headers=headers, cookies=cookies, timeout=20,
                allow_redirects=False,
            )  # fmt: skip
        except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL):
            return  # what cannot be sent over HTTP at all
        except requests.exceptions.ConnectionError as error:
            self.failures.append(f"{method} {url[:300]} {body!r:.300}\nwas not answered: {error}")
            return
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            said = f"{answer.status_code} {answer.text[:300]}"
            self.failures.append(f"{method} {url[:300]} {body!r:.300}\n{said}")


@dataclass(frozen=True)
class Sent:
    realm: str
    id: str
    form: dict[str, str]
    raw: bytes | None
    kind: str
    headers: dict[str, bytes]
    known: bool  # from a browser in which someone is signed in

    @property
    def body(self) -> bytes:
        return _encoded(self.form).encode() if self.raw is None else self.raw


def _encoded(form: Mapping[str, str]) -> str:
    return urlencode(form, errors="surrogatepass")


def sendings(scene: Scene) -> st.SearchStrategy[Sent]:
    form = "application/x-www-form-urlencoded"
    kinds = st.sampled_from([form] * 6 + [f"{form}; charset=utf-16", "application/json", "x", ""])
    raw = st.one_of(*[st.none()] * 4, st.binary(max_size=200), st.just(b"a=" + b"x" * 60_000),
                    st.just(b"a=1&a=2"), st.just(b"&".join([b"f=1"] * 99)))  # fmt: skip
    shown = st.sampled_from(
        ["Basic", "Basic !", "Basic YTpi", "Basic AAAA", "Bearer", "Bearer x", "Bearer a.b.c", "é"]
    )
    headers = st.one_of(
        st.just(dict[str, bytes]()), shown.map(lambda value: {"Authorization": value.encode()})
    )
    return st.builds(
        Sent,
        realm=st.sampled_from(["acme"] * 8 + ["none", "%00", "a" * 300, "..%2f", "%F0%9F%92%A9"]),
        id=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
        form=scene.forms,
        raw=raw,
        kind=kinds,
        headers=headers,
        known=st.booleans(),
    )


@pytest.fixture
async def scene(central_url: str, tmp_path: Path) -> AsyncGenerator[Scene, None]:
    """A realm, and a browser in which someone is signed in."""
    replica = Replica("central-1", central_url, tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    replica.environment["PENSTOCK_CENTRAL_BOOTSTRAP_TOKEN_FILE"] = str(tmp_path / "token")
    for limit in UNLIMITED:
        replica.environment[f"PENSTOCK_CENTRAL_{limit}_BURST"] = "1000000"
    try:
        await replica.start()
        async with httpx2.AsyncClient(base_url=replica.address, trust_env=False) as client:
            yield await signed_in(client, replica.address)
    finally:
        await replica.kill()


async def signed_in(client: httpx2.AsyncClient, address: str) -> Scene:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    tenant = await client.post("/v1/tenants", json={"name": "acme"}, headers=headers)
    body = {"email": "ann@acme.example", "tenant": tenant.json()["id"]}
    invited = await client.post("/v1/users/invite", json=body, headers=headers)
    assert invited.status_code == 201, invited.text
    page = (await client.get(invited.json()["url"])).text
    fields = {name: _field(page, name) for name in ("csrf", "token")}
    form = {**fields, "full_name": "Ann", "password": PASSWORD}
    entered = await client.post("/realms/acme/invitation", data=form)
    assert entered.status_code == 303, entered.text
    return Scene(address, dict(client.cookies.items()), fields["csrf"])


def _field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return html.unescape(found.group(1))


def exercise(scene: Scene, method: str, path: str) -> None:
    @seed(29)
    @FINE
    @given(sent=sendings(scene))
    def send(sent: Sent) -> None:
        scene.send(method, path, sent)

    send()


async def test_no_form_leads_to_an_answer_that_blames_the_server(
    scene: Scene, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    for method, path in DOORS:
        exercise(scene, method, path)
    took_s, calls = time.monotonic() - began, scene.statuses.total()
    statuses = dict(sorted(scene.statuses.items()))
    said = f"R29: {calls} calls of {len(DOORS)} doors of a realm in {took_s:.0f} s: {statuses}"
    record_property("counted", said)
    for failure in scene.failures:
        print(failure)
    assert scene.failures == []
    assert len(DOORS) >= 20
    assert calls > len(DOORS) * EXAMPLES * 0.9
    assert scene.statuses[200] > len(DOORS), "hardly anything was accepted"
    assert scene.statuses[429] == 0
