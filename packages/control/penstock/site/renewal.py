"""The site's own certificate, renewed before it runs out."""

from functools import partial

from penstock.kernel import log, loops
from penstock.kernel.loops import Loop
from penstock_contracts.membership import Member

logger = log.get(__name__)


def loop(member: Member) -> Loop:
    return Loop(
        "certificate",
        "Renews the site's certificate before it runs out.",
        loops.steady(partial(member.keep_fresh, _not_renewed)),
    )


def _not_renewed(why: str) -> None:
    logger.warning("certificate not renewed", why=why)
