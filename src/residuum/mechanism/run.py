"""What every mechanism works with: a ledger, noise, and where they are asked for, a journal and a budget file."""

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from math import inf, nextafter
from typing import Any

from residuum.core import zcdp
from residuum.core.grem import Estimates
from residuum.core.neighbours import Neighbours
from residuum.core.workload import Workload
from residuum.core.zcdp import Spend
from residuum.data.origin import Origin
from residuum.errors import ReleaseError, ResiduumError
from residuum.mechanism.anneal import WORTHWHILE
from residuum.mechanism.journal import Journal
from residuum.mechanism.terms import Terms
from residuum.privacy.budget import Account, BudgetFile, Charge, timestamp
from residuum.privacy.ledger import TOTAL, Ledger
from residuum.release import Release, fingerprint
from residuum.store import folder_path, manifest, save, shelved
from residuum.store.folder import tidy

_BLOCK = TOTAL // 200
"""What is charged on disk at a time, ahead of the draws; a single charge may be larger."""


class Run:
    """One run of a mechanism: its account of the budget, its noise, and what it keeps on disk.

    As a context it ends cleanly: what was not charged is not left behind, and what was charged stays.
    """

    def __init__(
        self,
        terms: Terms,
        prior: Release | None = None,
        journal: Journal | None = None,
        account: Account | None = None,
        resumed: bool = False,
        origin: Origin | None = None,
    ) -> None:
        self.terms, self.prior, self.journal, self.origin = terms, prior, journal, origin
        self.neighbours = Neighbours(terms.neighbours)
        self.noise = terms.source(prior)
        self._account, self._resumed = account, resumed
        self._reserved = max(journal.reserved if journal else 0, account.charged if account else 0)
        self._listed = account.known if account else 0
        self._pending: list[Charge] = []
        self.ledger = Ledger(zcdp.per_row(terms.rho, terms.rows_per_person), self._record)
        if journal:
            journal.begin(self.ledger.forfeit, self._caught_up)

    @classmethod
    def start(
        cls,
        mechanism: str,
        terms: Terms,
        workload: Workload,
        parameters: Mapping[str, Any],
        origin: Origin | None = None,
        prior: Release | None = None,
        output: str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | BudgetFile | None = None,
    ) -> "Run":
        """A new run. With `output`, a folder, it can be resumed; with `ledger`, a budget file, that is charged."""
        check_prior(prior, workload, terms)
        check_origin(origin, terms)
        file = _budget_file(ledger)
        name = secrets.token_hex(8)
        journal = account = None
        if output is not None:
            start = {
                "name": name,
                "mechanism": mechanism,
                "parameters": manifest.plain(parameters, "the parameters"),
                "terms": manifest.plain(asdict(terms), "the terms"),
                **_recoverable(workload),
                "ledger": str(file.path) if file else None,
                "prior": sorted(prior.lineage) if prior else None,
                "origin": asdict(origin) if origin else None,
                "software": manifest.software(),
            }
            journal = Journal.create(folder_path(output), start)
        try:
            if file:
                folder = str(journal.folder) if journal else None
                account = file.start(mechanism, terms.rho, Neighbours(terms.neighbours), folder, name)
            return cls(terms, prior, journal, account, origin=origin)
        except BaseException:
            _unmake(journal, account)
            raise

    @staticmethod
    def conclude(journal: Journal, start: Mapping[str, Any], release: Release) -> None:
        """Tidy up after a run that died when its release was saved."""
        end = journal.end or {"end": "0", "charges": 0}
        own = release.spends[len(release.spends) - end["charges"] :]
        if not journal.end or sum(spend.units for spend in own) != int(end["end"]):
            raise ReleaseError(
                f"The release in {str(journal.folder)!r} is not of the run whose journal is there. "
                "Move it elsewhere, then resume the run."
            )
        if start["ledger"] is not None:
            account = _account(start, Terms(**start["terms"]), journal)
            now = timestamp()
            account.end(int(end["end"]), [(now, spend) for spend in own[account.known :]], "finished")
        with suppress(OSError):
            tidy(journal.folder)
        journal.remove()

    @classmethod
    def resume(cls, journal: Journal, start: Mapping[str, Any], workload: Workload, prior: Release | None) -> "Run":
        """A run that goes on where its journal ends."""
        terms = Terms(**start["terms"])
        check_prior(prior, workload, terms)
        if (sorted(prior.lineage) if prior else None) != start["prior"]:
            raise ReleaseError("The run was started upon another prior release. Resume it with that one.")
        account = None
        if start["ledger"] is not None:
            account = _account(start, terms, journal)
            if account.state != "running" and not journal.end:
                raise ReleaseError(
                    f"The run in {str(journal.folder)!r} is {account.state} in its budget file. Start a new one."
                )
            if account.charged < journal.reserved:  # an older copy of the budget file
                account.charge(journal.reserved, ())
        run = cls(terms, prior, journal, account, resumed=True, origin=origin_of(start))
        if run.ledger.remaining <= WORTHWHILE * run.ledger.rho:
            raise ReleaseError(
                f"The run in {str(journal.folder)!r} died in measurements that had taken its whole budget, and nothing "
                "of them was kept. Start anew."
            )
        return run

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not self._reserved and not self._resumed:
            _unmake(self.journal, self._account)
        elif kind is not None and self._account and not self.journal:
            with suppress(ReleaseError):  # the error that ended the run matters more
                self._account.end(self._reserved, self._pending, "abandoned")
        if self.journal:
            self.journal.close()

    def _record(self, spends: Sequence[Spend], spent: int) -> None:
        """Put charges on disk ahead of the draws, a block at a time: first how much, and once drawn, what for."""
        if spent > self._reserved:
            used = spent - sum(spend.units for spend in spends)
            self._reserved = max(spent, min(used + _BLOCK, TOTAL))
            if self._account:
                if self.journal:
                    self.journal.sync()  # the account lists no charge that the journal could forget
                self._account.charge(self._reserved, self._pending)
                self._pending = []
            if self.journal:
                self.journal.write({"reserved": str(self._reserved)})
                self.journal.sync()
        if self._account:
            now = timestamp()
            new = spends[min(self._listed, len(spends)) :]  # the others are in the file already
            self._listed -= len(spends) - len(new)
            self._pending += [(now, spend) for spend in new]

    def _caught_up(self) -> None:
        """All that is known has been told. What else was charged may have been drawn, and is given up.

        Not where there is a seed: the same draws come again.
        """
        if self._listed:
            raise ReleaseError("The journal is damaged: the budget file lists charges that it lacks. Start anew.")
        if not self.journal or self.journal.end or self.terms.seed is not None:
            return
        if self._reserved > self.ledger.spent_units:
            self.ledger.forfeit(self._reserved)
            self.journal.write({"lost": str(self._reserved)})
            self.journal.sync()

    def finish(self, mechanism: str, estimates: Estimates, parameters: Mapping[str, Any]) -> Release:
        """The release, saved where the run has a folder; what it did not spend of a budget file is free again."""
        release = self._release(mechanism, estimates, parameters)
        units = self.ledger.spent_units
        if self.journal:
            if not self.journal.end:
                self.journal.write({"end": str(units), "charges": len(self.ledger.spends)})
                self.journal.sync()
            save(release, self.journal.folder)
            release = shelved(release, self.journal.folder)
        if self._account:
            self._account.end(units, self._pending, "finished")
        if self.journal:
            self.journal.remove()
        return release

    def _release(self, mechanism: str, estimates: Estimates, parameters: Mapping[str, Any]) -> Release:
        """Everything the run leaves behind. What a prior release cost and warned of is added to it."""
        terms, prior = self.terms, self.prior
        caveats = dict.fromkeys([*(prior.provenance["caveats"] if prior else ()), self.noise.caveat])
        provenance = {
            "mechanism": mechanism,
            "software": manifest.software(),
            **asdict(terms),
            **parameters,
            "unspent": self.ledger.remaining,
            "prior": prior.provenance if prior else None,
            "caveats": tuple(caveat for caveat in caveats if caveat),
        }
        return Release(
            estimates,
            nextafter(terms.rho + prior.rho, inf) if prior else terms.rho,
            (*(prior.spends if prior else ()), *self.ledger.spends),
            provenance,
            frozenset({fingerprint(estimates), self.noise.name}) | (prior.lineage if prior else frozenset()),
            self.origin.schema if self.origin else None,
        )


def _budget_file(ledger: str | os.PathLike[str] | BudgetFile | None) -> BudgetFile | None:
    if ledger is None or isinstance(ledger, BudgetFile):
        return ledger
    if not isinstance(ledger, str | os.PathLike):
        raise ReleaseError(f"Expected `ledger` to be a budget file or its path, got {ledger!r}.")
    return BudgetFile(ledger)


def _recoverable(workload: Workload) -> dict[str, Any]:
    """The workload as a journal describes it, once it is clear that it can be read back."""
    described = manifest.describe_workload(workload)
    if manifest.read_workload(described).domain != workload.domain:
        raise ReleaseError("The run cannot be kept: its domain has labels that are not text or plain numbers.")
    return described


def _unmake(journal: Journal | None, account: Account | None) -> None:
    """Leave nothing of a run that has charged nothing. What ended the run matters more than what hinders this."""
    if account:
        with suppress(ReleaseError):
            account.file.withdraw(account.name)
    if journal:
        journal.remove()
        journal.close()


def _account(start: Mapping[str, Any], terms: Terms, journal: Journal) -> Account:
    """The account that a run was started with, entered now if it died before it was."""
    if not os.path.exists(start["ledger"]):
        raise ReleaseError(f"The run is charged to {start['ledger']!r}, which is gone. Put it back where it was.")
    file, neighbours = BudgetFile(start["ledger"]), Neighbours(terms.neighbours)
    return file.start(start["mechanism"], terms.rho, neighbours, str(journal.folder), start["name"])


def origin_of(start: Mapping[str, Any]) -> Origin | None:
    """Where the table of a run came from, as its journal has it."""
    return Origin(**start["origin"]) if start.get("origin") else None


def check_origin(origin: Origin | None, terms: Terms) -> None:
    """Refuse terms that protect people with fewer rows than the schema lets them have."""
    if origin and terms.rows_per_person < origin.rows_per_person:
        raise ResiduumError(
            f"The schema keeps up to {origin.rows_per_person} rows of a person, and the budget is for "
            f"{terms.rows_per_person}. Say rows_per_person={origin.rows_per_person}."
        )


def check_prior(prior: Release | None, workload: Workload, terms: Terms) -> None:
    """Refuse a release that cannot be built upon."""
    if prior is None:
        return
    if not isinstance(prior, Release):
        raise ReleaseError(f"Expected `prior` to be a Release, got {type(prior).__name__}.")
    if prior.domain != workload.domain or any(tau not in workload for tau in prior.workload.closure):
        raise ReleaseError("A prior release needs the same domain, and a workload that the new one covers.")
    for what in ("rows_per_person", "neighbours"):
        if prior.provenance.get(what) != getattr(terms, what):
            raise ReleaseError(f"A prior release needs the same {what}, or what it cost a person is not known.")
