"""What a browser calls itself, in words that its owner would use."""

from typing import Final

# In order: most of them also say that they are those after them.
BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrom", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS: Final = (
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS", "a Mac"),
    ("Linux", "Linux"),
)


def shown(agent: str) -> str:
    """`Chrome on Linux`; the beginning of what it says, if it is none that we know."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in SYSTEMS if sign in agent), "")
    if not browser:
        return agent.partition(" ")[0][:40] or "a browser"
    return f"{browser} on {system}" if system else browser
