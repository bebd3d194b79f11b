"""Signing in: the device flow as the protocol says, tokens that renew, and nothing that leaks."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock_client import contexts, errors, signin
from penstock_client.contexts import Context, Contexts, Login

from .stand_in import Answer, Api, Cli

SECRETS = ("at_first", "at_second", "rt_first", "rt_second", "dc_secret")
FIRST = {"access_token": "at_first", "refresh_token": "rt_first", "expires_in": 300}
SECOND = {"access_token": "at_second", "refresh_token": "rt_second", "expires_in": 300}
PENDING = Answer(400, {"error": "authorization_pending"})


@pytest.fixture
def realm(api: Api) -> Api:
    issuer = f"{api.url}/realms/acme"
    api.on(
        "GET",
        "/realms/acme/.well-known/openid-configuration",
        {
            "issuer": issuer,
            "token_endpoint": f"{issuer}/token",
            "device_authorization_endpoint": f"{issuer}/device_authorization",
            "revocation_endpoint": f"{issuer}/revoke",
        },
    )
    api.on(
        "POST",
        "/realms/acme/device_authorization",
        {
            "device_code": "dc_secret",
            "user_code": "ABCD-EFGH",
            "verification_uri": f"{issuer}/device",
            "verification_uri_complete": f"{issuer}/device?user_code=ABCD-EFGH",
            "expires_in": 600,
            "interval": 0,
        },
    )
    api.on("POST", "/realms/acme/token", PENDING, PENDING, FIRST)
    return api


def test_a_realm_that_lives_elsewhere_is_signed_in_to_there(cli: Cli, realm: Api) -> None:
    there = f"{realm.url}/realms/acme"
    problem = {"code": "realm_elsewhere", "issuer": there}
    path = "/realms/globex/.well-known/openid-configuration"
    realm.on("GET", path, Answer(409, problem))
    ran = cli("login", "--tenant", "globex", "--api", realm.url, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["issuer"] == there
    held = contexts.load().get("globex").login
    assert held is not None
    assert held.issuer == there


def test_a_realm_elsewhere_without_https_is_not_signed_in_to(cli: Cli, realm: Api) -> None:
    problem = {"code": "realm_elsewhere", "issuer": "http://idp.example/realms/globex"}
    path = "/realms/globex/.well-known/openid-configuration"
    realm.on("GET", path, Answer(409, problem))
    ran = cli("login", "--tenant", "globex", "--api", realm.url)
    assert ran.code != 0
    assert "not https" in ran.err


def login(cli: Cli, realm: Api, *more: str) -> None:
    ran = cli("login", "--tenant", "acme", "--api", realm.url, *more)
    assert ran.code == 0, ran.err


def age(name: str = "acme") -> None:
    """Let the stored token be about to run out."""
    stored = contexts.load()
    context = stored.get(name)
    assert context.login is not None
    old = Login(context.login.issuer, context.login.refresh_token, time.time() + 10)
    aged = Context(name, context.api, context.token, context.project, old)
    contexts.save(Contexts(stored.current, {**stored.known, name: aged}))


def test_login_shows_where_to_go_waits_and_keeps_what_it_got(realm: Api, cli: Cli) -> None:
    ran = cli("login", "--tenant", "acme", "--api", realm.url)
    assert ran.code == 0
    assert f"{realm.url}/realms/acme/device?user_code=ABCD-EFGH" in ran.err
    assert "ABCD-EFGH" in ran.err
    assert len(realm.asked("POST", "/realms/acme/token")) == 3
    assert realm.asked("POST", "/realms/acme/token")[0].body["device_code"] == "dc_secret"
    context = contexts.select(None)
    assert (context.name, context.api) == ("acme", realm.url)
    assert contexts.path().stat().st_mode & 0o777 == 0o600
    shown = ran.out + ran.err + cli("context", "show", "--json").out + repr(contexts.load())
    assert not [secret for secret in SECRETS if secret in shown]
    realm.on("GET", "/v1/tenants", {"items": [], "next": None})
    assert cli("tenant", "ls").code == 0
    assert realm.asked("GET", "/v1/tenants")[0].headers["authorization"] == "Bearer at_first"


def test_login_needs_only_the_api_and_says_what_the_environment_does(
    realm: Api, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_API", realm.url)
    ran = cli("login", "--tenant", "acme")
    assert ran.code == 0, ran.err
    assert contexts.load().get("acme").api == realm.url
    assert "unset it, or say --context acme" in ran.err
    monkeypatch.setenv("PENSTOCK_TOKEN", "pk_other")
    realm.on("POST", "/realms/acme/token", FIRST)
    ran = cli("login", "--tenant", "acme")
    assert "PENSTOCK_API and PENSTOCK_TOKEN are set" in ran.err
    realm.on("GET", "/v1/tenants", {"items": [], "next": None})
    assert cli("tenant", "ls", "--context", "acme").code == 0
    assert realm.asked("GET", "/v1/tenants")[0].headers["authorization"] == "Bearer at_first"


def test_a_server_that_says_slow_down_is_asked_less_often(realm: Api) -> None:
    realm.on(
        "POST", "/realms/acme/token", PENDING, Answer(400, {"error": "slow_down"}), PENDING, FIRST
    )
    pauses: list[float] = []
    found = signin.discover(realm.url, "acme")
    signin.wait(found, signin.begin(found), pause=pauses.append)
    assert pauses == [0, 0, 5, 5]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(400, {"error": "access_denied"}), "refused in the browser"),
        (Answer(400, {"error": "expired_token", "error_description": "too late"}), "too late"),
        (Answer(500, {"error": "oops"}), "oops"),
    ],
)
def test_a_refusal_says_why_and_keeps_nothing(
    realm: Api, cli: Cli, answer: Answer, words: str
) -> None:
    realm.on("POST", "/realms/acme/token", answer)
    ran = cli("login", "--tenant", "acme", "--api", realm.url)
    assert (ran.code, words in ran.err) == (1, True)
    assert contexts.load().known == {}


def test_an_unknown_tenant_and_another_issuer_are_refused(realm: Api, cli: Cli) -> None:
    ran = cli("login", "--tenant", "nobody", "--api", realm.url)
    assert (ran.code, "is the tenant's name right?" in ran.err) == (1, True)
    path = "/realms/evil/.well-known/openid-configuration"
    realm.on("GET", path, {"issuer": "https://evil.example/realms/evil"})
    ran = cli("login", "--tenant", "evil", "--api", realm.url)
    assert (ran.code, "calls itself https://evil.example" in ran.err) == (1, True)


def test_login_over_plain_http_is_only_for_this_machine(cli: Cli) -> None:
    ran = cli("login", "--tenant", "acme", "--api", "http://10.0.0.1")
    assert (ran.code, "is not https" in ran.err) == (2, True)


def test_a_token_about_to_run_out_is_renewed_and_kept(realm: Api, cli: Cli) -> None:
    login(cli, realm)
    age()
    realm.on("POST", "/realms/acme/token", SECOND)
    realm.on("GET", "/v1/tenants", {"items": [], "next": None})
    assert cli("tenant", "ls").code == 0
    asked = realm.asked("POST", "/realms/acme/token")[-1].body
    assert (asked["grant_type"], asked["refresh_token"]) == ("refresh_token", "rt_first")
    assert realm.asked("GET", "/v1/tenants")[0].headers["authorization"] == "Bearer at_second"
    kept = contexts.select(None)
    assert kept.login is not None
    assert (kept.token, kept.login.refresh_token) == ("at_second", "rt_second")


def test_of_many_at_once_one_renews_and_the_others_use_what_it_got(realm: Api, cli: Cli) -> None:
    """A refresh token is good once: used twice, the platform would end the session."""
    login(cli, realm)
    age()
    realm.on("POST", "/realms/acme/token", SECOND)
    before = len(realm.asked("POST", "/realms/acme/token"))
    together = threading.Barrier(8)

    def use() -> str:
        token = signin.tokens(contexts.select("acme"))
        assert callable(token)
        together.wait()
        return token()

    with ThreadPoolExecutor(8) as threads:
        got = [future.result() for future in [threads.submit(use) for _ in range(8)]]
    assert set(got) == {"at_second"}
    assert len(realm.asked("POST", "/realms/acme/token")) == before + 1


def test_a_session_that_is_over_says_to_sign_in_again(realm: Api, cli: Cli) -> None:
    login(cli, realm)
    age()
    realm.on("POST", "/realms/acme/token", Answer(400, {"error": "invalid_grant"}))
    ran = cli("tenant", "ls")
    assert (ran.code, "penstock login" in ran.err) == (errors.REFUSED, True)


def test_logout_gives_the_session_back_and_forgets_it(realm: Api, cli: Cli) -> None:
    login(cli, realm)
    realm.on("POST", "/realms/acme/revoke", {})
    assert cli("logout").code == 0
    body = realm.asked("POST", "/realms/acme/revoke")[0].body
    assert body == {"client_id": "penstock-cli", "token": "rt_first"}
    assert contexts.load().known == {}
    assert cli("logout").code != 0


def test_logout_forgets_even_if_the_platform_does_not_hear(realm: Api, cli: Cli) -> None:
    login(cli, realm)
    realm.close()
    ran = cli("logout")
    assert ran.code == 0
    assert "did not hear of it" in ran.err
    assert contexts.load().known == {}


def test_a_key_is_not_signed_out(cli: Cli, here: Api) -> None:
    assert cli("logout").code == 2
    assert here.calls == []
