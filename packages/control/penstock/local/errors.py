"""Why `penstock up` cannot begin."""


class Refused(Exception):
    """What was asked for cannot be; nothing was started."""
