"""What a pool gives next: the lowest that is free, never what is held, as long as there is any."""

from ipaddress import IPv4Network, IPv6Network, ip_network

from hypothesis import given
from hypothesis import strategies as st

from penstock.central.networks import model, picking
from penstock.central.networks.model import Need, Network
from penstock.central.pools.model import Kind, Numbers, Prefix

numbers = st.integers(1, 200)


@given(numbers, st.integers(0, 60), st.sets(st.integers(0, 300)), st.integers(0, 70))
def test_the_lowest_free_numbers_are_picked(
    first: int, more: int, held: set[int], count: int
) -> None:
    extent = Numbers(first, first + more)
    free = [n for n in range(extent.first, extent.last + 1) if n not in held]
    assert picking.first_free(extent, held, count) == free[:count]


@st.composite
def pools_with_blocks(draw: st.DrawFn) -> tuple[Prefix, list[Prefix], int]:
    """A small pool, disjoint blocks in it, and a length that is wanted."""
    six = draw(st.booleans())
    bits, text = (128, "fd00::/120") if six else (32, "10.1.2.0/24")
    extent = ip_network(text)
    taken: list[Prefix] = []
    for length in draw(st.lists(st.integers(bits - 8, bits), max_size=8)):
        blocks = list(extent.subnets(new_prefix=length))
        block = blocks[draw(st.integers(0, len(blocks) - 1))]
        if not any(_overlap(block, other) for other in taken):
            taken.append(block)
    return extent, taken, draw(st.integers(bits - 9, bits))


def _overlap(one: Prefix, other: Prefix) -> bool:
    return (
        int(one.network_address) <= int(other.broadcast_address)
        and int(other.network_address) <= int(one.broadcast_address)
    )  # fmt: skip


@given(pools_with_blocks())
def test_the_lowest_free_block_is_picked(case: tuple[Prefix, list[Prefix], int]) -> None:
    """As looking at every block of that length would."""
    extent, taken, length = case
    fits: list[Prefix] = []
    if length >= extent.prefixlen:
        fits = [*extent.subnets(new_prefix=length)]
    free = [block for block in fits if not any(_overlap(block, other) for other in taken)]
    found = picking.first_free_prefix(extent, taken, length)
    assert found == (free[0] if free else None)
    assert found is None or type(found) is type(extent)


@given(pools_with_blocks())
def test_the_largest_free_block_is_free_and_no_larger_one_is(
    case: tuple[Prefix, list[Prefix], int],
) -> None:
    extent, taken, _ = case
    largest = picking.largest_free(extent, taken)
    for length in range(extent.prefixlen, extent.max_prefixlen + 1):
        found = picking.first_free_prefix(extent, taken, length)
        assert (found is not None) == (largest is not None and length >= largest)


def test_blocks_at_the_very_ends_are_found() -> None:
    assert picking.first_free_prefix(ip_network("0.0.0.0/0"), [], 8) == IPv4Network("0.0.0.0/8")
    low = ip_network("::/0")
    assert picking.first_free_prefix(low, [], 128) == IPv6Network("::/128")
    top = ip_network("255.255.255.254/31")
    held = [IPv4Network("255.255.255.254/32")]
    assert picking.first_free_prefix(top, held, 32) == IPv4Network("255.255.255.255/32")
    assert picking.first_free_prefix(top, [*held, IPv4Network("255.255.255.255/32")], 32) is None


lengths = st.lists(st.integers(20, 30), max_size=5).map(lambda given: tuple(sorted(given)))
networks = st.builds(
    Network,
    site_id=st.none(),
    vrfs=st.integers(0, 1),
    vlans=st.integers(0, 5),
    vnis=st.integers(0, 1),
    pkeys=st.integers(0, 1),
    ipv4=lengths,
    ipv6=lengths,
)


@given(networks, networks)
def test_what_is_missing_is_exactly_what_makes_it_whole(wanted: Network, there: Network) -> None:
    needs = model.missing(wanted, there)
    for kind, count in wanted.numbers.items():
        added = sum(need.count for need in needs if need.kind is kind)
        assert added == max(0, count - there.numbers[kind])
    for kind, asked in wanted.prefixes.items():
        added = [n.length for n in needs if n.kind is kind for _ in range(n.count)]
        both = sorted([*there.prefixes[kind], *(length for length in added if length is not None)])
        assert all(both.count(length) >= asked.count(length) for length in asked)
    assert model.missing(wanted, wanted) == []
    assert all(need.count > 0 for need in needs)


@given(networks, networks)
def test_less_than_there_is_is_a_surplus_and_nothing_else_is(
    wanted: Network, there: Network
) -> None:
    fewer = any(count < there.numbers[kind] for kind, count in wanted.numbers.items()) or any(
        there.prefixes[kind].count(length) > asked.count(length)
        for kind, asked in wanted.prefixes.items()
        for length in there.prefixes[kind]
    )
    assert bool(model.surplus(wanted, there)) == fewer


def test_a_need_of_a_prefix_says_its_length() -> None:
    (need,) = model.missing(Network(ipv4=(24, 24)), Network(ipv4=(24,)))
    assert need == Need(Kind.IPV4, 1, 24)
