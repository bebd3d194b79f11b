"""The modules that assert for the tests say what differs, as the tests themselves do."""

import pytest

pytest.register_assert_rewrite(
    "protocol.expected", "protocol.machine", "protocol.placing", "protocol.releasing"
)
