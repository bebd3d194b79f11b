"""Everything that differs by vendor: a protocol for each kind of driver, and how one is found."""
