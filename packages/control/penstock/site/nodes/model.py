"""A node as its site knows it."""

from dataclasses import dataclass

from penstock_contracts.ids import NodeId


@dataclass(frozen=True)
class Node:
    id: NodeId
    name: str
    public_key: bytes
