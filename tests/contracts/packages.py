"""Packages with drivers in them, as an installer leaves them: modules, and a `.dist-info`."""

from collections.abc import Mapping
from pathlib import Path


def install(
    site: Path, name: str, version: str, entry_points: str, modules: Mapping[str, str]
) -> None:
    """Put a package into a folder that is on the path, or will be."""
    about = site / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(entry_points)
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)
