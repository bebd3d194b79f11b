"""The `penstock` command: finds the command that is asked for and imports only that."""

import difflib
import sys
from collections.abc import Sequence
from typing import Final

from penstock_client import VERSION, completion, errors, processes, streams

NOUNS: Final = {
    "allocation": "GPUs, from asking for them to giving them back.",
    "sku": "What can be allocated, in which sizes, at what price.",
    "availability": "How much of each SKU fits now, and where.",
    "usage": "Which GPUs were used, for how long, at what cost.",
    "dispute": "Times of usage that a site reported and that cannot be.",
    "events": "What happened, in order, and what happens now.",
    "tenant": "Who uses the platform, how they come and go, their keys and their money.",
    "template": "What tenants are given unless their files say otherwise.",
    "pool": "VRFs, VLANs, VNIs, partition keys and prefixes to hand out.",
    "organization": "The parts of a tenant, which projects belong to.",
    "project": "What a tenant's allocations and costs are grouped by.",
    "quota": "How much may be held or spent, and how much is.",
    "site": "The places where the GPUs are.",
    "node": "The machines at the sites.",
    "reenrolment": "Nodes that lost their key, and ask to come back under a new one.",
    "slot": "A GPU with its disk, fabric device, CPUs and memory.",
    "defragmentation": "Moves that would open whole nodes or larger slices.",
    "audit": "Who did what, and whether the log of it is whole.",
    "invariants": "What must always hold, with any violations.",
    "platform": "The platform itself: the background work of its processes.",
    "user": "The people of a tenant: who is in, who is invited, who is out.",
    "role": "Which role somebody has, and where.",
    "group": "People and programs that have roles together.",
    "service-account": "Programs, and the keys they call with.",
    "access": "Whether something is permitted, and why.",
    "realm": "Where a tenant's people sign in, and whether they can.",
    "client": "Programs that may ask a tenant's realm for tokens.",
    "provider": "Other issuers through which a tenant's people sign in.",
    "session": "Where people are signed in.",
    "key": "Your own API keys, for scripts.",
    "driver": "What is installed here for all that differs by vendor.",
    "context": "The APIs you use, and which one commands talk to.",
}
SIGNING_IN: Final = {
    "login": "Sign in to a tenant, in a browser.",
    "logout": "Sign out, here and at the platform.",
}
EXIT_CODES: Final = "0 done, 1 refused or failed, 2 usage error, 3 the API cannot be reached"


def main() -> None:
    streams.prepare()
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """The exit code. Whatever goes wrong is told on stderr."""
    try:
        return tell_refusals(argv)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if is_process(argv) and not isinstance(error, streams.StdoutLost):
            raise  # a server's own failure: whoever runs it needs to see where
        return streams.give_up(error)


def tell_refusals(argv: Sequence[str]) -> int:
    try:
        check_text(argv)
        return dispatch(argv)
    except errors.ClientError as error:
        from penstock_client import problems

        problems.tell(error, as_json="--json" in argv)
        return error.exit_code
    finally:
        sys.stdout.flush()  # here, where it can be told that it failed


def check_text(argv: Sequence[str]) -> None:
    try:
        "".join(argv).encode()
    except UnicodeEncodeError:
        raise errors.Misused("an argument is not text in UTF-8") from None


def is_process(argv: Sequence[str]) -> bool:
    return bool(argv) and processes.is_asked(argv[0], argv[1:])


def dispatch(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return errors.OK
    if argv[0] in ("-V", "--version", "version"):
        sys.stdout.write(f"penstock {VERSION}\n")
        return errors.OK
    name, rest = argv[0], list(argv[1:])
    if processes.is_asked(name, rest):
        return processes.run(name, rest)
    if name == "completion":
        return completion.run([*NOUNS, *SIGNING_IN], rest)
    if name in NOUNS or name in SIGNING_IN:
        return run_noun(name, rest)
    if processes.find(name):
        return processes.run(name, rest)
    raise unknown(name)


def run_noun(name: str, rest: Sequence[str]) -> int:
    from cyclopts import App

    from penstock_client.dry import Shown

    root = App(name="penstock", result_action="return_value")
    root.command(completion.load(name))
    try:
        result: object = root([name, *rest])
    except Shown as shown:
        sys.stdout.write(f"{shown.command}\n")
        return errors.OK
    return result if isinstance(result, int) else errors.OK


def unknown(name: str) -> errors.Misused:
    if name.startswith("-"):
        return errors.Misused(f"options come after the command: penstock COMMAND … {name}")
    known = [*NOUNS, *SIGNING_IN, *processes.SUMMARIES]
    close = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean `penstock {close[0]}`?" if close else "see `penstock --help`"
    return errors.Misused(f"there is no command {name!r}: {advice}")


def overview() -> str:
    """Written from the tables above, so that --help imports nothing."""
    lines = ["Usage: penstock COMMAND …", "", "One management plane for GPU compute.", ""]
    lines += ["Things you can see and change (penstock NOUN --help lists the verbs):"]
    lines += [f"  {name:<15} {summary}" for name, summary in NOUNS.items()]
    lines += ["", "Signing in:"]
    lines += [f"  {name:<15} {summary}" for name, summary in SIGNING_IN.items()]
    lines += ["", "Processes:"]
    lines += [f"  {name:<15} {summary}" for name, summary in processes.SUMMARIES.items()]
    lines += ["", "Shell completion: penstock completion bash|zsh|fish"]
    lines += ["Every command takes --json, --curl (show the call, do nothing) and --context;"]
    lines += ["what changes something takes --reason, which the audit log keeps."]
    lines += [f"Exit codes: {EXIT_CODES}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
