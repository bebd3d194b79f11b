"""Requests at a rate of their own, and what became of them."""
