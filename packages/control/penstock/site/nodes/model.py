"""A node as its site knows it."""

from dataclasses import dataclass

from penstock_contracts.ids import NodeId


@dataclass(frozen=True)
class Node:
    id: NodeId
    name: str
    public_key: bytes
    retired: bool = False  # its key opens nothing any more


@dataclass(frozen=True)
class Token:
    """Whom a join token is for: anybody, whoever has this name, or a node that comes back."""

    name: str = ""
    rejoins: str = ""
