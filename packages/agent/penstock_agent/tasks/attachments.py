"""The image, the networks and the volumes of a lease, checked: bounded and well formed. Pure."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from penstock_agent.tasks.doer import InputRefused
from penstock_contracts import wire_pb2 as wire
from penstock_contracts.drivers.lease import Image, ImageFormat, Network, Volume, VolumeMode
from penstock_contracts.wire_pb2 import NetworkAttachment, VolumeAttachment

NETWORKS_MAX: Final = 16
VOLUMES_MAX: Final = 32
ADDRESSES_MAX: Final = 8
VLAN_MAX: Final = 4094
VNI_MAX: Final = (1 << 24) - 1
MTU_MIN: Final = 576
MTU_MAX: Final = 9216
SIZE_BYTES_MAX: Final = 1 << 60
ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@?&=%+~-]{0,499}")
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
DEVICE: Final = re.compile(r"[a-z][a-z0-9]{0,30}")
FORMATS: Final = {
    wire.IMAGE_FORMAT_RAW: ImageFormat.RAW,
    wire.IMAGE_FORMAT_QCOW2: ImageFormat.QCOW2,
    wire.IMAGE_FORMAT_OCI: ImageFormat.OCI,
}
MODES: Final = {
    wire.VOLUME_MODE_READ_WRITE: VolumeMode.READ_WRITE,
    wire.VOLUME_MODE_READ_ONLY: VolumeMode.READ_ONLY,
}


def image(given: wire.Image) -> Image:
    if not REFERENCE.fullmatch(given.reference):
        raise InputRefused("the image has no reference, or a malformed one")
    if not DIGEST.fullmatch(given.digest):
        raise InputRefused("the image's digest is not sha256: and 64 hexadecimal digits")
    format = FORMATS.get(given.format)
    if format is None:
        raise InputRefused("the image has no format that this agent knows")
    return Image(given.reference, given.digest, format)


def networks(given: Sequence[NetworkAttachment]) -> tuple[Network, ...]:
    if len(given) > NETWORKS_MAX:
        raise InputRefused(f"a lease has at most {NETWORKS_MAX} networks; this one {len(given)}")
    found = tuple(_network(one) for one in given)
    macs = [network.mac for network in found]
    if len(set(macs)) != len(macs):
        raise InputRefused("two networks of the lease have the same MAC address")
    return found


def volumes(given: Sequence[VolumeAttachment]) -> tuple[Volume, ...]:
    if len(given) > VOLUMES_MAX:
        raise InputRefused(f"a lease has at most {VOLUMES_MAX} volumes; this one {len(given)}")
    found = tuple(_volume(one) for one in given)
    for names in ([volume.id for volume in found], [volume.device for volume in found]):
        if len(set(names)) != len(names):
            raise InputRefused("the lease names a volume or its device twice")
    return found


def _network(given: NetworkAttachment) -> Network:
    if not ID.fullmatch(given.network_id):
        raise InputRefused("a network has no id, or a malformed one")
    where = f"network {given.network_id}"
    if given.vlan > VLAN_MAX or given.vni > VNI_MAX:
        raise InputRefused(f"{where} has a VLAN above {VLAN_MAX} or a VNI above {VNI_MAX}")
    if not MAC.fullmatch(given.mac) or int(given.mac[:2], 16) & 1:
        raise InputRefused(f"{where} has a MAC address that no interface can have")
    if given.mtu and not MTU_MIN <= given.mtu <= MTU_MAX:
        raise InputRefused(f"{where} has an MTU that is not from {MTU_MIN} to {MTU_MAX}")
    if len(given.addresses) > ADDRESSES_MAX:
        raise InputRefused(f"{where} has more than {ADDRESSES_MAX} addresses")
    try:
        addresses = tuple(str(ipaddress.ip_interface(text)) for text in given.addresses)
        gateway = str(ipaddress.ip_address(given.gateway)) if given.gateway else ""
    except ValueError:
        raise InputRefused(f"{where} has an address or a gateway that is not an IP") from None
    return Network(
        given.network_id, given.vlan, given.vni, given.mac, addresses, gateway, given.mtu
    )


def _volume(given: VolumeAttachment) -> Volume:
    if not ID.fullmatch(given.volume_id):
        raise InputRefused("a volume has no id, or a malformed one")
    where = f"volume {given.volume_id}"
    if not 1 <= given.size_bytes <= SIZE_BYTES_MAX:
        raise InputRefused(f"{where} has no size, or one above {SIZE_BYTES_MAX} bytes")
    mode = MODES.get(given.mode)
    if mode is None:
        raise InputRefused(f"{where} has no mode that this agent knows")
    if not DEVICE.fullmatch(given.device):
        raise InputRefused(f"{where} has no device name, or a malformed one")
    return Volume(given.volume_id, given.size_bytes, mode, given.device)
