"""The one ordered log of events, followed over connections that come and go."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from penstock_client import errors, requests
from penstock_client.requests import ServerEvent, Transport
from penstock_client.views.events import Event

FAILURES_MAX: Final = 5
SILENCE_S: Final = 60.0  # after this long, a fresh connection shows whether the old one died


@dataclass(frozen=True)
class Events:
    transport: Transport
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def watch(self, *, subject: str | None = None, after: str | None = None) -> Iterator[Event]:
        """Events as they happen, without gap or repeat, for as long as the API can be reached.

        `after` is the sequence of the last event already seen ("0" for all there are);
        without it the API decides where the stream begins.
        """
        request = requests.get("events", subject=subject)
        failures = 0
        while True:
            before = after
            try:
                for message in self.transport.stream(request, after=after, idle_s=SILENCE_S):
                    after = message.id or after
                    yield decode(message)
                failures = 0
            except (errors.Unreachable, errors.Unavailable):
                failures = failures + 1 if after == before else 1
                if failures == FAILURES_MAX:
                    raise
            if after == before:
                self.pause(0.2 * 2**failures)  # a server that says nothing is not to be hammered

    def list(
        self, *, subject: str | None = None, after: str = "0", quiet_s: float = 1.0
    ) -> Iterator[Event]:
        """The events there are: ends when none has come for `quiet_s`."""
        request = requests.get("events", subject=subject)
        for message in self.transport.stream(request, after=after, idle_s=quiet_s):
            yield decode(message)


def decode(message: ServerEvent) -> Event:
    try:
        return cast("Event", json.loads(message.data))
    except ValueError as error:
        raise errors.NotTheApi("the event stream holds a message that is not JSON") from error
