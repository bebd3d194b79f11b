"""gRPC: the two services by name, and the options that both ends of a link use.

Method tables instead of generated stubs: the services have three methods in all,
and this way their types are checked.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
import grpc.aio

from penstock_contracts.wire_pb2 import Enrolment, EnrolRequest, Frame, RenewRequest

CONNECT: Final = "/penstock.v1.Link/Connect"
ENROL: Final = "/penstock.v1.Join/Enrol"
RENEW: Final = "/penstock.v1.Join/Renew"

PING_EVERY_MS: Final = 10_000
PONG_WITHIN_MS: Final = 5_000
CONNECT_WITHIN_MS: Final = 15_000
# A peer that is dead, or stands still, is noticed within 15 s; messages are bounded on both sides.
OPTIONS: Final = [
    ("grpc.keepalive_time_ms", PING_EVERY_MS),
    ("grpc.keepalive_timeout_ms", PONG_WITHIN_MS),
    # A peer whose kernel still takes what is sent is given up by this one alone: a minute, unset.
    ("grpc.http2.ping_timeout_ms", PONG_WITHIN_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.max_receive_message_length", 4 << 20),
    ("grpc.so_reuseport", 0),
    # However long the outage was, a peer that is back is found within seconds.
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # A handshake with one that stands still ends too: behind its address another may live.
    ("grpc.min_reconnect_backoff_ms", CONNECT_WITHIN_MS),
]

ServerContext = grpc.aio.ServicerContext[Any, Any]
Connect = Callable[["ServerStream", ServerContext], Awaitable[None]]
Enrol = Callable[[EnrolRequest, ServerContext], Awaitable[Enrolment]]
Renew = Callable[[RenewRequest, ServerContext], Awaitable[Enrolment]]


class ServerStream:
    """The server's end of a Connect call, as a link Stream."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    async def read(self) -> Frame | None:
        frame = await self._context.read()
        return frame if isinstance(frame, Frame) else None

    async def write(self, frame: Frame) -> None:
        await self._context.write(frame)


class ClientStream:
    """The client's end of a Connect call, as a link Stream."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        method = channel.stream_stream(CONNECT, Frame.SerializeToString, Frame.FromString)
        self._call = method()

    async def read(self) -> Frame | None:
        frame = await self._call.read()
        return frame if isinstance(frame, Frame) else None

    async def write(self, frame: Frame) -> None:
        try:
            await self._call.write(frame)
        except asyncio.InvalidStateError as error:  # the call ended while we were writing
            raise ConnectionError("the link is closed") from error

    def cancel(self) -> None:
        self._call.cancel()


def link_service(connect: Connect) -> grpc.GenericRpcHandler:
    async def serve(_requests: AsyncIterator[Frame], context: ServerContext) -> None:
        await connect(ServerStream(context), context)

    handler = grpc.stream_stream_rpc_method_handler(
        serve,  # pyright: ignore[reportArgumentType] # the stubs know sync handlers only
        request_deserializer=Frame.FromString,
        response_serializer=Frame.SerializeToString,
    )
    return grpc.method_handlers_generic_handler("penstock.v1.Link", {"Connect": handler})


def join_service(enrol: Enrol, renew: Renew) -> grpc.GenericRpcHandler:
    handlers = {
        "Enrol": grpc.unary_unary_rpc_method_handler(
            enrol,  # pyright: ignore[reportArgumentType] # the stubs know sync handlers only
            request_deserializer=EnrolRequest.FromString,
            response_serializer=Enrolment.SerializeToString,
        ),
        "Renew": grpc.unary_unary_rpc_method_handler(
            renew,  # pyright: ignore[reportArgumentType] # the stubs know sync handlers only
            request_deserializer=RenewRequest.FromString,
            response_serializer=Enrolment.SerializeToString,
        ),
    }
    return grpc.method_handlers_generic_handler("penstock.v1.Join", handlers)


def channel(
    address: str, server_name: str, ca_pem: bytes, identity: tuple[bytes, bytes] | None = None
) -> grpc.aio.Channel:
    """A verified channel; with `identity` (key PEM, chain PEM), a mutually verified one."""
    key, chain = identity or (None, None)
    credentials = grpc.ssl_channel_credentials(ca_pem, key, chain)
    options = [*OPTIONS, ("grpc.ssl_target_name_override", server_name)]
    # Each channel its own connection: two identities must never share one.
    options.append(("grpc.use_local_subchannel_pool", 1))
    return grpc.aio.secure_channel(address, credentials, options)


async def enrol(join: grpc.aio.Channel, request: EnrolRequest, timeout_s: float) -> Enrolment:
    method = join.unary_unary(ENROL, EnrolRequest.SerializeToString, Enrolment.FromString)
    return await method(request, timeout=timeout_s)


async def renew(join: grpc.aio.Channel, request: RenewRequest, timeout_s: float) -> Enrolment:
    method = join.unary_unary(RENEW, RenewRequest.SerializeToString, Enrolment.FromString)
    return await method(request, timeout=timeout_s)
