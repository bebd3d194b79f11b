"""P11: how much of provisioning is the control plane's. P12: how soon all is ready.

Request → active, as a client sees it (the POST is sent … the event arrives), on simulated
hosts that take no time. Leases are made one after the other, then eight at a time. For
comparison: the floor of a control plane that polls, 4 to 5 seconds.
"""

import argparse
import json
import queue
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from platform_up import Running, up

from penstock_client.api import Client

POLLING_FLOOR_MS = 4500.0


@dataclass
class Arrivals:
    """When the event arrived that says a lease is in a state."""

    states: dict[tuple[str, str], "queue.SimpleQueue[float]"] = field(
        default_factory=dict[tuple[str, str], "queue.SimpleQueue[float]"]
    )
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, id: str, state: str) -> "queue.SimpleQueue[float]":
        with self.lock:
            return self.states.setdefault((id, state), queue.SimpleQueue())

    def follow(self, platform: Running) -> None:
        for event in Client(platform.api, platform.token).events.watch(after="0"):
            if event["type"] == "allocation.observed":
                state = str(event["data"]["observed"])
                self.of(event["subject"], state).put(time.perf_counter())
            elif event["type"] == "allocation.released":
                self.of(event["subject"], "free").put(time.perf_counter())


def lease(platform: Running, client: Client, arrivals: Arrivals) -> tuple[float, float, float]:
    """Milliseconds: request → claimed, request → active, release → proven."""
    asked = time.perf_counter()
    made = client.allocations.create(project=platform.project, sku=platform.sku, gpus=1)
    claimed = time.perf_counter()
    active = arrivals.of(made["id"], "active").get(timeout=30)
    released = time.perf_counter()
    client.allocations.release(made["id"])
    free = arrivals.of(made["id"], "free").get(timeout=30)
    return (claimed - asked) * 1e3, (active - asked) * 1e3, (free - released) * 1e3


def run(platform: Running, arrivals: Arrivals, count: int, at_once: int) -> list[list[float]]:
    clients = threading.local()

    def one(_number: int) -> tuple[float, float, float]:
        if not hasattr(clients, "client"):
            clients.client = Client(platform.api, platform.token)
        return lease(platform, clients.client, arrivals)

    with ThreadPoolExecutor(at_once) as pool:
        results = list(pool.map(one, range(count)))
    return [sorted(column) for column in zip(*results, strict=True)]


def figures(label: str, columns: list[list[float]]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, values in zip(("claimed", "active", "free"), columns, strict=True):
        out[f"{label}_{name}_p50_ms"] = round(statistics.median(values), 1)
        out[f"{label}_{name}_p99_ms"] = round(values[int(len(values) * 0.99)], 1)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print only the last line")
    parser.add_argument("--leases", type=int, default=200)
    options = parser.parse_args()
    with up(nodes=8) as platform:
        arrivals = Arrivals()
        threading.Thread(target=arrivals.follow, args=(platform,), daemon=True).start()
        run(platform, arrivals, 20, 1)  # warm up
        result: dict[str, float] = {"ready_s": round(platform.ready_s, 2)}
        result |= figures("alone", run(platform, arrivals, options.leases, 1))
        result |= figures("eight", run(platform, arrivals, options.leases, 8))
        result["ratio_vs_polling_floor"] = round(
            result["alone_active_p99_ms"] / POLLING_FLOOR_MS, 4
        )
    if not options.json:
        for name, value in result.items():
            print(f"{name:30} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
