"""What an audit of one thing found, and whether that is what was claimed."""

from dataclasses import dataclass

CLOSE = 0.8
"""The share of the exact ε that the bound has to reach where that is known: or the audit would be too weak to trust."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A 95% lower bound on ε at δ beside the ε that is claimed, from so many runs on each of two tables."""

    what: str
    runs: int
    delta: float
    claimed: float
    bound: float
    exact: float | None = None
    planted: bool = False
    """Whether a bug was planted, so that the bound has to exceed what is claimed."""
    fault: str = ""
    """What else is not as it should be."""

    @property
    def right(self) -> bool:
        """Whether the audit found what it should."""
        if self.planted:
            return self.bound > self.claimed
        return (
            not self.fault and self.bound <= self.claimed and (self.exact is None or self.bound >= CLOSE * self.exact)
        )

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.planted:
            return "caught" if self.right else "MISSED"
        if self.bound > self.claimed:
            return "TELLS MORE THAN CLAIMED"
        return self.fault.upper() or ("as claimed" if self.right else "TOO WEAK AN AUDIT")
