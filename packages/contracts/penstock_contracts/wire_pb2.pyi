from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Shape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHAPE_UNSPECIFIED: _ClassVar[Shape]
    SHAPE_BAREMETAL: _ClassVar[Shape]
    SHAPE_GPU_SLICE: _ClassVar[Shape]

class Desired(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DESIRED_UNSPECIFIED: _ClassVar[Desired]
    DESIRED_ACTIVE: _ClassVar[Desired]
    DESIRED_RELEASED: _ClassVar[Desired]

class StepStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_STATUS_UNSPECIFIED: _ClassVar[StepStatus]
    STEP_STATUS_STARTED: _ClassVar[StepStatus]
    STEP_STATUS_DONE: _ClassVar[StepStatus]
    STEP_STATUS_FAILED: _ClassVar[StepStatus]
    STEP_STATUS_UNDONE: _ClassVar[StepStatus]

class DiscrepancyKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISCREPANCY_KIND_UNSPECIFIED: _ClassVar[DiscrepancyKind]
    DISCREPANCY_KIND_NOT_HELD: _ClassVar[DiscrepancyKind]
    DISCREPANCY_KIND_NOT_LEASED: _ClassVar[DiscrepancyKind]
    DISCREPANCY_KIND_OTHER_SLOTS: _ClassVar[DiscrepancyKind]

class Observed(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBSERVED_UNSPECIFIED: _ClassVar[Observed]
    OBSERVED_ACTIVE: _ClassVar[Observed]
    OBSERVED_STOPPING: _ClassVar[Observed]
    OBSERVED_RELEASED: _ClassVar[Observed]
    OBSERVED_FAILED: _ClassVar[Observed]

class ImageFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMAGE_FORMAT_UNSPECIFIED: _ClassVar[ImageFormat]
    IMAGE_FORMAT_RAW: _ClassVar[ImageFormat]
    IMAGE_FORMAT_QCOW2: _ClassVar[ImageFormat]
    IMAGE_FORMAT_OCI: _ClassVar[ImageFormat]

class VolumeMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VOLUME_MODE_UNSPECIFIED: _ClassVar[VolumeMode]
    VOLUME_MODE_READ_WRITE: _ClassVar[VolumeMode]
    VOLUME_MODE_READ_ONLY: _ClassVar[VolumeMode]

class TaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATUS_UNSPECIFIED: _ClassVar[TaskStatus]
    TASK_STATUS_DONE: _ClassVar[TaskStatus]
    TASK_STATUS_FAILED: _ClassVar[TaskStatus]
    TASK_STATUS_REFUSED: _ClassVar[TaskStatus]
    TASK_STATUS_EXPIRED: _ClassVar[TaskStatus]
SHAPE_UNSPECIFIED: Shape
SHAPE_BAREMETAL: Shape
SHAPE_GPU_SLICE: Shape
DESIRED_UNSPECIFIED: Desired
DESIRED_ACTIVE: Desired
DESIRED_RELEASED: Desired
STEP_STATUS_UNSPECIFIED: StepStatus
STEP_STATUS_STARTED: StepStatus
STEP_STATUS_DONE: StepStatus
STEP_STATUS_FAILED: StepStatus
STEP_STATUS_UNDONE: StepStatus
DISCREPANCY_KIND_UNSPECIFIED: DiscrepancyKind
DISCREPANCY_KIND_NOT_HELD: DiscrepancyKind
DISCREPANCY_KIND_NOT_LEASED: DiscrepancyKind
DISCREPANCY_KIND_OTHER_SLOTS: DiscrepancyKind
OBSERVED_UNSPECIFIED: Observed
OBSERVED_ACTIVE: Observed
OBSERVED_STOPPING: Observed
OBSERVED_RELEASED: Observed
OBSERVED_FAILED: Observed
IMAGE_FORMAT_UNSPECIFIED: ImageFormat
IMAGE_FORMAT_RAW: ImageFormat
IMAGE_FORMAT_QCOW2: ImageFormat
IMAGE_FORMAT_OCI: ImageFormat
VOLUME_MODE_UNSPECIFIED: VolumeMode
VOLUME_MODE_READ_WRITE: VolumeMode
VOLUME_MODE_READ_ONLY: VolumeMode
TASK_STATUS_UNSPECIFIED: TaskStatus
TASK_STATUS_DONE: TaskStatus
TASK_STATUS_FAILED: TaskStatus
TASK_STATUS_REFUSED: TaskStatus
TASK_STATUS_EXPIRED: TaskStatus

class Frame(_message.Message):
    __slots__ = ("hello", "entry", "ack", "fault")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    entry: Entry
    ack: Ack
    fault: Fault
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., entry: _Optional[_Union[Entry, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., fault: _Optional[_Union[Fault, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("cursor", "version")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    cursor: int
    version: str
    def __init__(self, cursor: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("seq", "previous", "body")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    seq: int
    previous: int
    body: bytes
    def __init__(self, seq: _Optional[int] = ..., previous: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class Fault(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Signed(_message.Message):
    __slots__ = ("payload", "signature")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    signature: bytes
    def __init__(self, payload: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class EnrolRequest(_message.Message):
    __slots__ = ("token_id", "secret", "csr", "ca_csr", "name", "evidence")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    CSR_FIELD_NUMBER: _ClassVar[int]
    CA_CSR_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    secret: bytes
    csr: bytes
    ca_csr: bytes
    name: str
    evidence: Signed
    def __init__(self, token_id: _Optional[str] = ..., secret: _Optional[bytes] = ..., csr: _Optional[bytes] = ..., ca_csr: _Optional[bytes] = ..., name: _Optional[str] = ..., evidence: _Optional[_Union[Signed, _Mapping]] = ...) -> None: ...

class Hardware(_message.Message):
    __slots__ = ("node_id", "token_id", "topology")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    token_id: str
    topology: Topology
    def __init__(self, node_id: _Optional[str] = ..., token_id: _Optional[str] = ..., topology: _Optional[_Union[Topology, _Mapping]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("csr", "ca_csr")
    CSR_FIELD_NUMBER: _ClassVar[int]
    CA_CSR_FIELD_NUMBER: _ClassVar[int]
    csr: bytes
    ca_csr: bytes
    def __init__(self, csr: _Optional[bytes] = ..., ca_csr: _Optional[bytes] = ...) -> None: ...

class Enrolment(_message.Message):
    __slots__ = ("id", "certificate_pem", "ca_certificate_pem", "link_address", "order_key", "ca_root_pem", "waits_for")
    ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_PEM_FIELD_NUMBER: _ClassVar[int]
    CA_CERTIFICATE_PEM_FIELD_NUMBER: _ClassVar[int]
    LINK_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    ORDER_KEY_FIELD_NUMBER: _ClassVar[int]
    CA_ROOT_PEM_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    id: str
    certificate_pem: str
    ca_certificate_pem: str
    link_address: str
    order_key: bytes
    ca_root_pem: str
    waits_for: str
    def __init__(self, id: _Optional[str] = ..., certificate_pem: _Optional[str] = ..., ca_certificate_pem: _Optional[str] = ..., link_address: _Optional[str] = ..., order_key: _Optional[bytes] = ..., ca_root_pem: _Optional[str] = ..., waits_for: _Optional[str] = ...) -> None: ...

class SiteOrder(_message.Message):
    __slots__ = ("site_id", "document", "node_token", "node_retired", "node_key", "reenrolment_rejected")
    SITE_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    NODE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NODE_RETIRED_FIELD_NUMBER: _ClassVar[int]
    NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    REENROLMENT_REJECTED_FIELD_NUMBER: _ClassVar[int]
    site_id: str
    document: Document
    node_token: NodeToken
    node_retired: NodeRetired
    node_key: NodeKey
    reenrolment_rejected: ReenrolmentRejected
    def __init__(self, site_id: _Optional[str] = ..., document: _Optional[_Union[Document, _Mapping]] = ..., node_token: _Optional[_Union[NodeToken, _Mapping]] = ..., node_retired: _Optional[_Union[NodeRetired, _Mapping]] = ..., node_key: _Optional[_Union[NodeKey, _Mapping]] = ..., reenrolment_rejected: _Optional[_Union[ReenrolmentRejected, _Mapping]] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("kind", "key", "revision", "correlation_id", "body", "gone")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    key: str
    revision: int
    correlation_id: str
    body: bytes
    gone: bool
    def __init__(self, kind: _Optional[str] = ..., key: _Optional[str] = ..., revision: _Optional[int] = ..., correlation_id: _Optional[str] = ..., body: _Optional[bytes] = ..., gone: _Optional[bool] = ...) -> None: ...

class DesiredAllocation(_message.Message):
    __slots__ = ("allocation_id", "revision", "desired", "shape", "node_id", "slots")
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DESIRED_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    allocation_id: str
    revision: int
    desired: Desired
    shape: Shape
    node_id: str
    slots: _containers.RepeatedCompositeFieldContainer[SlotBinding]
    def __init__(self, allocation_id: _Optional[str] = ..., revision: _Optional[int] = ..., desired: _Optional[_Union[Desired, str]] = ..., shape: _Optional[_Union[Shape, str]] = ..., node_id: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[SlotBinding, _Mapping]]] = ...) -> None: ...

class SlotBinding(_message.Message):
    __slots__ = ("slot_id", "fence", "chassis", "index", "gpu_uuid", "nvme_serial", "fabric_guid", "numa_node", "cpus", "memory_mib", "cleanup_nonce", "cleanup_steps")
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    CHASSIS_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GPU_UUID_FIELD_NUMBER: _ClassVar[int]
    NVME_SERIAL_FIELD_NUMBER: _ClassVar[int]
    FABRIC_GUID_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODE_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_NONCE_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_STEPS_FIELD_NUMBER: _ClassVar[int]
    slot_id: str
    fence: int
    chassis: bool
    index: int
    gpu_uuid: str
    nvme_serial: str
    fabric_guid: str
    numa_node: int
    cpus: int
    memory_mib: int
    cleanup_nonce: bytes
    cleanup_steps: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, slot_id: _Optional[str] = ..., fence: _Optional[int] = ..., chassis: _Optional[bool] = ..., index: _Optional[int] = ..., gpu_uuid: _Optional[str] = ..., nvme_serial: _Optional[str] = ..., fabric_guid: _Optional[str] = ..., numa_node: _Optional[int] = ..., cpus: _Optional[int] = ..., memory_mib: _Optional[int] = ..., cleanup_nonce: _Optional[bytes] = ..., cleanup_steps: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeToken(_message.Message):
    __slots__ = ("token_id", "secret_sha256", "expires_at_us", "name", "rejoins")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    SECRET_SHA256_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_US_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REJOINS_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    secret_sha256: bytes
    expires_at_us: int
    name: str
    rejoins: str
    def __init__(self, token_id: _Optional[str] = ..., secret_sha256: _Optional[bytes] = ..., expires_at_us: _Optional[int] = ..., name: _Optional[str] = ..., rejoins: _Optional[str] = ...) -> None: ...

class NodeRetired(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    def __init__(self, node_id: _Optional[str] = ...) -> None: ...

class NodeKey(_message.Message):
    __slots__ = ("node_id", "public_key")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    public_key: bytes
    def __init__(self, node_id: _Optional[str] = ..., public_key: _Optional[bytes] = ...) -> None: ...

class ReenrolmentRejected(_message.Message):
    __slots__ = ("token_id", "reason")
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    token_id: str
    reason: str
    def __init__(self, token_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class SiteReport(_message.Message):
    __slots__ = ("correlation_id", "site", "enrolled", "presence", "topology", "stepped", "reported", "reenrolment", "discrepancies", "health")
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    ENROLLED_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    STEPPED_FIELD_NUMBER: _ClassVar[int]
    REPORTED_FIELD_NUMBER: _ClassVar[int]
    REENROLMENT_FIELD_NUMBER: _ClassVar[int]
    DISCREPANCIES_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    correlation_id: str
    site: SiteDescribed
    enrolled: NodeEnrolled
    presence: NodePresence
    topology: Signed
    stepped: Stepped
    reported: Reported
    reenrolment: ReenrolmentRequested
    discrepancies: NodeDiscrepancies
    health: Signed
    def __init__(self, correlation_id: _Optional[str] = ..., site: _Optional[_Union[SiteDescribed, _Mapping]] = ..., enrolled: _Optional[_Union[NodeEnrolled, _Mapping]] = ..., presence: _Optional[_Union[NodePresence, _Mapping]] = ..., topology: _Optional[_Union[Signed, _Mapping]] = ..., stepped: _Optional[_Union[Stepped, _Mapping]] = ..., reported: _Optional[_Union[Reported, _Mapping]] = ..., reenrolment: _Optional[_Union[ReenrolmentRequested, _Mapping]] = ..., discrepancies: _Optional[_Union[NodeDiscrepancies, _Mapping]] = ..., health: _Optional[_Union[Signed, _Mapping]] = ...) -> None: ...

class Stepped(_message.Message):
    __slots__ = ("kind", "key", "revision", "workflow", "step", "status", "at_us", "detail")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    kind: str
    key: str
    revision: int
    workflow: str
    step: str
    status: StepStatus
    at_us: int
    detail: str
    def __init__(self, kind: _Optional[str] = ..., key: _Optional[str] = ..., revision: _Optional[int] = ..., workflow: _Optional[str] = ..., step: _Optional[str] = ..., status: _Optional[_Union[StepStatus, str]] = ..., at_us: _Optional[int] = ..., detail: _Optional[str] = ...) -> None: ...

class Reported(_message.Message):
    __slots__ = ("kind", "key", "revision", "body")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    kind: str
    key: str
    revision: int
    body: bytes
    def __init__(self, kind: _Optional[str] = ..., key: _Optional[str] = ..., revision: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class SiteDescribed(_message.Message):
    __slots__ = ("join_address", "version")
    JOIN_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    join_address: str
    version: str
    def __init__(self, join_address: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class NodeEnrolled(_message.Message):
    __slots__ = ("node_id", "name", "public_key", "token_id")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    public_key: bytes
    token_id: str
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., public_key: _Optional[bytes] = ..., token_id: _Optional[str] = ...) -> None: ...

class ReenrolmentRequested(_message.Message):
    __slots__ = ("node_id", "token_id", "public_key", "evidence")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    token_id: str
    public_key: bytes
    evidence: Signed
    def __init__(self, node_id: _Optional[str] = ..., token_id: _Optional[str] = ..., public_key: _Optional[bytes] = ..., evidence: _Optional[_Union[Signed, _Mapping]] = ...) -> None: ...

class NodePresence(_message.Message):
    __slots__ = ("node_id", "connected", "at_us", "reason")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    connected: bool
    at_us: int
    reason: str
    def __init__(self, node_id: _Optional[str] = ..., connected: _Optional[bool] = ..., at_us: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class NodeDiscrepancies(_message.Message):
    __slots__ = ("node_id", "found", "at_us")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    found: _containers.RepeatedCompositeFieldContainer[Discrepancy]
    at_us: int
    def __init__(self, node_id: _Optional[str] = ..., found: _Optional[_Iterable[_Union[Discrepancy, _Mapping]]] = ..., at_us: _Optional[int] = ...) -> None: ...

class Discrepancy(_message.Message):
    __slots__ = ("kind", "allocation_id", "runtime_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_ID_FIELD_NUMBER: _ClassVar[int]
    kind: DiscrepancyKind
    allocation_id: str
    runtime_id: str
    def __init__(self, kind: _Optional[_Union[DiscrepancyKind, str]] = ..., allocation_id: _Optional[str] = ..., runtime_id: _Optional[str] = ...) -> None: ...

class LeaseReport(_message.Message):
    __slots__ = ("observed", "cleanup")
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    observed: AllocationObserved
    cleanup: CleanupReported
    def __init__(self, observed: _Optional[_Union[AllocationObserved, _Mapping]] = ..., cleanup: _Optional[_Union[CleanupReported, _Mapping]] = ...) -> None: ...

class AllocationObserved(_message.Message):
    __slots__ = ("observed", "at_us", "reason", "fences")
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FENCES_FIELD_NUMBER: _ClassVar[int]
    observed: Observed
    at_us: int
    reason: str
    fences: _containers.RepeatedCompositeFieldContainer[SlotFence]
    def __init__(self, observed: _Optional[_Union[Observed, str]] = ..., at_us: _Optional[int] = ..., reason: _Optional[str] = ..., fences: _Optional[_Iterable[_Union[SlotFence, _Mapping]]] = ...) -> None: ...

class SlotFence(_message.Message):
    __slots__ = ("slot_id", "fence")
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    slot_id: str
    fence: int
    def __init__(self, slot_id: _Optional[str] = ..., fence: _Optional[int] = ...) -> None: ...

class CleanupReported(_message.Message):
    __slots__ = ("proofs", "reason")
    PROOFS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    proofs: _containers.RepeatedCompositeFieldContainer[Signed]
    reason: str
    def __init__(self, proofs: _Optional[_Iterable[_Union[Signed, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("task_id", "node_id", "issued_at_us", "deadline_us", "correlation_id", "discover", "provision", "release", "holds")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_AT_US_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_US_FIELD_NUMBER: _ClassVar[int]
    CORRELATION_ID_FIELD_NUMBER: _ClassVar[int]
    DISCOVER_FIELD_NUMBER: _ClassVar[int]
    PROVISION_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    node_id: str
    issued_at_us: int
    deadline_us: int
    correlation_id: str
    discover: TopologyDiscover
    provision: LeaseTask
    release: LeaseTask
    holds: HoldsList
    def __init__(self, task_id: _Optional[str] = ..., node_id: _Optional[str] = ..., issued_at_us: _Optional[int] = ..., deadline_us: _Optional[int] = ..., correlation_id: _Optional[str] = ..., discover: _Optional[_Union[TopologyDiscover, _Mapping]] = ..., provision: _Optional[_Union[LeaseTask, _Mapping]] = ..., release: _Optional[_Union[LeaseTask, _Mapping]] = ..., holds: _Optional[_Union[HoldsList, _Mapping]] = ...) -> None: ...

class TopologyDiscover(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HoldsList(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaseTask(_message.Message):
    __slots__ = ("allocation_id", "shape", "slots", "image", "networks", "volumes", "access")
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    VOLUMES_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    allocation_id: str
    shape: Shape
    slots: _containers.RepeatedCompositeFieldContainer[SlotBinding]
    image: Image
    networks: _containers.RepeatedCompositeFieldContainer[NetworkAttachment]
    volumes: _containers.RepeatedCompositeFieldContainer[VolumeAttachment]
    access: Access
    def __init__(self, allocation_id: _Optional[str] = ..., shape: _Optional[_Union[Shape, str]] = ..., slots: _Optional[_Iterable[_Union[SlotBinding, _Mapping]]] = ..., image: _Optional[_Union[Image, _Mapping]] = ..., networks: _Optional[_Iterable[_Union[NetworkAttachment, _Mapping]]] = ..., volumes: _Optional[_Iterable[_Union[VolumeAttachment, _Mapping]]] = ..., access: _Optional[_Union[Access, _Mapping]] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ("reference", "digest", "format")
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    reference: str
    digest: str
    format: ImageFormat
    def __init__(self, reference: _Optional[str] = ..., digest: _Optional[str] = ..., format: _Optional[_Union[ImageFormat, str]] = ...) -> None: ...

class NetworkAttachment(_message.Message):
    __slots__ = ("network_id", "vlan", "vni", "mac", "addresses", "gateway", "mtu")
    NETWORK_ID_FIELD_NUMBER: _ClassVar[int]
    VLAN_FIELD_NUMBER: _ClassVar[int]
    VNI_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    GATEWAY_FIELD_NUMBER: _ClassVar[int]
    MTU_FIELD_NUMBER: _ClassVar[int]
    network_id: str
    vlan: int
    vni: int
    mac: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    gateway: str
    mtu: int
    def __init__(self, network_id: _Optional[str] = ..., vlan: _Optional[int] = ..., vni: _Optional[int] = ..., mac: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., gateway: _Optional[str] = ..., mtu: _Optional[int] = ...) -> None: ...

class VolumeAttachment(_message.Message):
    __slots__ = ("volume_id", "size_bytes", "mode", "device")
    VOLUME_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    volume_id: str
    size_bytes: int
    mode: VolumeMode
    device: str
    def __init__(self, volume_id: _Optional[str] = ..., size_bytes: _Optional[int] = ..., mode: _Optional[_Union[VolumeMode, str]] = ..., device: _Optional[str] = ...) -> None: ...

class Access(_message.Message):
    __slots__ = ("user", "ssh_public_keys", "user_data")
    USER_FIELD_NUMBER: _ClassVar[int]
    SSH_PUBLIC_KEYS_FIELD_NUMBER: _ClassVar[int]
    USER_DATA_FIELD_NUMBER: _ClassVar[int]
    user: str
    ssh_public_keys: _containers.RepeatedScalarFieldContainer[str]
    user_data: bytes
    def __init__(self, user: _Optional[str] = ..., ssh_public_keys: _Optional[_Iterable[str]] = ..., user_data: _Optional[bytes] = ...) -> None: ...

class TaskResult(_message.Message):
    __slots__ = ("task_id", "node_id", "status", "reason", "started_at_us", "finished_at_us", "topology", "runtime", "cleanup", "holds", "health", "fault")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_US_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_US_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    CLEANUP_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    node_id: str
    status: TaskStatus
    reason: str
    started_at_us: int
    finished_at_us: int
    topology: Topology
    runtime: RuntimeUp
    cleanup: Cleanup
    holds: HostHolds
    health: HostHealth
    fault: str
    def __init__(self, task_id: _Optional[str] = ..., node_id: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., reason: _Optional[str] = ..., started_at_us: _Optional[int] = ..., finished_at_us: _Optional[int] = ..., topology: _Optional[_Union[Topology, _Mapping]] = ..., runtime: _Optional[_Union[RuntimeUp, _Mapping]] = ..., cleanup: _Optional[_Union[Cleanup, _Mapping]] = ..., holds: _Optional[_Union[HostHolds, _Mapping]] = ..., health: _Optional[_Union[HostHealth, _Mapping]] = ..., fault: _Optional[str] = ...) -> None: ...

class Topology(_message.Message):
    __slots__ = ("hardware", "gpu_family", "gpu_vendor", "gpu_model", "gpu_memory_mib", "cpus", "memory_mib", "numa_nodes", "fabric_leaf", "slots", "readiness", "product_serial")
    HARDWARE_FIELD_NUMBER: _ClassVar[int]
    GPU_FAMILY_FIELD_NUMBER: _ClassVar[int]
    GPU_VENDOR_FIELD_NUMBER: _ClassVar[int]
    GPU_MODEL_FIELD_NUMBER: _ClassVar[int]
    GPU_MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODES_FIELD_NUMBER: _ClassVar[int]
    FABRIC_LEAF_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    READINESS_FIELD_NUMBER: _ClassVar[int]
    PRODUCT_SERIAL_FIELD_NUMBER: _ClassVar[int]
    hardware: str
    gpu_family: str
    gpu_vendor: str
    gpu_model: str
    gpu_memory_mib: int
    cpus: int
    memory_mib: int
    numa_nodes: int
    fabric_leaf: str
    slots: _containers.RepeatedCompositeFieldContainer[ProposedSlot]
    readiness: _containers.RepeatedCompositeFieldContainer[Readiness]
    product_serial: str
    def __init__(self, hardware: _Optional[str] = ..., gpu_family: _Optional[str] = ..., gpu_vendor: _Optional[str] = ..., gpu_model: _Optional[str] = ..., gpu_memory_mib: _Optional[int] = ..., cpus: _Optional[int] = ..., memory_mib: _Optional[int] = ..., numa_nodes: _Optional[int] = ..., fabric_leaf: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[ProposedSlot, _Mapping]]] = ..., readiness: _Optional[_Iterable[_Union[Readiness, _Mapping]]] = ..., product_serial: _Optional[str] = ...) -> None: ...

class ProposedSlot(_message.Message):
    __slots__ = ("index", "gpu_uuid", "pci_address", "nvme_serial", "fabric_guid", "numa_node", "cpus", "memory_mib")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    GPU_UUID_FIELD_NUMBER: _ClassVar[int]
    PCI_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    NVME_SERIAL_FIELD_NUMBER: _ClassVar[int]
    FABRIC_GUID_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODE_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    index: int
    gpu_uuid: str
    pci_address: str
    nvme_serial: str
    fabric_guid: str
    numa_node: int
    cpus: int
    memory_mib: int
    def __init__(self, index: _Optional[int] = ..., gpu_uuid: _Optional[str] = ..., pci_address: _Optional[str] = ..., nvme_serial: _Optional[str] = ..., fabric_guid: _Optional[str] = ..., numa_node: _Optional[int] = ..., cpus: _Optional[int] = ..., memory_mib: _Optional[int] = ...) -> None: ...

class Readiness(_message.Message):
    __slots__ = ("check", "passed", "detail")
    CHECK_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    check: str
    passed: bool
    detail: str
    def __init__(self, check: _Optional[str] = ..., passed: _Optional[bool] = ..., detail: _Optional[str] = ...) -> None: ...

class RuntimeUp(_message.Message):
    __slots__ = ("allocation_id", "runtime_id", "gpu_uuids")
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_ID_FIELD_NUMBER: _ClassVar[int]
    GPU_UUIDS_FIELD_NUMBER: _ClassVar[int]
    allocation_id: str
    runtime_id: str
    gpu_uuids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, allocation_id: _Optional[str] = ..., runtime_id: _Optional[str] = ..., gpu_uuids: _Optional[_Iterable[str]] = ...) -> None: ...

class Cleanup(_message.Message):
    __slots__ = ("allocation_id", "proofs")
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    PROOFS_FIELD_NUMBER: _ClassVar[int]
    allocation_id: str
    proofs: _containers.RepeatedCompositeFieldContainer[Signed]
    def __init__(self, allocation_id: _Optional[str] = ..., proofs: _Optional[_Iterable[_Union[Signed, _Mapping]]] = ...) -> None: ...

class CleanupProof(_message.Message):
    __slots__ = ("node_id", "slot_id", "allocation_id", "fence", "nonce", "steps", "finished_at_us")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SLOT_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_US_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    slot_id: str
    allocation_id: str
    fence: int
    nonce: bytes
    steps: _containers.RepeatedCompositeFieldContainer[CleanupStep]
    finished_at_us: int
    def __init__(self, node_id: _Optional[str] = ..., slot_id: _Optional[str] = ..., allocation_id: _Optional[str] = ..., fence: _Optional[int] = ..., nonce: _Optional[bytes] = ..., steps: _Optional[_Iterable[_Union[CleanupStep, _Mapping]]] = ..., finished_at_us: _Optional[int] = ...) -> None: ...

class CleanupStep(_message.Message):
    __slots__ = ("name", "passed", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    passed: bool
    detail: str
    def __init__(self, name: _Optional[str] = ..., passed: _Optional[bool] = ..., detail: _Optional[str] = ...) -> None: ...

class HostHolds(_message.Message):
    __slots__ = ("holdings",)
    HOLDINGS_FIELD_NUMBER: _ClassVar[int]
    holdings: _containers.RepeatedCompositeFieldContainer[Holding]
    def __init__(self, holdings: _Optional[_Iterable[_Union[Holding, _Mapping]]] = ...) -> None: ...

class Holding(_message.Message):
    __slots__ = ("allocation_id", "runtime_id", "slots")
    ALLOCATION_ID_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_ID_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    allocation_id: str
    runtime_id: str
    slots: _containers.RepeatedCompositeFieldContainer[SlotFence]
    def __init__(self, allocation_id: _Optional[str] = ..., runtime_id: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[SlotFence, _Mapping]]] = ...) -> None: ...

class HostHealth(_message.Message):
    __slots__ = ("problems", "more")
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    problems: _containers.RepeatedCompositeFieldContainer[Problem]
    more: int
    def __init__(self, problems: _Optional[_Iterable[_Union[Problem, _Mapping]]] = ..., more: _Optional[int] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("check", "subject", "detail")
    CHECK_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    check: str
    subject: str
    detail: str
    def __init__(self, check: _Optional[str] = ..., subject: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...
