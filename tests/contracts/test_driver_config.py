"""Typed configuration: an error names the file and the field, and says what is expected."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from penstock_contracts.drivers import config
from penstock_contracts.drivers.config import Misconfigured, Must, WebAddress, within
from penstock_contracts.drivers.secrets import Secret


@dataclass(frozen=True)
class Tuning:
    tries: Annotated[int, within(1, 9)] = 3


@dataclass(frozen=True)
class Config:
    url: WebAddress
    secret: Secret
    timeout_s: Annotated[float, within(0.1, 60)] = 10.0
    folder: Path | None = None
    mode: Literal["fast", "safe"] = "safe"
    zones: tuple[Annotated[str, Must("in small letters", str.islower)], ...] = ()
    verified: bool = True
    tuning: Tuning = Tuning()

    def __post_init__(self) -> None:
        if self.mode == "fast" and self.verified:
            raise ValueError("what is fast cannot be verified; set verified = false")


@pytest.fixture
def good(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "secret").write_text("hunter2\n")
    return {"url": "https://api.example/v2", "secret": {"file": str(tmp_path / "secret")}}


def read(given: dict[str, object]) -> Config:
    return config.read(Config, given, "drivers.toml: realm.toy")


def test_values_have_their_types(good: dict[str, object], tmp_path: Path) -> None:
    made = read(
        {
            **good,
            "timeout_s": 2,
            "folder": str(tmp_path),
            "zones": ["a", "b"],
            "tuning": {"tries": 9},
        }
    )
    assert (made.url, made.secret.value) == ("https://api.example/v2", "hunter2")
    assert (made.timeout_s, type(made.timeout_s)) == (2.0, float)
    assert (made.folder, made.zones, made.tuning.tries) == (tmp_path, ("a", "b"), 9)


def test_a_secret_shows_itself_to_nobody(good: dict[str, object]) -> None:
    made = read(good)
    assert "hunter2" not in f"{made} {made!r} {made.secret} {made.secret!r}"


def test_a_secret_may_be_in_the_environment(
    good: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_SECRET", "from around")
    assert read({**good, "secret": {"env": "TOY_SECRET"}}).secret.value == "from around"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"url": "ftp://api.example"}, "url: must be an http(s) address"),
        ({"url": "https://api.example/"}, "url: must be an http(s) address without a slash"),
        ({"url": 7}, "url: must be text"),
        ({"uri": "x"}, "uri: there is no such field; the fields are url, secret, timeout_s"),
        ({"timeout_s": 0}, "timeout_s: must be from 0.1 to 60"),
        ({"timeout_s": float("nan")}, "timeout_s: must be from 0.1 to 60"),
        ({"timeout_s": True}, "timeout_s: must be a number"),
        ({"folder": ""}, "folder: must be a path"),
        ({"mode": "slow"}, 'mode: must be "fast" or "safe"'),
        ({"zones": "a"}, "zones: must be a list, each in small letters"),
        ({"zones": ["a", "B"]}, "zones[1]: must be in small letters"),
        ({"verified": 1}, "verified: must be true or false"),
        ({"tuning": {"tries": 10}}, "tuning.tries: must be from 1 to 9"),
        ({"tuning": {"tires": 1}}, "tuning.tires: there is no such field; the fields are tries"),
        ({"tuning": 3}, "tuning: must be a table of tries"),
        ({"secret": "hunter2"}, "secret: must be where the secret is, as { file ="),
        ({"secret": {"file": "a", "env": "b"}}, "secret: must be where the secret is"),
        ({"secret": {"file": "/nowhere"}}, "secret: file /nowhere cannot be read (No such file"),
        ({"secret": {"env": "TOY_NOT_SET"}}, "secret: environment variable TOY_NOT_SET is not set"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    good: dict[str, object], changed: dict[str, object], told: str
) -> None:
    with pytest.raises(Misconfigured) as raised:
        read({**good, **changed})
    [only] = raised.value.problems
    assert only.startswith(f"drivers.toml: realm.toy.{told}"), only
    assert "hunter2" not in only


def test_an_empty_secret_is_none(good: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(" \n")
    with pytest.raises(Misconfigured, match="is empty; put the secret there"):
        read(good)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Misconfigured) as raised:
        read({"secret": "x", "timeout_s": 99})
    places = [each.split(": ")[1] for each in raised.value.problems]
    assert places == ["realm.toy.url", "realm.toy.secret", "realm.toy.timeout_s"]
    assert "is missing; it must be an http(s) address" in raised.value.problems[0]


def test_a_condition_on_several_fields_names_the_table(good: dict[str, object]) -> None:
    with pytest.raises(Misconfigured) as raised:
        read({**good, "mode": "fast"})
    told = "drivers.toml: realm.toy: what is fast cannot be verified; set verified = false"
    assert raised.value.problems == (told,)


def test_fields_are_described_for_operators() -> None:
    told = {each.name: (each.wanted, each.required) for each in config.describe(Config)}
    assert told["timeout_s"] == ("from 0.1 to 60", False)
    assert told["secret"][1]


@dataclass(frozen=True)
class Torn:
    either: int | str


@dataclass(frozen=True)
class Odd:
    numbers: dict[str, int]


@pytest.mark.parametrize("kind", [Torn, Odd, int])
def test_a_configuration_that_no_file_can_have_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="its configuration"):
        config.describe(kind)
