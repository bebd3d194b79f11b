"""The placement solver. Pure: no I/O, no clock, no randomness it was not given."""
