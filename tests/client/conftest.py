from collections.abc import Generator
from pathlib import Path

import pytest

from penstock_client import main

from .stand_in import TOKEN, Api, Cli, Outcome


@pytest.fixture
def api() -> Generator[Api]:
    api = Api()
    yield api
    api.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with no contexts, in an empty folder."""
    for name in ("PENSTOCK_API", "PENSTOCK_TOKEN", "PENSTOCK_PROJECT", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command as the terminal would."""

    def run(*argv: str) -> Outcome:
        try:
            code = main.run(argv)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def here(api: Api, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The API, known to the command line through the environment."""
    monkeypatch.setenv("PENSTOCK_API", api.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    monkeypatch.setenv("PENSTOCK_PROJECT", "project_1")
    return api
