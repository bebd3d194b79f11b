"""Write the API's description to openapi/, or (--check) say whether it is up to date."""

import json
import sys
from pathlib import Path

from penstock.central import app

TARGET = Path(__file__).parent.parent / "openapi" / "central.json"


def main() -> int:
    described = json.dumps(app.create().openapi(), indent=2, ensure_ascii=False) + "\n"
    if "--check" in sys.argv[1:]:
        if TARGET.exists() and TARGET.read_text() == described:
            return 0
        print(f"{TARGET.name} is out of date: run tools/openapi.py", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(described)
    return 0


if __name__ == "__main__":
    sys.exit(main())
