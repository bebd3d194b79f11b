"""Moves that would open room. They are proposed and never carried out."""
