"""What a protocol endpoint answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    status: int
    body: Mapping[str, object] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    client: str | None = None  # that is meant, if the realm has it

    @property
    def location(self) -> str | None:
        return self.headers.get("Location")

    @property
    def error(self) -> str:
        return str(self.body.get("error", ""))
