"""Coming in: invitations, passwords, lockout, the second factor, sessions that last and end."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from penstock.central.realms.users import totp

from . import plane
from .plane import Central
from .realm_stage import PASSWORD, Browser, Page, Pkce, Realm

pytestmark = pytest.mark.anyio
ANN = "ann@acme.example"


@pytest.fixture
async def realm(central: Central) -> Realm:
    return Realm(central, await central.tenant("acme"), "acme")


@pytest.fixture
async def ann(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = await realm.join(ANN)
    yield browser
    await browser.client.aclose()


@pytest.fixture
async def stranger(realm: Realm) -> AsyncGenerator[Browser, None]:
    browser = Browser(realm.central, "acme")
    yield browser
    await browser.client.aclose()


def inside(page: Page) -> bool:
    return "Where you are signed in" in page.text


async def enrol(browser: Browser) -> bytes:
    """Set up a second factor, as an authenticator would."""
    page = await browser.get("account/second-factor")
    found = re.search(r"<code>([A-Z2-7]+)</code>", page.text)
    assert found
    secret = totp.from_shown(found.group(1))
    ticket = page.field("ticket")
    wrong = await browser.submit(page, "account/second-factor", ticket=ticket, code="000000")
    assert wrong.trouble
    code = totp.code_at(secret, int(time.time()) - totp.STEP_S)
    assert inside(await browser.submit(page, "account/second-factor", ticket=ticket, code=code))
    return secret


async def test_an_invitation_is_accepted_once(realm: Realm, stranger: Browser) -> None:
    made = await realm.tenant.admin.made("/v1/users/invite", email="New@Acme.Example")
    page = await stranger.get(made["url"])
    fields = {"token": page.field("token"), "full_name": "New", "password": PASSWORD}
    for wrong in (
        {"password": "short"},
        {"password": "a" * 40},
        {"full_name": " "},
        {"full_name": "\x07"},
    ):
        refused = await stranger.submit(page, "invitation", **{**fields, **wrong})
        assert (refused.status, bool(refused.trouble)) == (400, True), wrong
    second = Browser(realm.central, "acme")
    other = await second.get(made["url"])
    pages = await asyncio.gather(
        stranger.submit(page, "invitation", **fields), second.submit(other, "invitation", **fields)
    )
    assert sorted(page.status for page in pages) == [200, 404], "of two, one gets in"
    assert (await second.get(made["url"])).status == 404
    user = await realm.user("new@acme.example")
    assert (user["role"], user["status"]) == ("member", "active")
    taken = await realm.tenant.admin.post("/v1/users/invite", email="new@acme.example")
    assert (taken.status, taken.code) == (409, "name_taken")
    await second.client.aclose()


async def test_an_invitation_runs_out_and_is_of_one_realm(realm: Realm, stranger: Browser) -> None:
    made = await realm.tenant.admin.made("/v1/users/invite", email=ANN)
    await realm.central.tenant("globex")
    elsewhere = made["url"].replace("/realms/acme/", "/realms/globex/")
    assert (await stranger.get(elsewhere)).status == 404
    await realm.past("invitations")
    assert (await stranger.get(made["url"])).status == 404


@pytest.mark.parametrize(
    "email", ["", "x", "a@b", "a b@c.de", "a@b.c\x00", "<a>@b.cd", "a" * 250 + "@b.cd"]
)
async def test_what_is_no_address_is_not_invited(realm: Realm, email: str) -> None:
    answer = await realm.tenant.admin.post("/v1/users/invite", email=email)
    assert (answer.status, answer.code) == (422, "invalid")


async def test_the_right_password_lets_in_and_nothing_else(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    page = await stranger.get("login")
    answers = [
        await stranger.log_in(email, password, page=page)
        for email, password in (
            (ANN, "wrong password"), (ANN, ""), (ANN, PASSWORD + "x"), (ANN, PASSWORD.upper()),
            ("nobody@acme.example", PASSWORD), ("", ""), ("x" * 5000, "x" * 5000),
        )
    ]  # fmt: skip
    told = {(answer.status, answer.trouble) for answer in answers if answer.trouble}
    assert len(told) == 1, "the same words, whatever was wrong"
    assert not any(inside(answer) for answer in answers)
    assert (await stranger.log_in("\u0000", "x", page=page)).status == 400
    assert inside(await stranger.log_in(f"  {ANN.upper()} "))


async def test_a_guesser_is_locked_out_and_cannot_tell(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    page = await stranger.get("login")
    guesses = [stranger.log_in(ANN, f"guess number {n}", page=page) for n in range(12)]
    answers = await asyncio.gather(*guesses)
    compared = await realm.central.value("SELECT failures FROM users WHERE email = $1", ANN)
    assert compared == 5, "of twelve at once, five were compared at all"
    right = await stranger.log_in(ANN, PASSWORD, page=page)
    assert not inside(right)
    assert {(page.status, page.trouble) for page in (*answers, right)} == {(401, right.trouble)}
    assert (await realm.user(ANN))["status"] == "locked"
    user = (await realm.user(ANN))["id"]
    await realm.tenant.admin.made(f"/v1/users/{user}/enable")
    assert inside(await stranger.log_in(ANN, PASSWORD, page=page))
    assert await realm.central.value("SELECT failures FROM users WHERE email = $1", ANN) == 0


async def test_an_unknown_address_takes_as_long_as_a_known_one(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    page = await stranger.get("login")
    times: dict[str, list[float]] = {ANN: [], "nobody@acme.example": []}
    for _ in range(4):
        for email, taken in times.items():
            began = time.perf_counter()
            await stranger.log_in(email, "wrong password", page=page)
            taken.append(time.perf_counter() - began)
    known, unknown = (min(taken) for taken in times.values())
    # Hashing is most of it: without it an unknown address would take a tenth of the time.
    assert 0.5 < unknown / known < 2.0


async def test_a_second_factor_is_asked_for_and_each_code_is_good_once(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    secret = await enrol(ann)
    page = await stranger.log_in(ANN)
    assert not inside(page)
    assert inside(await stranger.get("account")) is False, "a password alone is not enough"
    ticket = page.field("ticket")
    used = totp.code_at(secret, int(time.time()) - totp.STEP_S)
    assert (await stranger.submit(page, "login/code", ticket=ticket, code=used)).trouble
    code = totp.code_at(secret, int(time.time()))
    done = await stranger.submit(page, "login/code", ticket=ticket, code=code)
    assert inside(done)
    session = next(
        s for s in (await realm.tenant.admin.get("/v1/sessions")).items if "otp" in s["factors"]
    )
    assert session["factors"] == ["pwd", "otp", "mfa"]
    other = Browser(realm.central, "acme")
    theirs = await other.get("login")
    replayed = await other.submit(theirs, "login/code", ticket=ticket, code=code)
    assert not inside(replayed), "a ticket is for one browser"
    await other.client.aclose()


async def test_codes_cannot_be_guessed_either(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    secret = await enrol(ann)
    page = await stranger.log_in(ANN)
    ticket = page.field("ticket")
    for guess in range(6):
        wrong = await stranger.submit(page, "login/code", ticket=ticket, code=f"{guess:06d}")
        assert wrong.trouble
    code = totp.code_at(secret, int(time.time()))
    locked = await stranger.submit(page, "login/code", ticket=ticket, code=code)
    assert locked.trouble, "the password did not reset the count"


async def test_forms_from_elsewhere_do_nothing(realm: Realm, ann: Browser) -> None:
    before = await realm.central.value("SELECT count(*) FROM sessions WHERE ended_at IS NULL")
    for path, fields in {
        "login": {"email": ANN, "password": PASSWORD},
        "logout": {},
        "authorize": {"decision": "allow", "query": "client_id=penstock-cli"},
        "device": {"decision": "allow", "user_code": "AAAA-AAAA"},
        "account/sessions/end": {"session": "x"},
        "account/second-factor": {"code": "1"},
        "invitation": {"token": "x"},
    }.items():
        for csrf in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
            page = await ann.post(path, **fields, **csrf)
            assert page.status == 400, path
    page = await ann.get("account")
    cross = {"csrf": page.field("csrf")}
    answer = await ann.client.post(
        f"{ann.realm}/logout", data=cross, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 400
    after = await realm.central.value("SELECT count(*) FROM sessions WHERE ended_at IS NULL")
    assert (after, inside(await ann.get("account"))) == (before, True)


@pytest.mark.parametrize(
    "next",
    [
        "https://evil.example/", "//evil.example/", "/realms/acme//evil.example", "/v1/me",
        "/realms/acme/\\evil.example", "/realms/globex/account", "/realms/acme", "javascript:x",
        "/realms/acme/../../x\n", "\u0000",
    ],
)  # fmt: skip
async def test_logging_in_leads_nowhere_else(realm: Realm, ann: Browser, next: str) -> None:
    page = await ann.get("login", next=next)
    assert page.url.endswith("/realms/acme/account")
    assert page.location == ""


async def test_cookies_and_pages_are_as_closed_as_they_can_be(
    realm: Realm, stranger: Browser
) -> None:
    answer = await stranger.client.get(f"{stranger.realm}/login")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/realms/acme" in cookie
    assert "<script" not in answer.text
    assert "style=" not in answer.text


async def test_what_people_write_is_never_html(realm: Realm, stranger: Browser) -> None:
    page = await stranger.get("login")
    evil = '"><script>alert(1)</script>'
    shown = await stranger.log_in(evil, "x", page=page)
    assert "<script" not in shown.text
    assert "&lt;script&gt;" in shown.text
    shown = await stranger.get("device", user_code=evil)
    assert "<script" not in shown.text


async def test_a_session_ends_with_logout_everywhere_it_led(realm: Realm, ann: Browser) -> None:
    app = await realm.client()
    tokens = await realm.tokens(ann, app)
    device = await realm.device(ann, "openid use")
    stale = dict(ann.client.cookies)
    page = await ann.get("logout")
    out = await ann.submit(page, "logout")
    assert "signed out" in out.text
    assert (await realm.api(tokens).get("/v1/me")).status == 401, "it came from this browser"
    assert (await realm.api(device).get("/v1/me")).status == 200, "a device was let in for itself"
    thief = Browser(realm.central, "acme")
    for name, value in stale.items():
        thief.client.cookies.set(name, value)
    assert not inside(await thief.get("account")), "the cookie is good no more"
    url = realm.authorize_url(app["id"], Pkce())
    assert 'name="password"' in (await thief.get(url)).text
    await thief.client.aclose()


async def test_logout_returns_only_to_the_clients_own_address(realm: Realm, ann: Browser) -> None:
    app = await realm.client()
    for uri, back in (("https://app.example/callback", True), ("https://evil.example/", False)):
        if not inside(await ann.get("account")):
            await ann.log_in(ANN)
        page = await ann.get("logout", client_id=app["id"], post_logout_redirect_uri=uri, state="s")
        done = await ann.submit(page, "logout", query=page.field("query"))
        assert done.location == ("https://app.example/callback?state=s" if back else "")


async def test_a_disabled_user_is_out_at_once_and_everywhere(realm: Realm, ann: Browser) -> None:
    device = await realm.device(ann)
    api = realm.api(device)
    key = await api.made("/v1/keys", name="mine", scopes=["use"], days=1)
    personal = realm.central.caller(key["token"])
    assert (await personal.get("/v1/me")).status == 200
    user = (await realm.user(ANN))["id"]
    await realm.tenant.admin.made(f"/v1/users/{user}/disable")
    assert (await api.get("/v1/me")).status == 401
    assert (await personal.get("/v1/me")).status == 401
    assert not inside(await ann.get("account"))
    assert not inside(await ann.log_in(ANN))
    assert not await realm.central.violations()


async def test_a_disabled_user_is_out_even_if_a_session_was_forgotten(
    realm: Realm, ann: Browser
) -> None:
    api = realm.api(await realm.device(ann))
    await realm.central.execute("UPDATE users SET disabled_at = now()")
    assert (await api.get("/v1/me")).status == 401
    assert not inside(await ann.get("account"))


async def test_a_reset_gives_a_new_password_and_ends_what_the_old_one_began(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    secret = await enrol(ann)
    user = (await realm.user(ANN))["id"]
    path = f"/v1/users/{user}/reset"
    first = await realm.tenant.admin.made(path, second_factor=False)
    made = await realm.tenant.admin.made(path, second_factor=False)
    assert (await stranger.get(first["url"])).status == 404, "the newest link is the only one"
    page = await stranger.get(made["url"])
    fields = {"token": page.field("token"), "full_name": "Ann", "password": "another long password"}
    page = await stranger.submit(page, "invitation", **fields)
    assert not inside(page), "she has a second factor, and has not shown it"
    assert not inside(await ann.get("account")), "who was in with the old password is out"
    assert (await stranger.log_in(ANN, PASSWORD)).trouble
    page = await stranger.log_in(ANN, "another long password")
    code = totp.code_at(secret, int(time.time()))
    assert inside(await stranger.submit(page, "login/code", ticket=page.field("ticket"), code=code))
    made = await realm.tenant.admin.made(path, second_factor=True)
    page = await stranger.get(made["url"])
    assert inside(
        await stranger.submit(page, "invitation", **{**fields, "token": page.field("token")})
    )
    assert (await realm.user(ANN))["second_factor"] is False


async def test_a_reset_of_the_second_factor_does_not_open_the_door_to_an_old_password(
    realm: Realm, ann: Browser, stranger: Browser
) -> None:
    secret = await enrol(ann)
    user = (await realm.user(ANN))["id"]
    made = await realm.tenant.admin.made(f"/v1/users/{user}/reset", second_factor=True)
    assert (await realm.user(ANN))["second_factor"] is True, "until she has a new password"
    page = await stranger.log_in(ANN, PASSWORD)
    assert not inside(page)
    assert not inside(await stranger.get("account"))
    code = totp.code_at(secret, int(time.time()))
    assert inside(await stranger.submit(page, "login/code", ticket=page.field("ticket"), code=code))
    again = Browser(realm.central, "acme")
    page = await again.get(made["url"])
    fields = {"token": page.field("token"), "full_name": "Ann", "password": "another long password"}
    assert inside(await again.submit(page, "invitation", **fields))
    assert (await realm.user(ANN))["second_factor"] is False
    for other in (ann, stranger):
        assert not inside(await other.get("account")), "who was in before is out"
    audited = await realm.central.value(
        "SELECT detail->'second_factor_cleared' FROM audit_entries WHERE action = $1",
        "user.change_password",
    )
    assert audited is True
    await again.client.aclose()


async def test_an_invitation_left_over_is_no_way_to_someones_password(
    realm: Realm, stranger: Browser
) -> None:
    old = await realm.tenant.admin.made("/v1/users/invite", email=ANN, role="admin")
    ann = await realm.join(ANN)
    assert (await stranger.get(old["url"])).status == 404
    await ann.client.aclose()


async def test_sessions_are_listed_and_revoked_by_their_owner_and_admins(
    realm: Realm, ann: Browser
) -> None:
    bob = await realm.join("bob@acme.example")
    anns, bobs = realm.api(await realm.device(ann)), realm.api(await realm.device(bob))
    mine = {item["user"] for item in (await anns.get("/v1/sessions")).items}
    assert mine == {(await realm.user(ANN))["id"]}
    theirs = next(s for s in (await bobs.get("/v1/sessions")).items if s["kind"] == "client")
    refused = await anns.post(f"/v1/sessions/{theirs['id']}/revoke")
    assert refused.status == 403
    assert (await bobs.get("/v1/me")).status == 200
    assert len((await realm.tenant.admin.get("/v1/sessions")).items) == 4
    assert (await bobs.post(f"/v1/sessions/{theirs['id']}/revoke")).status == 200
    assert (await bobs.get("/v1/me")).status == 401
    await bob.client.aclose()


async def test_sessions_survive_the_process_and_every_replica_knows_them(
    central_url: str, tmp_path: Path
) -> None:
    """What is in the database is all there is: a process that ends takes nothing along."""
    async with plane.running(central_url, tmp_path / "central") as first:
        realm = Realm(first, await first.tenant("acme"), "acme")
        ann = await realm.join(ANN)
        tokens = await realm.device(ann)
        settings = first.settings
    # Another process at another port, behind the same address for users.
    async with plane.running(central_url, tmp_path / "central", public_url=settings.url) as second:
        again = Realm(second, realm.tenant, "acme")
        moved = Browser(second, "acme")
        moved.client.cookies = ann.client.cookies
        assert inside(await moved.get("account"))
        assert (await again.api(tokens).get("/v1/me")).status == 200
        renewed = await again.post(
            "token", client_id="penstock-cli", grant_type="refresh_token",
            refresh_token=tokens["refresh_token"],
        )  # fmt: skip
        assert (await again.api(renewed.json()).get("/v1/me")).status == 200
    await moved.client.aclose()
    await ann.client.aclose()
