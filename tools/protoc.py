"""Compile wire.proto into the contracts package. `--check` only says whether it is current."""

import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "packages/contracts/penstock_contracts"
OUTPUTS = ("wire_pb2.py", "wire_pb2.pyi")


def compile_to(folder: Path) -> None:
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PACKAGE}"]
    outputs = [f"--python_out={folder}", f"--pyi_out={folder}"]
    subprocess.run([*protoc, *outputs, PACKAGE / "wire.proto"], check=True)  # noqa: S603 our own file


def main() -> None:
    if "--check" not in sys.argv:
        compile_to(PACKAGE)
        return
    with tempfile.TemporaryDirectory() as scratch:
        compile_to(Path(scratch))
        stale = [n for n in OUTPUTS if (Path(scratch) / n).read_text() != (PACKAGE / n).read_text()]
    if stale:
        sys.exit(f"{', '.join(stale)} does not match wire.proto: run `make proto`")


main()
