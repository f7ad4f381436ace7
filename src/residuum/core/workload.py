"""Which marginals are wanted, and everything below them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, combinations
from math import comb
from numbers import Integral, Real
from typing import Any

from residuum.core.domain import Clique, Domain
from residuum.errors import WorkloadError

_LARGEST_WEIGHT = 1e30
_MOST_CLIQUES = 50_000_000
"""More cliques than this would not fit in memory as Python objects; the error comes before they are listed."""


def subsets(gamma: Clique) -> Iterator[Clique]:
    """All subsets of a clique, smallest first.

    >>> list(subsets((0, 2)))
    [(), (0,), (2,), (0, 2)]
    """
    return chain.from_iterable(combinations(gamma, order) for order in range(len(gamma) + 1))


class Workload:
    """The marginals to answer (targets, the paper's W), with a weight each, over a domain.

    Cliques are given by names or indices, as a list, or as a mapping to weights; a clique given twice counts twice.
    Nothing of the size of the data is allocated.

    >>> domain = Domain({"age": 4, "educ": 3, "sex": 2})
    >>> workload = Workload(domain, {("sex", "age"): 2.0, ("educ",): 1.0})
    >>> workload.targets
    ((1,), (0, 2))
    >>> workload.closure
    ((), (0,), (1,), (2,), (0, 2))
    >>> workload.cells
    11
    """

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str | int]] | Mapping[Any, float]) -> None:
        if not isinstance(cliques, Iterable) or isinstance(cliques, str):
            raise WorkloadError(f"Expected a list of cliques, or a mapping of cliques to weights, got {cliques!r}.")
        weighted = cliques.items() if isinstance(cliques, Mapping) else ((clique, 1.0) for clique in cliques)
        weights: dict[Clique, float] = {}
        for attributes, weight in weighted:
            gamma = domain.clique(attributes)
            _check(domain, gamma, weight)
            weights[gamma] = weights.get(gamma, 0.0) + float(weight)
        if not any(weights):
            raise WorkloadError("Expected at least one clique with an attribute, got none.")
        self.domain = domain
        self.weights = {gamma: weights[gamma] for gamma in sorted(weights, key=_order)}

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> "Workload":
        """All marginals over exactly `k` attributes, with weight 1.

        >>> Workload.all_kway(Domain({"age": 4, "educ": 3, "sex": 2}), 2).targets
        ((0, 1), (0, 2), (1, 2))
        """
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= len(domain):
            raise WorkloadError(f"Expected k between 1 and the {len(domain)} attributes of the domain, got {k!r}.")
        count = sum(comb(len(domain), order) for order in range(k + 1))
        if count > _MOST_CLIQUES:
            raise WorkloadError(
                f"All {k}-way marginals of {len(domain)} attributes are {count:,} cliques with those below them. "
                "Choose a smaller k, or name the cliques that matter."
            )
        return cls(domain, combinations(range(len(domain)), k))

    def up_to(self, order: int) -> "Workload":
        """The workload with every target over more attributes than that replaced by its parts of that order.

        The weight of a target goes to each of its parts.

        >>> domain = Domain({"a": 2, "b": 2, "c": 2})
        >>> Workload(domain, [("a", "b", "c"), ("c",)]).up_to(2).weights
        {(2,): 1.0, (0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}
        """
        weights: dict[Clique, float] = {}
        for gamma, weight in self.weights.items():
            for part in combinations(gamma, min(order, len(gamma))):
                weights[part] = min(weights.get(part, 0.0) + weight, _LARGEST_WEIGHT)
        return Workload(self.domain, weights)

    def __repr__(self) -> str:
        return f"Workload({len(self.targets)} targets, {self.cells} cells, over {len(self.domain)} attributes)"

    @cached_property
    def targets(self) -> tuple[Clique, ...]:
        """The cliques wanted, W."""
        return tuple(self.weights)

    @cached_property
    def closure(self) -> tuple[Clique, ...]:
        """Every subset of a target, W↓, smallest first."""
        return tuple(sorted({tau for gamma in self.targets for tau in subsets(gamma)}, key=_order))

    @cached_property
    def cells(self) -> int:
        """How many cells the targets have together: an exact number, however large."""
        return sum(self.domain.size(gamma) for gamma in self.targets)

    def __contains__(self, gamma: object) -> bool:
        """Whether a clique of indices is in the closure."""
        try:
            return isinstance(gamma, tuple) and gamma in self._members
        except TypeError:
            return False

    def supersets(self, tau: Clique) -> tuple[Clique, ...]:
        """The cliques of the closure that contain τ, itself among them: the marginals that a residual is part of.

        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).supersets((1,))
        ((1,), (0, 1), (1, 2))
        """
        return tuple(self._supersets[self.require(tau)])

    def weight(self, gamma: Clique) -> float:
        """How much a clique's attributes matter to the targets, w_γ = Σ_π c_π |γ ∩ π|, where c_π are the weights.

        Paper: App. F.1, with c_π = 1.

        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).weight((0, 1))
        4.0
        """
        return sum(self._attribute_weights[i] for i in gamma)

    def require(self, gamma: Clique) -> Clique:
        """The clique itself, or an error if the workload cannot answer its marginal.

        >>> Workload.all_kway(Domain({"a": 2, "b": 2, "c": 2}), 2).require((0, 1))
        (0, 1)
        """
        if gamma not in self:
            raise WorkloadError(
                f"Clique {gamma!r} is not in the workload's closure. "
                "Ask for a subset of one of its targets, as an ascending tuple of attribute indices."
            )
        return gamma

    @cached_property
    def _members(self) -> frozenset[Clique]:
        return frozenset(self.closure)

    @cached_property
    def _supersets(self) -> dict[Clique, list[Clique]]:
        above: dict[Clique, list[Clique]] = {tau: [] for tau in self.closure}
        for gamma in self.closure:
            for tau in subsets(gamma):
                above[tau].append(gamma)
        return above

    @cached_property
    def _attribute_weights(self) -> tuple[float, ...]:
        totals = [0.0] * len(self.domain)
        for gamma, weight in self.weights.items():
            for i in gamma:
                totals[i] += weight
        return tuple(totals)


def _order(gamma: Clique) -> tuple[int, Clique]:
    return len(gamma), gamma


def _check(domain: Domain, gamma: Clique, weight: Any) -> None:
    if 2 ** len(gamma) > _MOST_CLIQUES:
        raise WorkloadError(f"A clique of {len(gamma)} attributes has too many subsets. Name smaller cliques.")
    number: Any = weight if isinstance(weight, Real) and not isinstance(weight, bool) else 0
    if not 0 < number <= _LARGEST_WEIGHT:
        raise WorkloadError(
            f"Expected a positive weight for the clique {domain.name(gamma)}, got {weight!r}. "
            "Leave out a clique that does not matter."
        )
