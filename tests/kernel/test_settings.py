"""Settings: a typo is refused, a bad value is named, a secret is not shown."""

from pathlib import Path

import pytest

from penstock.central.settings import PREFIX, CentralSettings
from penstock.kernel import settings
from penstock.kernel.settings import SettingsInvalid
from penstock.site.settings import PREFIX as SITE_PREFIX
from penstock.site.settings import SiteSettings

SECRET = "postgresql://penstock:hunter2@db/central"
GIVEN = {f"{PREFIX}DATABASE_URL": SECRET, f"{PREFIX}DATA": "/data", "PATH": "/bin"}


def load(**environment: str) -> CentralSettings:
    return settings.load(CentralSettings, PREFIX, {**GIVEN, **environment})


def test_the_environment_sets_what_it_names() -> None:
    loaded = load(PENSTOCK_CENTRAL_REPLICA="central-7")
    assert (loaded.replica, loaded.data) == ("central-7", Path("/data"))


def test_an_unknown_name_in_the_environment_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsInvalid) as refused:
        load(PENSTOCK_CENTRAL_REPLICCA="x")
    assert "PENSTOCK_CENTRAL_REPLICCA is not a setting" in str(refused.value)
    assert "PENSTOCK_CENTRAL_REPLICA" in str(refused.value)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "central.toml"
    file.write_text('replicca = "x"\n')
    with pytest.raises(SettingsInvalid, match="REPLICCA is not a setting"):
        load(PENSTOCK_CENTRAL_CONFIG=str(file))


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "central.toml"
    file.write_text('replica = "from-file"\nlog_level = "debug"\n')
    loaded = load(PENSTOCK_CENTRAL_CONFIG=str(file), PENSTOCK_CENTRAL_REPLICA="from-environment")
    assert (loaded.replica, loaded.log_level) == ("from-environment", "debug")


@pytest.mark.parametrize("content", [b"= nothing", b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "central.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsInvalid, match=r"central\.toml cannot be read"):
        load(PENSTOCK_CENTRAL_CONFIG=str(file))


def test_a_bad_value_is_named_with_what_is_possible() -> None:
    with pytest.raises(SettingsInvalid, match=r"PENSTOCK_CENTRAL_LOG_LEVEL: .*'debug'"):
        load(PENSTOCK_CENTRAL_LOG_LEVEL="loud")
    environment = {f"{SITE_PREFIX}DATABASE_URL": "x", f"{SITE_PREFIX}DATA": "/d"}
    for bad in ("0", "-1", "soon", "nan"):
        with pytest.raises(SettingsInvalid, match="PENSTOCK_SITE_TASK_DEADLINE_S"):
            settings.load(
                SiteSettings, SITE_PREFIX, {**environment, f"{SITE_PREFIX}TASK_DEADLINE_S": bad}
            )


def test_what_is_missing_is_named() -> None:
    with pytest.raises(SettingsInvalid, match="PENSTOCK_CENTRAL_DATABASE_URL: Field required"):
        settings.load(CentralSettings, PREFIX, {})


def test_a_secret_is_in_no_text_about_the_settings() -> None:
    loaded = load()
    assert "hunter2" not in f"{loaded!r} {loaded}"
    with pytest.raises(SettingsInvalid) as refused:
        load(PENSTOCK_CENTRAL_NOPE=SECRET, PENSTOCK_CENTRAL_LOG_LEVEL=SECRET)
    assert "hunter2" not in str(refused.value)
