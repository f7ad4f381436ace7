"""The attributes of a table, in order: their names, sizes, labels and units."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from numbers import Integral, Number

from residuum.core.units import Unit
from residuum.errors import DomainError

Clique = tuple[int, ...]
"""A set of attributes: their indices in the domain, ascending. The paper's γ and τ."""


@dataclass(frozen=True, slots=True, init=False)
class Domain:
    """What a table's columns are and which values they may take.

    Every attribute has at least two values. A column that can take one value only tells nothing, its residuals would
    have no cells and no cost, and every formula would need an exception for it: such a column is refused.

    >>> domain = Domain({"age": 28, "sex": ["female", "male"]})
    >>> domain.sizes
    (28, 2)
    >>> domain.labels
    (None, ('female', 'male'))

    Where the attributes are columns of numbers or days, `units` tells what their codes stand for. Rows are written by
    it and nothing is computed with it, so domains that differ in nothing else are equal.

    >>> domain = Domain({"age": ["under 20", "20-99"]}, {"age": Unit("integer", starts=(0, 20), last=99)})
    >>> domain.units[0].starts
    (0, 20)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: tuple[tuple[Hashable, ...] | None, ...]
    units: tuple[Unit | None, ...] = field(compare=False, repr=False)

    def __init__(
        self, attributes: Mapping[str, int | Sequence[Hashable]], units: Mapping[str, Unit | None] | None = None
    ) -> None:
        if not isinstance(attributes, Mapping):
            raise DomainError(
                f"Expected a mapping of names to sizes or labels, got {type(attributes).__name__}. "
                'Write Domain({"age": 28, "sex": ["female", "male"]}).'
            )
        if not attributes:
            raise DomainError("Expected at least one attribute, got none.")
        for name in attributes:
            if not isinstance(name, str) or not name or _broken(name):
                raise DomainError(f"Expected a name for each attribute, got {name!r}.")
        read = [_read(name, values) for name, values in attributes.items()]
        object.__setattr__(self, "names", tuple(attributes))
        object.__setattr__(self, "sizes", tuple(size for size, _ in read))
        object.__setattr__(self, "labels", tuple(labels for _, labels in read))
        for name in units or {}:
            self._index(name)
        found = (_unit(name, size, units) for name, size in zip(self.names, self.sizes, strict=True))
        object.__setattr__(self, "units", tuple(found))

    def __len__(self) -> int:
        return len(self.names)

    def clique(self, attributes: Iterable[str | int] | str | int) -> Clique:
        """The clique of the attributes given by name or index, in any order.

        >>> Domain({"age": 28, "sex": 2}).clique(["sex", "age"])
        (0, 1)
        """
        if isinstance(attributes, str) or not isinstance(attributes, Iterable):
            attributes = [attributes]
        indices = [self._index(attribute) for attribute in attributes]
        if len(set(indices)) < len(indices):
            twice = next(i for i in indices if indices.count(i) > 1)
            raise DomainError(f"Attribute {self.names[twice]!r} is named twice in one clique. Name it once.")
        return tuple(sorted(indices))

    def name(self, gamma: Clique) -> tuple[str, ...]:
        """The names of a clique's attributes.

        >>> Domain({"age": 28, "sex": 2}).name((0, 1))
        ('age', 'sex')
        """
        return tuple(self.names[i] for i in gamma)

    def shape(self, gamma: Clique) -> tuple[int, ...]:
        """The shape of the marginal over a clique.

        >>> Domain({"age": 28, "sex": 2}).shape((1,))
        (2,)
        """
        return tuple(self.sizes[i] for i in gamma)

    def size(self, gamma: Clique) -> int:
        """How many cells the marginal over a clique has, n_γ.

        >>> Domain({"age": 28, "sex": 2}).size((0, 1))
        56
        """
        return prod(self.shape(gamma))

    def _index(self, attribute: str | int) -> int:
        if isinstance(attribute, str):
            if attribute not in self.names:
                raise DomainError(f"Unknown attribute {attribute!r}. The domain has {_listing(self.names)}.")
            return self.names.index(attribute)
        if not isinstance(attribute, Integral) or isinstance(attribute, bool):
            raise DomainError(f"Expected an attribute's name or index, got {attribute!r}.")
        index = int(attribute)
        if not 0 <= index < len(self):
            raise DomainError(f"Unknown attribute {index}. The domain has the attributes 0 to {len(self) - 1}.")
        return index


def _read(name: str, values: int | Sequence[Hashable]) -> tuple[int, tuple[Hashable, ...] | None]:
    """Size and labels of one attribute, from what the user gave for it."""
    labels = None
    if isinstance(values, str | bytes):
        raise DomainError(f"Expected a size or a list of labels for attribute {name!r}, got the text {values!r}.")
    if isinstance(values, Set | Mapping):
        raise DomainError(f"Expected the labels of attribute {name!r} in a fixed order, got a {type(values).__name__}.")
    if isinstance(values, Iterable) and getattr(values, "ndim", 1) == 1:
        labels = tuple(values)
        if not all(label is None or isinstance(label, str | Number) for label in labels):
            raise DomainError(f"Expected plain labels for attribute {name!r}, such as texts or numbers.")
        if any(isinstance(label, str) and _broken(label) for label in labels):
            raise DomainError(f"Expected texts as labels of attribute {name!r} that have a form in UTF-8.")
        twice = [label for label, count in Counter(labels).items() if count > 1]
        if twice:
            raise DomainError(f"Label {twice[0]!r} of attribute {name!r} is given twice. Give each label once.")
        size = len(labels)
    elif not isinstance(values, Integral) or isinstance(values, bool):
        raise DomainError(f"Expected a size or a list of labels for attribute {name!r}, got {values!r}.")
    else:
        size = int(values)
    if size < 2:
        raise DomainError(
            f"Expected size >= 2 for attribute {name!r}, got {size}. "
            "A column with one value tells nothing: leave it out."
        )
    return size, labels


def _broken(text: str) -> bool:
    """Whether a text has half of a character, which no file can hold."""
    return any("\ud800" <= c <= "\udfff" for c in text)


def _unit(name: str, size: int, units: Mapping[str, Unit | None] | None) -> Unit | None:
    """The unit of one attribute, once it is clear that it fits."""
    unit = (units or {}).get(name)
    if unit is None:
        return None
    if not isinstance(unit, Unit):
        raise DomainError(f"Expected a Unit for attribute {name!r}, got {unit!r}.")
    if max(unit.values or 0, 0 if unit.missing is None else unit.missing + 1) > size:
        raise DomainError(f"The unit of attribute {name!r} has more codes than the attribute, which has {size}.")
    return unit


def _listing(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
