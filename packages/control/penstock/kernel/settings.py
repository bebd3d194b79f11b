"""Settings: from the environment, or a TOML file, never from a typo.

`PENSTOCK_<PLANE>_<NAME>` sets one value; `PENSTOCK_<PLANE>_CONFIG` names a file of them.
The environment wins. A name that no setting has is refused in both.
"""

import os
import sys
import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

S = TypeVar("S", bound="Settings")


class SettingsInvalid(Exception):
    """The settings cannot be used; the message names each bad one."""


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def load(kind: type[S], prefix: str, environment: dict[str, str] | None = None) -> S:
    """Read `kind` from the environment and the file it may name."""
    environ = dict(os.environ if environment is None else environment)
    given = {
        name.removeprefix(prefix).lower(): value
        for name, value in environ.items()
        if name.startswith(prefix)
    }
    config = given.pop("config", None)
    values: dict[str, object] = {**(_read(Path(config)) if config else {}), **given}
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise SettingsInvalid(_explain(error, prefix, kind)) from None


def load_or_exit(kind: type[S], prefix: str) -> S:
    try:
        return load(kind, prefix)
    except SettingsInvalid as error:
        print(f"penstock: {error}", file=sys.stderr)
        sys.exit(2)


def _read(path: Path) -> dict[str, object]:
    try:
        return dict(tomllib.loads(path.read_text()))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the settings file {path} cannot be read: {error}") from None


def _explain(error: ValidationError, prefix: str, kind: type[Settings]) -> str:
    lines = ["the settings are not usable:"]
    for problem in error.errors(include_url=False, include_input=False):
        name = prefix + "_".join(str(part) for part in problem["loc"]).upper()
        if problem["type"] == "extra_forbidden":
            known = ", ".join(sorted(prefix + field.upper() for field in kind.model_fields))
            lines.append(f"  {name} is not a setting; the settings are {known}")
        else:
            lines.append(f"  {name}: {problem['msg']}")
    return "\n".join(lines)
