"""Names that people give to things: short, plain, safe in a terminal and in a URL."""

from typing import Annotated

from pydantic import StringConstraints

Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$", max_length=63)
]
Text = Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]
# An id or a name, where either will do.
Reference = Annotated[
    str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z0-9._-]+$")
]
