"""The SDK against a real server: retries, refusals, pages, the event stream."""

from collections.abc import Generator

import pytest

from penstock_client import errors
from penstock_client.api import Client
from penstock_client.http import Http
from penstock_client.resources.events import Events

from .stand_in import TOKEN, Answer, Api, event

TENANT = {"id": "tenant_1", "name": "a", "status": "active"}


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(api: Api, pauses: list[float]) -> Generator[Client]:
    with Client(api.url, TOKEN, transport=Http(api.url, TOKEN, pause=pauses.append)) as client:
        yield client


def test_too_many_requests_are_asked_again_when_the_api_says(
    api: Api, client: Client, pauses: list[float]
) -> None:
    api.on("GET", "/v1/tenants/a", Answer(429, {}, {"Retry-After": "3"}), TENANT)
    assert client.tenants.get("a")["id"] == "tenant_1"
    assert pauses == [3.0]


def test_a_post_is_sent_again_with_the_same_key_until_it_is_answered(
    api: Api, client: Client, pauses: list[float]
) -> None:
    api.on(
        "POST",
        "/v1/tenants",
        Answer(503, {}, {"Retry-After": "7"}),
        Answer(drop=True),
        Answer(502, b"<html>", {"Content-Type": "text/html"}),
        Answer(201, TENANT),
    )
    assert client.tenants.create("a")["id"] == "tenant_1"
    calls = api.asked("POST", "/v1/tenants")
    assert len(calls) == 4
    assert len({call.headers["idempotency-key"] for call in calls}) == 1
    assert pauses == [7.0, 0.4, 0.8]


def test_two_posts_have_two_keys(api: Api, client: Client) -> None:
    api.on("POST", "/v1/tenants", Answer(201, TENANT))
    client.tenants.create("a")
    client.tenants.create("a")
    keys = {call.headers["idempotency-key"] for call in api.asked("POST", "/v1/tenants")}
    assert len(keys) == 2


def test_a_refusal_is_not_tried_again(api: Api, client: Client, pauses: list[float]) -> None:
    problem = {"title": "Conflict", "status": 409, "code": "conflict", "detail": "taken"}
    api.on("POST", "/v1/tenants", Answer(409, problem))
    with pytest.raises(errors.Refused, match="taken") as refused:
        client.tenants.create("a")
    assert refused.value.code == "conflict"
    assert pauses == []


def test_an_api_that_stays_away_is_unavailable(api: Api, client: Client) -> None:
    api.on("GET", "/v1/tenants", Answer(503, {"title": "Unavailable", "code": "unavailable"}))
    with pytest.raises(errors.Unavailable):
        client.tenants.list()
    assert len(api.calls) == 4


def test_a_closed_port_is_unreachable(api: Api) -> None:
    api.close()
    transport = Http(api.url, TOKEN, pause=lambda _: None)
    with pytest.raises(errors.Unreachable, match=api.url):
        Client(api.url, TOKEN, transport=transport).tenants.list()


def test_a_redirect_does_not_carry_the_token_elsewhere(api: Api, client: Client) -> None:
    api.on("GET", "/v1/me", Answer(307, {}, {"Location": "/v1/tenants"}))
    with pytest.raises(errors.Refused):
        client.me()
    assert api.asked("GET", "/v1/tenants") == []


def test_what_is_not_json_is_not_the_api(api: Api, client: Client) -> None:
    api.on("GET", "/v1/me", Answer(200, b"<html>", {"Content-Type": "text/html"}))
    with pytest.raises(errors.NotTheApi):
        client.me()


def test_a_malformed_problem_is_still_a_refusal(api: Api, client: Client) -> None:
    api.on("GET", "/v1/me", Answer(400, {"title": 3, "code": None, "errors": "no"}))
    with pytest.raises(errors.Refused) as refused:
        client.me()
    assert refused.value.problem == {"title": "Bad Request", "status": 400, "code": "unknown"}


def test_a_list_follows_its_cursors(api: Api, client: Client) -> None:
    api.on(
        "GET",
        "/v1/tenants",
        {"items": [TENANT], "next": "c1"},
        {"items": [TENANT], "next": None},
    )
    assert len(client.tenants.list()["items"]) == 2
    assert api.calls[1].query == {"cursor": "c1"}


def test_a_limited_list_stops_and_says_where(api: Api, client: Client) -> None:
    api.on("GET", "/v1/allocations", {"items": [{"id": "alloc_1"}], "next": "c1"})
    page = client.allocations.list(limit=1)
    assert page["next"] == "c1"
    assert api.calls[0].query == {"limit": "1"}


def test_an_id_cannot_leave_its_place_in_the_path(api: Api, client: Client) -> None:
    with pytest.raises(errors.Refused):
        client.nodes.get("../tenants?x=1#y")
    assert api.calls[0].path == "/v1/nodes/..%2Ftenants%3Fx%3D1%23y"


def test_a_watch_resumes_where_the_connection_was_cut(api: Api, client: Client) -> None:
    api.streams_cut_after = [2, 1]
    api.emit(*(event(n, "allocation.stepped", "alloc_1") for n in range(1, 6)))
    watch = client.events.watch(subject="alloc_1", after="0")
    assert [next(watch)["sequence"] for _ in range(5)] == [1, 2, 3, 4, 5]
    resumed = [call.headers.get("last-event-id") for call in api.asked("GET", "/v1/events")]
    assert resumed == ["0", "2", "3"]


def test_a_watch_hears_only_of_its_subject(api: Api, client: Client) -> None:
    api.emit(event(1, "node.enrolled", "node_1"), event(2, "allocation.placed", "alloc_1"))
    watch = client.events.watch(subject="alloc_1", after="0")
    assert next(watch)["sequence"] == 2


def test_a_watch_gives_up_when_nobody_answers(api: Api) -> None:
    api.close()
    pauses: list[float] = []
    events = Events(Http(api.url, TOKEN), pauses.append)
    with pytest.raises(errors.Unreachable):
        next(events.watch())
    assert pauses == sorted(pauses)
    assert len(pauses) == 4


def test_a_refused_watch_says_why(api: Api, client: Client) -> None:
    problem = {"title": "Not authenticated", "status": 401, "code": "unauthenticated"}
    api.on("GET", "/v1/events", Answer(401, problem))
    with pytest.raises(errors.Refused, match="Not authenticated"):
        next(client.events.watch())


def test_the_events_there_are_end_when_it_is_quiet(api: Api, client: Client) -> None:
    api.emit(event(1, "node.enrolled", "node_1"), event(2, "node.connected", "node_1"))
    assert [each["sequence"] for each in client.events.list(quiet_s=0.1)] == [1, 2]
