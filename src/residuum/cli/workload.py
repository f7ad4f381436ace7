"""Which marginals, as it is said on the command line."""

from typing import Annotated

import typer

from residuum.core.domain import Domain
from residuum.core.workload import Workload

HELP = "All marginals over so many columns, such as 3; or a file of cliques and weights."

WorkloadOption = Annotated[str, typer.Option("--workload", metavar="K|FILE", help=HELP)]


def chosen(given: str, domain: Domain) -> Workload:
    """The workload for a number or a file.

    >>> chosen("1", Domain({"age": 4, "sex": 2})).targets
    ((0,), (1,))
    """
    if given.isdecimal() and given.isascii() and len(given) < 6:
        return Workload.all_kway(domain, int(given))
    from residuum.data import cliques

    return cliques.load(given, domain)
