"""Suites that hold a driver to the rules of its protocol, for whoever writes one.

A suite is a class of tests. Whoever has a driver subclasses it, says how the driver is called and
gives it a stage: what only the outside of the driver can show. pytest comes with the extra
`penstock-contracts[conformance]`; nothing that runs in production imports this.
"""

import pytest

# Before the modules are imported: then a failed assertion tells its values here too.
pytest.register_assert_rewrite(f"{__name__}.declaration", f"{__name__}.realm", f"{__name__}.host")
