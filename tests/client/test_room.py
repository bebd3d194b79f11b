"""What fits now, and which moves would open more."""

from .stand_in import Api, Cli

STOCK = {
    "sku": "h100-8.slice",
    "sku_id": "sku_1",
    "shape": "gpu_slice",
    "family": "h100",
    "site": "site_1",
    "site_name": "oslo",
    "price_micros_per_gpu_hour": 2_490_000,
    "currency": "USD",
    "sizes": [
        {"gpus": 1, "now": 9, "after_defragmentation": 9},
        {"gpus": 4, "now": 1, "after_defragmentation": 3},
    ],
}


MOVE = {
    "allocation": "alloc_1",
    "tenant": "tenant_1",
    "gpus": 4,
    "from_node": "node_1",
    "from_name": "n1",
    "to_node": "node_2",
    "to_name": "n2",
    "opens": "node_1",
    "cost_gpu_minutes": 300,
}


PLAN = {
    "family": "h100",
    "site": "site_1",
    "site_name": "oslo",
    "shape": "baremetal",
    "gpus": 8,
    "opened": 1,
    "cost_gpu_minutes": 300,
    "disruption_gpu_minutes": 60,
    "moves": [MOVE],
    "gains": [
        {"shape": "gpu_slice", "gpus": 1, "before": 77, "after": 77},
        {"shape": "baremetal", "gpus": 8, "before": 0, "after": 1},
    ],
}


def test_availability_has_a_line_for_each_size(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/availability", {"items": [STOCK], "next": None})
    lines = cli("availability", "--site", "oslo").out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["h100-8.slice", "oslo", "1", "9", "9", "$2.49/GPU-h"],
        ["h100-8.slice", "oslo", "4", "1", "3", "$2.49/GPU-h"],
    ]
    assert here.calls[0].query == {"site": "oslo"}


def test_a_plan_of_moves_says_what_opens_what_it_costs_and_that_nothing_moved(
    here: Api, cli: Cli
) -> None:
    here.on("GET", "/v1/defragmentation", PLAN)
    ran = cli("defragmentation", "plan", "--family", "h100", "--site", "oslo")
    assert ran.code == 0
    assert "opens    1 whole node with 8 GPUs of h100 at oslo" in ran.out
    assert "costs    300 GPU-minutes, 60 of them stopped" in ran.out
    assert ["1", "alloc_1", "tenant_1", "4", "n1", "n2", "n1", "300"] in [
        line.split() for line in ran.out.splitlines()
    ]
    assert "77" not in ran.out
    assert "nothing was moved" in ran.err
    assert here.calls[0].query == {"family": "h100", "site": "oslo"}


def test_a_plan_without_moves_says_so(here: Api, cli: Cli) -> None:
    here.on("GET", "/v1/defragmentation", {**PLAN, "opened": 0, "moves": [], "shape": "gpu_slice"})
    ran = cli("defragmentation", "plan", "--family", "h100", "--site", "oslo", "--gpus", "8")
    assert (ran.code, ran.out) == (0, "")
    assert "no move would open more slices with 8 GPUs of h100 at oslo" in ran.err
