"""What claims.pml calls LANE_PER_LEASE: orders of two leases about one slot take turns."""

import asyncio
from pathlib import Path

from agent.stage import Pen, allocation, stage

from penstock_contracts.wire_pb2 import TaskStatus

DELAY_S = 0.6


def test_a_slot_is_not_given_out_while_an_older_lease_is_still_cleaned_from_it(
    tmp_path: Path,
) -> None:
    """A second attempt at cleaning is under way when the first one's proof frees the slot."""

    async def run() -> None:
        pen = Pen()
        before, after = allocation(), allocation()
        async with stage(tmp_path, pen, delay_s=DELAY_S) as on:
            first = await on.do(pen.release(before, pen.gpu(0, fence=1, nonce=b"n")))
            assert len(pen.proofs(first)) == 1, "central may free the slot from here on"
            again = pen.release(before, pen.gpu(0, fence=1, nonce=b"n"))
            given = pen.provision(after, pen.gpu(0, fence=2))
            cleaned, up = await on.results(again, given)
            assert up.status == TaskStatus.TASK_STATUS_DONE
            handed_over_us = up.finished_at_us - int(DELAY_S * 1e6)
            assert handed_over_us >= cleaned.finished_at_us - 50_000, "they ran side by side"

    asyncio.run(run())
