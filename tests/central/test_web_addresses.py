"""Addresses on the web are taken apart strictly."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.central.realms.clients.model import is_redirect_uri
from penstock.central.realms.pages import browsers, layout
from penstock.central.realms.pages.refusals import Doorstep
from penstock_contracts import web_addresses

PARTS = st.sampled_from(
    ["https", "http", "://", ":", "//", "app.example", "127.0.0.1", "[::1]", "5123", "x", "/", "?",
     "#", "@", ";sandbox", "; script-src *", ",", "'", '"', " ", "\t", "\r\n", "%0a", "%3b", "\\",
     "*", "\u0661", "\u2028", "65536", "cb"]
)  # fmt: skip
TEXTS = st.one_of(st.lists(PARTS, max_size=8).map("".join), st.text(max_size=40))


def policy(uri: str) -> str:
    """Of a page to which someone was sent by a client that names this address."""
    onward = browsers.with_parameter("/realms/acme/authorize", "redirect_uri", uri)
    page = layout.page(Doorstep("acme"), "Sign in", forms_lead_to=browsers.leads_to(onward))
    return page.headers["content-security-policy"]


def directives(text: str) -> dict[str, list[str]]:
    return {each.split()[0]: each.split()[1:] for each in text.split(";")}


@given(TEXTS)
@example("https://app.example;sandbox/cb")
@example("https://app.example;sandbox")
@example("https://app.example,x/cb")
@example("https://a.example 'unsafe-inline'/cb")
def test_no_redirect_address_adds_anything_to_a_pages_policy(uri: str) -> None:
    plain, given = directives(policy("")), directives(policy(uri))
    assert given.keys() == plain.keys()
    more = given.pop("form-action")[len(plain.pop("form-action")) :]
    assert given == plain
    assert len(more) <= 1
    assert all(set(each) <= set("abcdefghijklmnopqrstuvwxyz0123456789.:/-[]") for each in more)
    assert "," not in policy(uri), "a comma begins another policy"


@given(TEXTS)
@example("http://127.0.0.1:x.evil.example/callback")
@example("http://127.0.0.1:\u0661/callback")
def test_what_is_an_address_is_the_same_address_to_others(uri: str) -> None:
    address = web_addresses.parse(uri)
    if address is None:
        return
    parts = urlsplit(uri)
    assert (parts.scheme, parts.port, parts.path) == (address.scheme, address.port, address.path)
    assert (parts.hostname or "") == address.host.strip("[]") or address.host.startswith("[")
    assert (parts.username, parts.fragment) == (None, "")
    assert web_addresses.parse(address.origin) is not None


@pytest.mark.parametrize(
    "uri",
    [
        "https://app.example/callback", "https://app.example", "https://app.example:8443/a/b?c=d",
        "https://10.0.0.1/callback", "http://127.0.0.1/callback", "http://127.0.0.1:65535/callback",
        "http://[::1]:1/callback", "https://xn--bcher-kva.example/~x;y=1,2(3)*?q=/?",
    ],
)  # fmt: skip
def test_codes_may_be_sent_to_https_and_to_this_machine(uri: str) -> None:
    assert is_redirect_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "", "app.example", "//app.example/cb", "ftp://app.example", "javascript:alert(1)",
        "http://app.example/cb", "http://localhost/cb", "http://127.0.0.1.evil.example/cb",
        "https://app.example;sandbox/cb", "https://app.example,b/cb", "https://a b/cb",
        "https://user@app.example/cb", "https://app.example/cb#x", "https://app.example\\@e/cb",
        "https://*.example/cb", "https://app.example./cb", "https://-app.example/cb", "https://",
        "https://app_1.example/cb", "https://0x7f.1/cb", "https://127.1/cb", "https://1.2.3.400/cb",
        "http://127.0.0.1:/cb", "http://127.0.0.1:0/cb", "http://127.0.0.1:01/cb",
        "http://127.0.0.1:65536/cb", "http://127.0.0.1:+80/cb", "http://127.0.0.1:8 0/cb",
        "http://127.0.0.1:x.evil.example/cb", "http://127.0.0.1:\u0661\u0662/cb",
        "http://[::1/cb", "http://[::1%25lo]/cb", "http://[::ffff:127.0.0.1]/cb", "https://[x]/cb",
        "https://app.example/%zz", "https://app.example/cb\n", "HTTPS://app.example/cb",
        "https://\u0430pp.example/cb",
    ],
)  # fmt: skip
def test_codes_are_sent_nowhere_else(uri: str) -> None:
    assert not is_redirect_uri(uri)
