"""What residuum raises when an input makes no sense.

Every message names the value, the place and the way out; none shows a count or a row of private data.
"""


class ResiduumError(ValueError):
    """An input that residuum cannot work with; the parent of the errors below.

    >>> issubclass(DomainError, ResiduumError) and issubclass(ResiduumError, ValueError)
    True
    """


class DomainError(ResiduumError):
    """Attributes, sizes, labels or array shapes that do not fit together."""


class SchemaError(ResiduumError):
    """A schema that does not say what it should, or that its owner has not confirmed."""


class SourceError(ResiduumError):
    """A file, a database or a frame that cannot be read with a schema."""


class WorkloadError(ResiduumError):
    """A clique or a weight that a workload cannot take, or a marginal outside its closure."""


class ReleaseError(ResiduumError):
    """A question that a release cannot answer, releases that do not fit together, or a folder that holds none."""


class BudgetExceeded(RuntimeError):  # noqa: N818
    """A charge that does not fit in what is left of the privacy budget; the ledger has recorded nothing of it.

    It is no ResiduumError: the input makes sense, and there is too little budget for it.

    >>> issubclass(BudgetExceeded, ResiduumError)
    False
    """
