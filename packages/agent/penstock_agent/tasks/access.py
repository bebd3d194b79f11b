"""Who may enter a lease's runtime, checked: bounded and well formed. Pure."""

import base64
import binascii
import re
from typing import Final

from penstock_agent.tasks.doer import InputRefused
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.drivers.lease import Access

KEYS_MAX: Final = 64
KEY_LENGTH_MAX: Final = 8192
USER_DATA_BYTES_MAX: Final = 64 << 10
USER: Final = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
KEY: Final = re.compile(
    r"(ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)|sk-[a-z0-9-]+@openssh\.com)"
    r" ([A-Za-z0-9+/]+={0,2})(?: [!-~][ -~]{0,199})?"
)


def read(given: wire.Access) -> Access:
    if not USER.fullmatch(given.user):
        raise InputRefused("the user of the lease's access is missing or malformed")
    if len(given.ssh_public_keys) > KEYS_MAX:
        raise InputRefused(f"a lease has at most {KEYS_MAX} SSH keys")
    if not all(_is_key(key) for key in given.ssh_public_keys):
        raise InputRefused("an SSH key of the lease is not one line of a public key")
    if len(given.user_data) > USER_DATA_BYTES_MAX:
        raise InputRefused(f"the lease's user data is longer than {USER_DATA_BYTES_MAX} bytes")
    return Access(given.user, tuple(given.ssh_public_keys), given.user_data)


def _is_key(text: str) -> bool:
    """One line, whose first word its second says as well: what sshd would take."""
    found = KEY.fullmatch(text) if len(text) <= KEY_LENGTH_MAX else None
    if found is None:
        return False
    try:
        blob = base64.b64decode(found[2], validate=True)
    except (binascii.Error, ValueError):
        return False
    name = found[1].encode()
    return blob.startswith(len(name).to_bytes(4, "big") + name)
