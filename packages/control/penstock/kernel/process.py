"""A plane as a process: told to stop by a signal, tells when it is ready."""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final, cast

import uvloop

from penstock.kernel import log
from penstock.kernel.settings import SettingsInvalid
from penstock.kernel.stopping import Stopping
from penstock_contracts.files import Damaged

END_S_MAX: Final = 15.0
logger = log.get(__name__)


def tell_ready(**facts: object) -> None:
    """Tell whoever started this process that it is ready, if they asked to be told."""
    descriptor = os.environ.pop("PENSTOCK_READY_FD", None)
    logger.info("ready", **facts)
    if descriptor is not None:
        with os.fdopen(int(descriptor), "w") as pipe:
            pipe.write(json.dumps(facts) + "\n")


def hangups() -> asyncio.Event:
    """Set at each SIGHUP, which from now on does not end the process."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, told.set)
    return told


def run(serve: Callable[[Stopping], Awaitable[None]], *, linger_s: float = 0.0) -> None:
    """Run until SIGTERM or SIGINT (exit 0) or until something breaks: exit 1, or 2 if a setting
    or a file is not usable.

    Told to end, it serves on for `linger_s`, not ready any more, so that balancers notice.
    """
    sys.exit(uvloop.run(_until_told(serve, Stopping(linger_s))))


async def _until_told(serve: Callable[[Stopping], Awaitable[None]], stopping: Stopping) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    serving = asyncio.ensure_future(serve(stopping))
    told = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, told}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        told.cancel()
        code = _report(serving)
        _end_at_last(code)
        return code
    await stopping.wind_down()
    _end_at_last(0)
    serving.cancel()
    await asyncio.wait({serving}, timeout=5)
    return 0


def _end_at_last(code: int) -> None:
    """Ensures that the process ends soon, even if a thread of it waits for something that never
    comes, such as the answer of a database that is gone. Nothing is lost by it: whatever ends here
    could have been killed."""

    def end() -> None:
        logger.warning("ended while something was still under way", after_s=END_S_MAX)
        os._exit(code)

    timer = threading.Timer(END_S_MAX, end)
    timer.daemon = True
    timer.start()


def _report(serving: "asyncio.Future[None]") -> int:
    error = None if serving.cancelled() else serving.exception()
    if error is None:
        return 0
    error = _innermost(error)
    if isinstance(error, SettingsInvalid | Damaged):  # its message is all that there is to know
        print(f"penstock: {error}", file=sys.__stderr__)  # for people: it is no line of the log
        return 2
    logger.error("stopped", error=str(error), exc_info=error)
    return 1


def _innermost(error: BaseException) -> BaseException:
    """The one failure inside nested groups, which is what a reader wants to see."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _innermost(group.exceptions[0]) if len(group.exceptions) == 1 else group
