"""Every claim of the paper that a measurement can bear out. The list does not depend on what was measured."""

from collections.abc import Callable, Iterator
from statistics import fmean

from bench.data import is_stand_in
from bench.errors import MEASURES
from bench.evaluation import of_its_parts
from bench.evaluation.claims import (
    COMPETITIVE,
    LARGE,
    NEAR,
    ROBUST,
    Claim,
    by_epsilon,
    over_budgets,
    ratios,
    untested,
    verdict,
)
from bench.evaluation.races import Race, races
from bench.evaluation.results import Results, Run, domain_size, mean, readable, titled
from bench.methods import PAPER, PLANNER, RIVAL, is_graphical, megabytes_of
from bench.quoted import BEST_SPEEDUP, DATA_SETS, WORST_AGAINST_PLANNER

_SINGLES = 0.9 / 16
"""The share of the budget that AIM+PGM measures single attributes with, before its rounds. Paper: app. F."""


def claims(results: Results) -> list[Claim]:
    """The claims in the paper's order."""
    parts = (of_its_parts.claims, _speedup, _competitive, _low_budget, _unfiltered, _planner, _measures, _hours,
             _large_domains, _model_size, _data_sets)  # fmt: skip
    return [claim for part in parts for claim in part(results)]


def _speedup(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    what, claimed = f"AIM+GReM is orders of magnitude faster than AIM+PGM: {adult} (Fig. 4)", f"up to {BEST_SPEEDUP:g}×"
    found = races(results)
    quoted = [race for race in found if race.quoted]
    if not quoted:
        yield untested(what, claimed)
        return
    best, fitting = max(quoted, key=lambda race: race.strict), max(found, key=lambda race: race.uncompiled)
    told = [
        f"where a rival is quoted, up to {best.usual:,.0f}× ({_setting(best)}), {best.strict:,.0f}× if only the first "
        f"run of a process counts, {best.uncompiled:,.0f}× if moreover the rival had nothing to compile; {_times(best)}"
    ]
    if fitting is not best:
        told.append(f"without compiling, in all settings, up to {fitting.uncompiled:,.0f}× ({_setting(fitting)})")
        told.append(_times(fitting))
    yield Claim(what, claimed, "; ".join(told), verdict(best.strict >= BEST_SPEEDUP))


def _setting(race: Race) -> str:
    return f"ε = {race.epsilon:g}, {megabytes_of(race.rival):g} MB, errors {race.error:.3g} and {race.rival_error:.3g}"


def _times(race: Race) -> str:
    """From which seconds to which the runs took whose means were divided."""
    rivals, firsts = [run.seconds for run in race.rivals], [run.first for run in race.runs]
    return f"AIM+PGM took {_between(rivals)} s, first runs {_between(firsts)} s"


def _between(numbers: list[float]) -> str:
    return " to ".join(dict.fromkeys(map(readable, (min(numbers), max(numbers)))))


def _competitive(results: Results) -> Iterator[Claim]:
    words = "AIM+GReM's error is competitive with AIM+PGM's"
    yield _against_rival(results, words, "Fig. 4", lambda found: min(found.values()) <= COMPETITIVE)


def _low_budget(results: Results) -> Iterator[Claim]:
    words = "AIM+PGM may have the lower error at low budgets"
    yield _against_rival(results, words, "section 8", lambda found: found[min(found)] > 1)


def _against_rival(results: Results, words: str, place: str, holds: Callable[[dict[float, float]], bool]) -> Claim:
    adult = results.table("adult")
    what, claimed = f"{words}: {adult} ({place})", "no number is given"
    found = ratios(results.together(adult, PAPER, RIVAL))
    if not found:
        return untested(what, claimed)
    told = over_budgets(holds(found), found, results.decides(adult))
    return Claim(what, claimed, f"AIM+GReM's is {by_epsilon(found, '×')}", told)


def _unfiltered(results: Results) -> Iterator[Claim]:
    """That some case exists cannot be refuted here: the most favourable one is shown, of all budgets and models."""
    adult = results.table("adult")
    what = f"AIM+GReM, which filters no candidates, has in some cases the lower error: {adult} (section 5.2)"
    if not (found := races(results)):
        yield untested(what, "no number is given")
        return
    best = min(found, key=lambda race: race.error / mean(race.rivals))
    ratio = best.error / mean(best.rivals)
    measured = f"at best it is {ratio:.3g}× AIM+PGM's ({_setting(best)})"
    decides = results.decides(adult)
    told = "undecided" if ratio >= 1 and decides else verdict(True, decides)
    yield Claim(what, "no number is given", measured, told)


def _planner(results: Results) -> Iterator[Claim]:
    low, high = WORST_AGAINST_PLANNER
    for name in DATA_SETS:
        table = results.table(name)
        what = f"AIM+GReM's error is below ResidualPlanner's at small ε, and at worst slightly above: {table} (Fig. 4)"
        found = ratios(results.together(table, PAPER, PLANNER))
        if not found:
            yield untested(what, f"at worst {low:g}× to {high:g}×")
            continue
        worst = max(found.values())
        measured = f"at worst {worst:.2f}×: {by_epsilon(found, '×')}"
        holds = found[min(found)] < 1 and worst <= high
        told = over_budgets(holds, found, results.decides(table))
        yield Claim(what, f"at worst {low:g}× to {high:g}×", measured, told)


def _measures(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    what, claimed = f"L2 and largest L1 errors tell the same as mean L1: {adult} (Fig. 9, 10)", "no number is given"
    differing: list[str] = []
    compared = 0
    for rival in (PLANNER, RIVAL):
        runs = results.together(adult, PAPER, rival)
        by_measure = {measure: ratios(runs, measure) for measure in MEASURES}
        compared += len(runs)
        for epsilon in runs:
            found = {measure: by_measure[measure][epsilon] for measure in MEASURES}
            if len({ratio < 1 for ratio in found.values()}) > 1:
                listed = ", ".join(f"{ratio:.3g}× in {measure}" for measure, ratio in found.items())
                differing.append(f"against {rival} at ε = {epsilon:g}: {listed}")
    if not compared:
        yield untested(what, claimed)
        return
    measured = f"AIM+GReM is on the same side of its rival in {compared - len(differing)} of {compared} comparisons"
    yield Claim(what, claimed, "; ".join([measured, *differing]), verdict(not differing, results.decides(adult)))


def _hours(results: Results) -> Iterator[Claim]:
    """A week is not waited for: of AIM+PGM a part is shown, always on the stand-in."""
    table = results.table("acs")
    runs = results.select(table, PAPER, 10.0)
    told = [f"AIM+GReM took {readable(mean(runs, 'seconds'))} s"] if runs else []
    told += [
        f"AIM+PGM on {run.table} was stopped when {run.rounds} of its rounds had used {run.spent - _SINGLES:.2%} of "
        f"its budget, after {readable(run.seconds)} s, {_spent_on(run)}"
        for run in results.cut_short
        if run.table.startswith("acs") and (run.method, run.epsilon) == (RIVAL, 10.0)
    ]
    yield untested(
        f"At ε = 10 AIM+GReM takes hours, AIM+PGM over a week: {table} (section 6)",
        "about 5 hours, and over a week",
        "; ".join(told) or "not measured",
    )


def _spent_on(run: Run) -> str:
    return ", ".join(f"{readable(seconds)} to {name}" for name, seconds in sorted(run.parts.items()))


def _large_domains(_: Results) -> Iterator[Claim]:
    why = "AIM+PGM is not run to its end on these tables, for its time"
    yield untested("AIM+GReM is faster than AIM+PGM on ACS and Loans too (Fig. 4)", "no number is given", why)
    yield untested("On larger domains AIM+PGM's error is far above ResidualPlanner's (Fig. 4)", "up to 14.0×", why)
    yield untested(
        "On Loans AIM+GReM and ResidualPlanner approach AIM+PGM as ε grows (section 6)", "no number is given", why
    )


def _model_size(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    what = f"AIM+PGM's results are robust to its model size, 1 to 100 MB: {adult} (Fig. 11)"
    lines, worst, tried = [], 1.0, 0.0
    for epsilon in sorted({run.epsilon for run in results.runs if run.table == adult}):
        found = {
            megabytes_of(method): runs
            for method, at, runs in results.averaged(adult)
            if is_graphical(method) and at == epsilon
        }
        if len(found) > 1:
            errors = {size: mean(runs) for size, runs in found.items()}
            used = {size: max(run.megabytes or 0.0 for run in runs) for size, runs in found.items()}
            worst = max(worst, max(errors.values()) / min(errors.values()))
            tried = max([tried, *(size for size in found if used[size] >= NEAR * size)])
            listed = [f"{errors[size]:.4f} with {size:g} MB ({used[size]:.2g} used)" for size in found]
            lines.append(f"ε = {epsilon:g}: {', '.join(listed)}")
    if not lines:
        yield untested(what, "no number is given", "no two sizes were measured to their end")
        return
    unsettled = worst <= ROBUST and tried < LARGE and results.decides(adult)
    if tried < LARGE:
        lines.append(f"no model came near a limit above {tried:g} MB" if tried else "no model came near its limit")
    told = "undecided" if unsettled else verdict(worst <= ROBUST, results.decides(adult))
    yield Claim(what, "no number is given", "; ".join(lines), told)


def _data_sets(results: Results) -> Iterator[Claim]:
    for name, paper in DATA_SETS.items():
        table = results.table(name)
        what = f"Data set {titled(name)} (Table 3)"
        claimed = (
            f"{paper.rows:,} × {paper.attributes}, average size {paper.average_size:g}, {paper.domain_size:.3g} cells"
        )
        least = f"{2.0**paper.attributes:.2g}"
        impossible = f"impossible: {paper.attributes} attributes of two values each make {least} cells already"
        doubt = [] if paper.possible else [impossible]
        if table not in results.tables:
            yield untested(what, claimed)
        elif is_stand_in(table):
            measured = "; ".join([*doubt, "the file was not there, a stand-in of this shape was measured"])
            yield Claim(what, claimed, measured, "not reproduced" if doubt else "not testable here")
        else:
            rows, sizes = results.tables[table]["rows"], results.tables[table]["sizes"]
            cells = domain_size(sizes)
            measured = f"{rows:,} × {len(sizes)}, average size {fmean(sizes):.2f}, {cells:.3g} cells"
            yield Claim(what, claimed, "; ".join([measured, *doubt]), verdict(results.decides(table) and not doubt))
