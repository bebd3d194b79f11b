"""The import contracts, each seen to fail: on a copy of the tree with one fault in it."""

import pytest

from tests.tree.copies import Copy

CIRCLES = "Nothing is imported in a circle BROKEN"
LAYERS = "Central's nouns are in layers, and know nothing above their own BROKEN"
STORES = "A store is imported only by its own noun BROKEN"


def test_the_tree_keeps_them(copy: Copy) -> None:
    assert "0 broken" in copy.lint()


def test_a_circle_of_two_nouns_is_found(copy: Copy) -> None:
    copy.plant("penstock.central.tenants.model", "import penstock.central.organizations.model")
    copy.plant("penstock.central.organizations.model", "import penstock.central.tenants.model")
    said = copy.lint()
    assert CIRCLES in said
    assert LAYERS not in said  # both are in one layer


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("penstock.kernel.names", "penstock.kernel.http.web"),
        ("penstock.site.tasks.store", "penstock.site.nodes.discovery"),
        ("penstock.central.realms.service", "penstock.central.realms.users.service"),
        ("penstock_agent.bindings", "penstock_agent.agent"),
        ("penstock_client.api", "penstock_client.main"),
        ("penstock_contracts.ids", "penstock_contracts.membership"),
    ],
)
def test_a_circle_anywhere_is_found_within_functions_too(
    copy: Copy, lower: str, higher: str
) -> None:
    copy.plant(lower, f"def late() -> None:\n    import {higher}")
    copy.plant(higher, f"def later() -> None:\n    import {lower}")
    assert CIRCLES in copy.lint()


def test_a_noun_that_knows_one_above_it_is_found(copy: Copy) -> None:
    copy.plant("penstock.central.skus.model", "import penstock.central.documentation.words")
    said = copy.lint()
    assert LAYERS in said
    assert CIRCLES not in said


def test_a_new_noun_must_be_placed_in_a_layer(copy: Copy) -> None:
    copy.plant("penstock.central.things.model", "")
    said = copy.lint()
    assert LAYERS in said
    assert "things" in said


def test_whoever_imports_anothers_store_is_found(copy: Copy) -> None:
    copy.plant("penstock.central.quotas.service", "import penstock.central.skus.store")
    assert STORES in copy.lint()
