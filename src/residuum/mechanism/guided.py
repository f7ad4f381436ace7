"""AIM+GReM guided by a reference model, the default: estimates that know more than what was measured.

Paper: Alg. 4, with five changes, all of them to what is public.

- A residual that nobody measured is taken from a reference model, not as zero, so that selection does not pay for what
  the model already tells.
- Candidates are single attributes and pairs. A model that knows all pairs predicts higher orders better than noisy
  measurements of them do, until the budget is so large that the pairs are known to a fraction of a percent (`_FINE`):
  the rest then goes into the higher orders.
- The number of rounds follows from the noisy total, N √ρ / 15, for so many pairs stand out of the noise. Where that is
  nearly all of them, selecting is a waste, and all are measured at once.
- Where the budget is so large that ResidualPlanner's noise would be small beside the counts (`_PLENTY`), there is
  nothing to adapt to, and all is measured as that method plans it.
- All rounds spend alike: how far an estimate moved says little when it knew much before.

What is asked follows from public values and noisy answers: variances, costs and the number of rounds from the workload,
the budget and the noisy total, and never from the model, which only tells the curator what the estimates are. So a
resumed run asks what its journal has, also on a machine with less memory, or where matrix products come out otherwise.

`make bench-accuracy` measures what these choices are worth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum, pi, sqrt
from typing import Literal

from residuum.core import planner
from residuum.core.checks import Array
from residuum.core.domain import Clique
from residuum.core.grem import Estimates, NoisyResidual
from residuum.core.neighbours import Neighbours
from residuum.core.workload import Workload, subsets
from residuum.data.counts import Counts
from residuum.data.differences import Differences, keeping
from residuum.data.memory import cells_of, check_memory
from residuum.data.table import Table
from residuum.estimate.latent import MOST_VALUES, Learner, affordable_refits, fits
from residuum.estimate.mixture import Mixture, starts
from residuum.estimate.nonnegative import to_simplex
from residuum.estimate.reference import Reference, independent, total_of
from residuum.estimate.shrink import shrunk
from residuum.kernels import threads
from residuum.mechanism import batch
from residuum.mechanism.allocation import evenly, initial, optimal, singles
from residuum.mechanism.anneal import CRUMB, ONE_OF_EVEN, WORTHWHILE, Schedule, even_round, last_or, within
from residuum.mechanism.curator import AdaptiveCurator, Curator
from residuum.mechanism.progress import Progress, Report
from residuum.mechanism.run import Run
from residuum.release import Release, measurements

ORDER = 2
"""How many attributes the candidates have at most."""

_FIRST_LOOK, _SINGLES = 0.2, 0.45
"""The share of the budget for single attributes: where all pairs are measured, and where they are selected."""
_PER_ROUND = 15.0
"""N √ρ for each round."""
_NEARLY_ALL = 0.75
"""Where so many of the pairs would be selected, all are measured."""
_PEEK = 0.005
"""The share of the budget for a first estimate of the total."""
_PLENTY = 0.08
"""The mean noise by ResidualPlanner, in L1 and as a share of the total, up to which its plan is followed."""
_FINE = 0.02
"""The noise in a pair, in L1 and as a share of the total, below which higher orders are worth more."""
_HIGHER_CELLS = 1 << 28
"""Higher orders are measured only where all marginals of the closure have at most so many cells together.

That bounds their estimates to 2 GiB. The bound is a constant: were it the free memory, what is measured would depend on
the machine, and on the rows, which take memory too.
"""
_PENALTY = 0.25
"""How much of the noise that a measurement would have counts against a candidate: a model removes most of it."""
_REFITS = 128
"""The model learns about so often in a run, or less often on wide tables."""
_FEWEST_REFITS = 8
_MOST_COMPARED = 1 << 19
"""Each time all marginals are compared with it, half a million of a thousand columns. So many take half a minute."""
_BYTES_A_PAIR = 32
"""What learning and comparing hold for each pair of values, at most: measurements, the steps of two fits, a view."""
_WORTH_KNOWING = 1e4
"""A prior's residuals with a variance beyond so many times that of the first measurements are left out as noise."""


Path = Literal["plan", "pairs", "singles", "rounds"]
"""What a budget goes into: all that ResidualPlanner would measure, all pairs, single attributes alone, or rounds."""


class Guided:
    """One run: what it measures with, what it knows, and how it goes about it."""

    def __init__(
        self,
        run: Run,
        table: Table | Counts,
        workload: Workload,
        schedule: Schedule,
        reference: Reference,
        min_share: float,
        report: Progress,
    ) -> None:
        source = Counts.of(table, workload) if isinstance(table, Counts) else table  # all orders, or an error now
        self._run, self._table, self._workload, self._report = run, source, workload, report
        self._schedule, self._min_share = schedule, min_share
        self._narrow = workload.up_to(ORDER)
        self._pairs = {gamma: weight for gamma, weight in self._narrow.weights.items() if len(gamma) == ORDER}
        self._ledger, self._neighbours = run.ledger, run.neighbours
        self._rho = run.ledger.remaining  # all of it, unless the run died before it measured anything
        self._first = first_variance(workload, self._rho, run.neighbours, schedule.share_singles)
        differences = Differences(source, self._narrow, sqrt(self._first), report.counting)
        self._curator = AdaptiveCurator(differences, run.ledger, run.noise, run.neighbours, run.journal)
        self.estimates = Estimates(workload, worth_knowing(run.prior, self._first))
        self._fits = fits(self.estimates)
        self._learn: Callable[[Estimates], Mixture] = independent
        if reference == "latent" and self._fits:
            self._learn = Learner().learn

    def loop(self) -> tuple[Path, int]:
        """Spend the budget; return what it went into, and the number of rounds."""
        if plan := self._plan_of_plenty():
            self._in_turn(self._curator_of_all(), plan, 0)
            return "plan", 0
        self._first_look()
        self._report(Report(self._ledger.spent / self._ledger.rho, 0, ()))
        rounds = self._rounds()
        if rounds > _NEARLY_ALL * len(self._pairs) and self._pairs:
            self._measure_all()
            return "pairs", 0
        if not (self._pairs and rounds):
            self._more_of_singles(self._ledger.remaining)
            return "singles", 0
        if self._schedule.share_singles is None:
            self._more_of_singles((_SINGLES - _FIRST_LOOK) * self._rho)
        if self._used_up:
            return "singles", 0
        with threads.one_for_blas():
            return "rounds", self._select(rounds)

    def _first_look(self) -> None:
        """Measure the single attributes; with more noise, if a crash has taken a part of what that costs."""
        sigma2 = initial(self._workload, self._first)
        cost = fsum(self._neighbours.cost(self._workload.domain.shape(tau)) / (2 * s) for tau, s in sigma2.items())
        left = self._ledger.remaining
        if not self._used_up:
            more = cost / (left * (1 - CRUMB)) if cost > left else 1.0
            self._measure({tau: s * more for tau, s in sigma2.items()})

    def _plan_of_plenty(self) -> Mapping[Clique, float] | None:
        """What ResidualPlanner would measure with the budget, if it is plenty for that; a peek at the total tells."""
        told = self._schedule.rounds is not None or self._schedule.share_singles is not None
        if told or cells_of(self._workload) > _HIGHER_CELLS:
            return None
        self._measure({(): self._neighbours.moved / (2 * _PEEK * self._rho)})
        if self._used_up:
            return None
        plan = planner.plan(self._workload, self._ledger.remaining, neighbours=self._neighbours)
        away = [sqrt(2 / pi) * stderr * self._workload.domain.size(gamma) for gamma, stderr in plan.stderr.items()]
        return plan.sigma2 if fsum(away) <= _PLENTY * total_of(self.estimates) * len(away) else None

    def _curator_of_all(self) -> Curator:
        """A curator that can measure every residual of the workload."""
        check_memory(self._workload, batch.memory(self._workload, counted=isinstance(self._table, Counts)))
        truth = Counts.of(self._table, self._workload, in_turn=True)
        return Curator(truth, self._ledger, self._run.noise, self._neighbours, self._run.journal)

    @property
    def _used_up(self) -> bool:
        """Whether what is left is not worth another measurement: at the end, or because a crash has taken it."""
        return self._ledger.remaining <= WORTHWHILE * self._ledger.rho

    def _rounds(self) -> int:
        """How many pairs stand out of the noise."""
        if self._schedule.rounds is not None:
            return self._schedule.rounds
        total = max(0.0, float(self.estimates.residual(())))
        return int(total * sqrt(self._rho / self._neighbours.moved) / _PER_ROUND)

    def _more_of_singles(self, rho: float) -> None:
        """Measure the single attributes once more, as far as the budget goes."""
        rho = min(rho, self._ledger.remaining) * (1 - CRUMB)
        if rho > WORTHWHILE * self._ledger.rho:
            self._measure(initial(self._workload, self._neighbours.moved * singles(self._workload) / (2 * rho)))

    def _measure_all(self) -> None:
        """Measure all pairs, and higher orders once the pairs are fine enough."""
        if self._used_up:
            return
        domain, rho = self._workload.domain, self._ledger.remaining
        cells = sum(map(domain.size, self._pairs)) / len(self._pairs)
        fine = dict.fromkeys(self._pairs, (_FINE * total_of(self.estimates) / (sqrt(2 / pi) * cells)) ** 2)
        spent = fsum(self._neighbours.cost(domain.shape(tau)) / (2 * sigma2) for tau, sigma2 in fine.items())
        higher = {tau: sqrt(weight) for tau, weight in self._weights().items() if len(tau) > ORDER}
        if not higher or spent >= rho / 2 or cells_of(self._workload) > _HIGHER_CELLS:
            roots = {tau: sqrt(weight) for tau, weight in self._pairs.items()}
            self._in_turn(self._curator, evenly(roots, domain, rho, self._neighbours), 0)
            return
        evened = evenly(dict.fromkeys(fine, max(higher.values())) | higher, domain, rho, self._neighbours)
        fine = {tau: min(sigma2, evened[tau]) for tau, sigma2 in fine.items()}  # never coarser than what is above them
        curator = self._curator_of_all()
        done = self._in_turn(self._curator, fine, 0)
        if not self._used_up:
            self._in_turn(curator, evenly(higher, domain, self._ledger.remaining, self._neighbours), done)

    def _weights(self) -> dict[Clique, float]:
        """How much the targets that a residual is part of weigh together."""
        weights = dict.fromkeys(self._workload.closure, 0.0)
        for gamma, weight in self._workload.weights.items():
            for tau in subsets(gamma):
                weights[tau] += weight
        return weights

    def _in_turn(self, curator: Curator, sigma2: Mapping[Clique, float], done: int) -> int:
        return batch.measure_in_turn(curator, self.estimates, sigma2, self._report, done)

    def _select(self, rounds: int) -> int:
        """Measure the pairs that are worst known, one in each round. Paper: Alg. 4, lines 6 to 14."""
        ledger, selection = self._ledger, self._schedule.share_select
        current = even_round(ledger.remaining, rounds, self._neighbours.moved, selection)
        refits = min(affordable_refits(sum(self._workload.domain.sizes)), _MOST_COMPARED // len(self._narrow.closure))
        stride, done = -(-rounds // min(max(refits, _FEWEST_REFITS), _REFITS)), 0
        model = self._learn(self.estimates)
        self._curator.compare(self._view(model, self._narrow.closure[1:]))
        while not self._used_up:
            done += 1
            gamma = self._curator.select(current.epsilon_select, _PENALTY**2 * current.sigma2)
            if self._used_up:
                break  # a crash has taken what the measurement would have cost
            current = within(current, ledger.remaining)
            shares = optimal(self.estimates, gamma, current.precision, self._min_share, self._neighbours)
            self._measure(shares)
            self._report(Report(ledger.spent / ledger.rho, done, self._workload.domain.name(gamma)))
            if current.last:
                break
            if done % stride == 0:
                model = self._learn(self.estimates)
                self._curator.compare(self._view(model, self._narrow.closure[1:]))
            else:
                self._curator.compare(self._view(model, [gamma]))
            current = last_or(current, ledger.remaining, ONE_OF_EVEN)
        return done

    def _view(self, model: Mixture, cliques: Sequence[Clique]) -> Iterator[tuple[Clique, Array]]:
        """What marginals over one and two attributes are estimated to be."""
        pairs = model.pairs() if len(cliques) > 1 and self._fits else None
        begin, sizes = starts(model.sizes), model.sizes
        for gamma in cliques:
            if self.estimates.precision(gamma) > 0:
                yield gamma, to_simplex(shrunk(self.estimates, model, gamma), model.total)
            elif pairs is not None and len(gamma) == ORDER:
                rows, columns = (slice(begin[i], begin[i] + sizes[i]) for i in gamma)
                yield gamma, pairs[rows, columns]
            else:
                yield gamma, model.marginal(gamma)

    def _measure(self, sigma2: Mapping[Clique, float]) -> None:
        for residual in self._curator.measure(sigma2):
            self.estimates.absorb(residual)


def first_variance(workload: Workload, rho: float, neighbours: Neighbours, share: float | None = None) -> float:
    """The variance of the first measurements, those of the single attributes.

    >>> from residuum import Domain
    >>> round(first_variance(Workload.all_kway(Domain({"age": 4, "sex": 2}), 2), 0.5, Neighbours("add-remove")), 9)
    10.0
    """
    return neighbours.moved * singles(workload) / (2 * min(share or _FIRST_LOOK, 1 - CRUMB) * rho)


def worth_knowing(prior: Release | None, first: float) -> list[NoisyResidual]:
    """What a prior release measured and is worth building upon, beside first measurements with this variance.

    >>> worth_knowing(None, 1.0)
    []
    """
    known = measurements(prior.estimates) if prior else []
    return [residual for residual in known if residual.sigma2 <= _WORTH_KNOWING * first]


def memory(workload: Workload) -> int:
    """How many bytes the method takes: for counts and differences of pairs, and for the model.

    Should the budget turn out to be so large that higher orders are measured, it is ResidualPlanner's memory on top.

    >>> from residuum import Domain
    >>> memory(Workload.all_kway(Domain({"a": 3000, "b": 3000, "c": 3000}), 3)) // 2**20
    721
    """
    values = sum(workload.domain.sizes)
    return keeping(workload.up_to(ORDER)) + (_BYTES_A_PAIR * values**2 if values <= MOST_VALUES else 0)
