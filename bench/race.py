"""R01 for longer: racing clients on two replicas that are killed at random moments.

The race itself is the tests' (tests/protocol/long_race.py); this is where benchmarks are.
"""

import runpy
from pathlib import Path

RACE = Path(__file__).parent.parent / "tests" / "protocol" / "long_race.py"

if __name__ == "__main__":
    runpy.run_path(str(RACE), run_name="__main__")
