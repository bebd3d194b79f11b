"""An import contract: a store is imported only by its own noun, whichever noun that is."""

import grimp
from importlinter import Contract, ContractCheck, fields, output

Link = tuple[str, str]


class OwnStores(Contract):
    """`also` lists the importers that a store has besides its noun: `importer -> store`."""

    type_name = "own_stores"
    also = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        excepted = {_link(text) for text in self.also or ()}  # pyright: ignore
        foreign = {
            (importer, store)
            for store in sorted(graph.modules)
            if store.endswith(".store")
            for importer in graph.find_modules_that_directly_import(store)
            if not importer.startswith(f"{store.removesuffix('store')}")
        }
        unused = excepted - {(_noun(importer), store) for importer, store in foreign}
        wrong = {link for link in foreign if (_noun(link[0]), link[1]) not in excepted}
        return ContractCheck(
            kept=not wrong and not unused,
            metadata={"wrong": sorted(wrong), "unused": sorted(unused)},
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, store in check.metadata["wrong"]:
            output.print_error(f"{importer} imports {store}; call that noun's service instead")
        for importer, store in check.metadata["unused"]:
            output.print_error(f"{importer} -> {store} is excepted, and nothing needs it")


def _link(text: str) -> Link:
    importer, _, store = text.partition(" -> ")
    return importer, store


def _noun(module: str) -> str:
    return module.rpartition(".")[0]
