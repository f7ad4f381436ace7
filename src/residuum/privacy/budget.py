"""The budget of a data set, on disk: what all its releases together may spend, and every charge that was made.

An SQLite file. A release is entered with the whole of its ρ before it starts, or refused; while it runs all of that is
taken, so releases that run at once cannot overspend together. When it ends, what it did not spend is free again. Its
charges are written ahead of the draws, in blocks.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from residuum.core import zcdp
from residuum.core.neighbours import Neighbours, Relation
from residuum.core.zcdp import Spend, rounded_down
from residuum.errors import BudgetExceeded, ReleaseError
from residuum.privacy.ledger import TOTAL
from residuum.store.folder import reason

_FORMAT = 1
_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

_TABLES = (
    "CREATE TABLE budget (format INTEGER, rho TEXT, epsilon REAL, delta REAL, neighbours TEXT, created TEXT)",
    "CREATE TABLE releases (name TEXT PRIMARY KEY, mechanism TEXT, folder TEXT, rho TEXT, charged TEXT, state TEXT, "
    "started TEXT, ended TEXT)",
    "CREATE TABLE charges (release TEXT, time TEXT, mechanism TEXT, clique TEXT, units TEXT)",
    "CREATE INDEX charges_of_release ON charges (release)",
)
"""A ρ is kept as the hexadecimal text of its float, units as decimal text: neither fits SQLite's numbers exactly."""

Charge = tuple[str, Spend]
"""A charge with its time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A release in a budget file. `charged` is what it has charged of its `rho`, rounded up."""

    name: str
    mechanism: str
    folder: str | None
    rho: float
    charged: float
    state: str
    """One of "running" (or died and not yet resumed), "finished" or "abandoned"."""
    started: str
    ended: str | None


class BudgetFile:
    """The budget of a data set, kept in a file. All amounts are ρ per person.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/people.budget"
    >>> budget = BudgetFile.create(path, rho=1.0)
    >>> budget.total, budget.free, budget.releases()
    (1.0, 1.0, [])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if not self.path.is_file():
            raise ReleaseError(f"There is no budget file {str(path)!r}. Create one with BudgetFile.create.")
        with self._reading() as connection:
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
            if ("budget",) not in tables or connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise self._damaged()
            found = connection.execute("SELECT format, rho, epsilon, delta, neighbours FROM budget").fetchall()
            if len(found) != 1 or found[0][0] != _FORMAT:
                raise ReleaseError(f"The budget file {str(path)!r} was written by another version of the program.")
            _, rho, self.epsilon, self.delta, relation = found[0]
            self.total = float.fromhex(rho)
            self.neighbours = Neighbours(relation)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        neighbours: Relation = "add-remove",
    ) -> "BudgetFile":
        """A new budget file, with a total in ρ, or in ε and δ.

        >>> import tempfile
        >>> budget = BudgetFile.create(tempfile.mkdtemp() + "/people.budget", epsilon=1.0, delta=1e-9)
        >>> print(f"{budget.total:.6f}")
        0.014973
        """
        total, relation = zcdp.budget(epsilon, delta, rho), Neighbours(neighbours).relation
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise ReleaseError(f"There is a file {str(path)!r} already. A budget is not started over.") from None
        except OSError as error:
            raise ReleaseError(f"Cannot create the budget file {str(path)!r}: {reason(error)}.") from None
        new = cls.__new__(cls)
        new.path = Path(path).absolute()
        try:
            with new._writing() as connection:
                for table in _TABLES:
                    connection.execute(table)
                given = (None if number is None else float(number) for number in (epsilon, delta))
                row = (_FORMAT, total.hex(), *given, relation, timestamp())
                connection.execute("INSERT INTO budget VALUES (?, ?, ?, ?, ?, ?)", row)
        except BaseException:
            os.unlink(path)
            raise
        return cls(path)

    @property
    def free(self) -> float:
        """What no release has spent or been promised, rounded down."""
        with self._reading() as connection:
            left = self._free(connection)
        return rounded_down(left.numerator, left.denominator)

    def releases(self) -> list[Entry]:
        """All releases, in the order they were started."""
        query = "SELECT name, mechanism, folder, rho, charged, state, started, ended FROM releases ORDER BY rowid"
        with self._reading() as connection:
            return [
                Entry(name, mechanism, folder, float.fromhex(rho), _share(rho, charged), state, started, ended)
                for name, mechanism, folder, rho, charged, state, started, ended in connection.execute(query)
            ]

    def charges(self, release: str) -> list[Charge]:
        """The charges of a release, with the time of each. What is charged ahead of use is not among them yet."""
        query = "SELECT time, mechanism, clique, units FROM charges WHERE release = ? ORDER BY rowid"
        with self._reading() as connection:
            budget = float.fromhex(self._row(connection, release)[0])
            return [
                (time, Spend(mechanism, tuple(json.loads(clique)), int(units), budget))
                for time, mechanism, clique, units in connection.execute(query, [release])
            ]

    def start(self, mechanism: str, rho: float, neighbours: Neighbours, folder: str | None, name: str) -> "Account":
        """Enter a release with all of its ρ, or refuse it with `BudgetExceeded`; one that was entered goes on."""
        if neighbours != self.neighbours:
            raise ReleaseError(
                f"The budget file counts neighbours by {self.neighbours.relation!r}, the release by "
                f"{neighbours.relation!r}. What they spend cannot be added up."
            )
        with self._writing() as connection:
            if self._found(connection, name) is None:
                left = self._free(connection)
                if Fraction(rho) > left:
                    raise BudgetExceeded(
                        f"The release asks for rho={rho}, but of the rho={self.total} of {str(self.path)!r} there is "
                        f"{rounded_down(left.numerator, left.denominator)} left. Ask for less."
                    )
                row = (name, mechanism, folder, rho.hex(), "0", "running", timestamp(), None)
                connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            _, charged, state = self._row(connection, name)
            units = int(charged)
            (known,) = connection.execute("SELECT count(*) FROM charges WHERE release = ?", [name]).fetchone()
        return Account(self, name, units, known, state)

    def charge(self, name: str, before: int, units: int, charges: Sequence[Charge], state: str = "running") -> None:
        """Put on disk that a release has charged `units` in all, not `before`, what for as far as known, and its state.

        Where more or less than `before` is on disk, a copy of the run charges the same account, and this one must stop.
        A release that was abandoned can still be finished within what it had charged.
        """
        rows = [(name, time, spend.mechanism, json.dumps(spend.clique), str(spend.units)) for time, spend in charges]
        ended = None if state == "running" else timestamp()
        with self._writing() as connection:
            _, charged, found = self._row(connection, name)
            if found != "running" and (state != "finished" or units > int(charged)):
                raise ReleaseError(
                    f"The release {name!r} is {found} in the budget file {str(self.path)!r}. Start anew."
                )
            if int(charged) != before:
                raise ReleaseError(
                    f"Another process charges the release {name!r} in the budget file {str(self.path)!r}: "
                    "its folder was copied. Resume one of them only."
                )
            connection.execute(
                "UPDATE releases SET charged = ?, state = ?, ended = ? WHERE name = ?", (str(units), state, ended, name)
            )
            connection.executemany("INSERT INTO charges VALUES (?, ?, ?, ?, ?)", rows)

    def abandon(self, name: str) -> None:
        """Give up a release that died and will not be resumed: what it had not charged is free again."""
        with self._writing() as connection:
            found = self._row(connection, name)[2]
            if found != "running":
                raise ReleaseError(f"The release {name!r} is {found} already in {str(self.path)!r}. Leave it as it is.")
            ended = ("abandoned", timestamp(), name)
            connection.execute("UPDATE releases SET state = ?, ended = ? WHERE name = ?", ended)

    def withdraw(self, name: str) -> None:
        """Forget a release that has charged nothing."""
        with self._writing() as connection:
            if int(self._row(connection, name)[1]):
                raise ReleaseError(f"The release {name!r} has charged {str(self.path)!r}. Abandon it instead.")
            connection.execute("DELETE FROM releases WHERE name = ?", [name])

    def _free(self, connection: sqlite3.Connection) -> Fraction:
        left = Fraction(self.total)
        for rho, charged, state in connection.execute("SELECT rho, charged, state FROM releases"):
            left -= Fraction(float.fromhex(rho)) * (1 if state == "running" else Fraction(int(charged), TOTAL))
        return left

    def _row(self, connection: sqlite3.Connection, name: str) -> tuple[str, str, str]:
        row = self._found(connection, name)
        if row is None:
            raise ReleaseError(f"The budget file {str(self.path)!r} knows of no release {name!r}.")
        return row

    @staticmethod
    def _found(connection: sqlite3.Connection, name: str) -> tuple[str, str, str] | None:
        return connection.execute("SELECT rho, charged, state FROM releases WHERE name = ?", [name]).fetchone()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with. What it opens must be there: a file that is gone is not made anew."""
        try:
            address = f"{self.path.as_uri()}?mode=rw"
            connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
            with closing(connection):
                connection.execute("PRAGMA synchronous = EXTRA")
                yield connection
        except ReleaseError:
            raise
        except sqlite3.OperationalError as error:
            raise ReleaseError(f"Cannot use the budget file {str(self.path)!r}: {error}.") from None
        except (sqlite3.DatabaseError, ValueError, TypeError):  # the last two: a number that is none
            raise self._damaged() from None

    def _damaged(self) -> ReleaseError:
        return ReleaseError(f"The file {str(self.path)!r} is no budget file, or is damaged. Look at its name.")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that no other process can come between; it is on disk when this is left."""
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


@dataclass(slots=True)
class Account:
    """A running release's place in a budget file: `charged` units of its budget are on disk, `known` charges listed."""

    file: BudgetFile
    name: str
    charged: int
    known: int
    state: str = "running"

    def charge(self, units: int, charges: Sequence[Charge]) -> None:
        """Put on disk that so many units are charged in all; it is never less than before."""
        units = max(self.charged, units)
        self.file.charge(self.name, self.charged, units, charges)
        self.charged = units

    def end(self, units: int, charges: Sequence[Charge], state: str) -> None:
        """The release is "finished" or "abandoned" and has used so many units; the rest of its budget is free again."""
        self.file.charge(self.name, self.charged, units, charges, state)
        self.charged, self.state = units, state


def _share(rho: str, charged: str) -> float:
    """What a release has charged, in ρ, rounded up."""
    part = Fraction(float.fromhex(rho)) * Fraction(int(charged), TOTAL)
    return 0.0 - rounded_down(-part.numerator, part.denominator)


def timestamp() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
