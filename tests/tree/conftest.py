from pathlib import Path

import pytest

from tests.tree import copies
from tests.tree.copies import Copy


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return copies.make(tmp_path)
