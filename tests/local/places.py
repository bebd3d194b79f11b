"""Where the tests keep their databases, and how they start them."""

import shutil
from pathlib import Path
from typing import Final

QUICK: Final = {"fsync": "off"}
MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 1 << 30


def quick_place() -> Path | None:
    """Memory where there is room for a few databases, else wherever temporary files go."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
        return MEMORY
    return None
