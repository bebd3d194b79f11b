"""What holds for the declaration of every driver, of whatever kind."""

import re
from typing import Any, ClassVar

import pytest

from penstock_contracts.drivers import config, registry
from penstock_contracts.drivers.config import Misconfigured
from penstock_contracts.drivers.registry import Driver, Installed, Kind


class DeclarationConformance:
    """Subclasses for a kind set `kind`; whoever has a driver sets `name`, as in its entry point."""

    kind: ClassVar[Kind[Any]]
    name: ClassVar[str]
    pytestmark = pytest.mark.anyio

    @pytest.fixture(scope="session")
    @classmethod
    def anyio_backend(cls) -> str:
        return "asyncio"

    @property
    def driver(self) -> Driver[Any, Any]:
        return registry.find(self.kind, self.name)

    def test_it_is_found_with_a_version(self) -> None:
        for each in registry.installed():
            if (each.origin.kind, each.origin.name) == (self.kind.name, self.name):
                assert isinstance(each, Installed), each
                assert each.origin.version
                return
        pytest.fail(f"no entry point of the group {self.kind.group} is called {self.name}")

    def test_it_says_in_one_sentence_what_it_is(self) -> None:
        assert re.fullmatch(r"[A-Z][^\n]{3,98}\.", self.driver.sentence)

    def test_its_configuration_refuses_what_it_does_not_know(self) -> None:
        with pytest.raises(Misconfigured, match=r"here\.no_such_field: there is no such field"):
            config.read(self.driver.config, {"no_such_field": 1}, "here")
