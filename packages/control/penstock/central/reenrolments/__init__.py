"""Nodes that lost their key and came back with another one: an operator decides."""
