"""A plane that is told to end says so on its links, and who dialled it dials again."""

import signal

from .platform import Platform


def test_a_link_ends_with_a_reason_when_the_plane_above_is_restarted(platform: Platform) -> None:
    for above, below in ((platform.central, platform.site), (platform.site, platform.agent)):
        below.note()
        above.process.send_signal(signal.SIGTERM)
        assert above.process.wait() == 0
        below.until_written("this process is being restarted; dial again")
        platform.restart(above)
        platform.settle()
