"""Every claim of the paper that a measurement can bear out. The list does not depend on what was measured."""

from collections.abc import Callable, Iterable, Iterator
from math import log
from statistics import fmean
from typing import Any

from bench.data import is_stand_in
from bench.errors import MEASURES
from bench.evaluation.claims import (
    CLOSE,
    COMPETITIVE,
    FAIR,
    NEARLY_LINEAR,
    ROBUST,
    ROUGH,
    Claim,
    Verdict,
    by_epsilon,
    of_its_size,
    ratios,
    untested,
    verdict,
)
from bench.evaluation.results import (
    DEGREE_3,
    SIZE_16,
    Results,
    Run,
    Steps,
    domain_size,
    mean,
    timed_steps,
    titled,
)
from bench.methods import PAPER, PLANNER, RIVAL, is_graphical, megabytes_of
from bench.quoted import (
    ABLATION_ERRORS,
    ABLATION_SECONDS,
    AIM_PGM,
    BEST_SPEEDUP,
    DATA_SETS,
    DECOMP_SPEEDUPS,
    RECON_FASTER,
    RECON_SLOWER,
    WORST_AGAINST_PLANNER,
)

_WORTH_TIMING = 100_000
"""Bytes of an array from which time is a matter of its cells."""


def claims(results: Results) -> list[Claim]:
    """The claims in the paper's order."""
    parts = (_linear, _decomp, _recon, _ablation_speed, _ablation_errors, _omitted, _speedup, _competitive, _low_budget,
             _unfiltered, _planner, _measures, _hours, _large_domains, _model_size, _data_sets)  # fmt: skip
    return [claim for part in parts for claim in part(results)]


def _linear(results: Results) -> Iterator[Claim]:
    what, claimed = "Decomp and Recon take time proportional to |γ| n_γ (Theorem 3.2)", "to its power of 1"
    shapes = [shape for shape in results.settings()[SIZE_16] if shape["bytes"] >= _WORTH_TIMING]
    if len(shapes) < 3:
        yield untested(what, claimed)
        return
    first, last = shapes[0], shapes[-1]
    work = log(last["bytes"] * len(last["shape"]) / first["bytes"] / len(first["shape"]))
    decomp, recon, copy = (log(last[name] / first[name]) / work for name in ("decompose", "reconstruct", "copy"))
    yield Claim(
        what,
        claimed,
        f"to its power of {decomp:.2f} and {recon:.2f}, from {_shape(first)} to {_shape(last)}; copying such an array "
        f"takes time to the power of {copy:.2f}",
        verdict(max(decomp, recon) <= NEARLY_LINEAR),
    )


def _decomp(results: Results) -> Iterator[Claim]:
    for fixed, shapes in results.settings().items():
        what = f"In-axis Decomp is faster in all settings, {fixed} (Fig. 3)"
        claimed = f"{DECOMP_SPEEDUPS[fixed]:.2f}× on average"
        if not shapes:
            yield untested(what, claimed)
            continue
        gains = [shape["decompose rival"] / shape["decompose"] for shape in shapes]
        yield Claim(
            what,
            claimed,
            f"{of_its_size(fmean(gains), DECOMP_SPEEDUPS[fixed])} on average, {min(gains):.2f}× at least, over "
            f"{len(gains)} shapes",
            verdict(min(gains) > 1 and fmean(gains) >= ROUGH * DECOMP_SPEEDUPS[fixed]),
        )


def _recon(results: Results) -> Iterator[Claim]:
    what = "In-axis Recon is slightly slower on small marginals, and substantially faster on large ones (Fig. 3)"
    claimed = f"at most {RECON_SLOWER:.0e} s slower, up to {RECON_FASTER:g} s faster"
    settings = results.settings()
    shapes = [*settings[SIZE_16], *settings[DEGREE_3]]
    if not shapes:
        yield untested(what, claimed)
        return
    best = max(shapes, key=_gain)
    slowest = min(map(_gain, shapes))
    yield Claim(
        what,
        claimed,
        f"{f'at most {-slowest:.1e} s slower' if slowest < 0 else 'never slower'}, up to {_gain(best):.3g} s faster "
        f"({_shape(best)}, {best['reconstruct rival'] / best['reconstruct']:.1f}×)",
        verdict(-slowest <= RECON_SLOWER and best["reconstruct rival"] >= best["reconstruct"] / ROUGH),
    )


def _ablation_speed(results: Results) -> Iterator[Claim]:
    for words, slow, quick in (
        ("Lazy updating is faster than full reconstruction", "full+iid", "lazy+iid"),
        ("With lazy updating, CRP is faster than isotropic noise", "lazy+iid", "lazy+crp"),
        ("Both together", "full+iid", "lazy+crp"),
    ):
        for name, paper in ABLATION_SECONDS.items():
            table = results.table(name)
            what, expected = f"{words}: {table} (Table 2)", paper[slow] / paper[quick]
            slow_runs, quick_runs = results.sequence(name, slow), results.sequence(name, quick)
            if not (slow_runs and quick_runs):
                yield untested(what, f"{expected:.1f}×")
                continue
            ratio = fmean(run.whole for run in slow_runs) / fmean(run.whole for run in quick_runs)
            runs, holds = (*slow_runs, *quick_runs), ratio >= ROUGH * expected
            measured = "; ".join([of_its_size(ratio, expected), *_reckoned(runs)])
            if is_stand_in(table):
                measured += f"; it {'holds' if holds else 'does not hold'} on the stand-in"
            prefix = any(run.steps < run.of for run in runs)
            told = "undecided" if prefix and not holds and not is_stand_in(table) else verdict(holds, table)
            yield Claim(what, f"{expected:.1f}×", measured, told)


def _ablation_errors(results: Results) -> Iterator[Claim]:
    for name, paper in ABLATION_ERRORS.items():
        table = results.table(name)
        found = {
            strategy: [run.error for run in results.sequences(name, strategy) if run.error is not None]
            for strategy in paper
        }
        for strategy, errors in found.items():
            what = f"Error of the fixed sequence with {strategy.upper()}: {table} (Table 2)"
            if not errors:
                yield untested(what, f"{paper[strategy]:g}", "the whole sequence was not run")
                continue
            off = fmean(errors) / paper[strategy] - 1
            measured = f"{fmean(errors):.4g} ({off:+.1%}, {len(errors)} runs)"
            yield Claim(what, f"{paper[strategy]:g}", measured, verdict(abs(off) <= CLOSE, table))
        what, claimed = f"CRP lowers the error: {table} (Table 2)", f"{paper['iid'] / paper['crp']:.2f}×"
        if not all(found.values()):
            yield untested(what, claimed, "the whole sequence was not run")
            continue
        ratio = fmean(found["iid"]) / fmean(found["crp"])
        yield Claim(what, claimed, f"{ratio:.2f}×", verdict(ratio > 1, table))


def _omitted(results: Results) -> Iterator[Claim]:
    for name in ABLATION_SECONDS:
        table = results.table(name)
        what = f"CRP omits many measurements of low order: {table} (section 4.3)"
        runs = [run for run in results.sequence(name, "lazy+crp") if run.steps == run.of]
        if not runs:
            yield untested(what, "no number is given", "the whole sequence was not run")
            continue
        made, every = fmean(run.measurements for run in runs), 8 * runs[0].of
        yield Claim(
            what,
            "no number is given",
            f"{made:,.0f} measurements, where isotropic noise on {runs[0].of:,} triples measures {every:,} residuals",
            verdict(made < ROUGH * every, table),
        )


def _speedup(results: Results) -> Iterator[Claim]:
    """AIM+GReM against AIM+PGM on Adult: against ours where it is a fair rival, else against the quoted time."""
    adult = results.table("adult")
    best, lines = 0.0, []
    for rival in filter(is_graphical, results.methods(adult)):
        for epsilon, (ours, rivals) in results.together(adult, PAPER, rival).items():
            quoted = AIM_PGM.get((epsilon, megabytes_of(rival)))
            fair = quoted is None or is_fair(rivals, (epsilon, megabytes_of(rival)))
            seconds = mean(rivals, "seconds") if fair or not quoted else quoted.seconds
            strict, usual = seconds / mean(ours, "first"), seconds / mean(ours, "seconds")
            best = max(best, strict if quoted else 0.0)
            note = (
                "" if quoted and fair else " by the quoted time" if quoted else " (nothing quoted to judge the rival)"
            )
            lines.append(
                f"ε = {epsilon:g}, {megabytes_of(rival):g} MB: {usual:,.0f}×{note}, "
                f"{strict:,.0f}× if only the first run counts (errors {mean(ours):.3f} and {mean(rivals):.3f})"
            )
    what = f"AIM+GReM is orders of magnitude faster than AIM+PGM: {adult} (Fig. 4)"
    if lines:
        yield Claim(what, f"up to {BEST_SPEEDUP:g}×", "; ".join(lines), verdict(best >= BEST_SPEEDUP, adult))
    else:
        yield untested(what, f"up to {BEST_SPEEDUP:g}×")


def _competitive(results: Results) -> Iterator[Claim]:
    words = "AIM+GReM's error is competitive with AIM+PGM's"
    yield _against_rival(results, words, "Fig. 4", lambda found: min(found.values()) <= COMPETITIVE)


def _low_budget(results: Results) -> Iterator[Claim]:
    words = "AIM+PGM may have the lower error at low budgets"
    yield _against_rival(results, words, "section 8", lambda found: found[min(found)] > 1)


def _unfiltered(results: Results) -> Iterator[Claim]:
    """That some case exists cannot be refuted here."""
    words = "AIM+GReM, which filters no candidates, has in some cases the lower error"
    yield _against_rival(results, words, "section 5.2", lambda found: min(found.values()) < 1, otherwise="undecided")


def _against_rival(
    results: Results,
    words: str,
    place: str,
    holds: Callable[[dict[float, float]], bool],
    otherwise: Verdict = "not reproduced",
) -> Claim:
    adult = results.table("adult")
    what, claimed = f"{words}: {adult} ({place})", "no number is given"
    found = ratios(results.together(adult, PAPER, RIVAL))
    if not found:
        return untested(what, claimed)
    told = otherwise if not holds(found) and not is_stand_in(adult) else verdict(holds(found), adult)
    return Claim(what, claimed, f"it is {by_epsilon(found, '×')}", told)


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
        yield Claim(what, f"at worst {low:g}× to {high:g}×", measured, verdict(holds, table))


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
    yield Claim(what, claimed, "; ".join([measured, *differing]), verdict(not differing, adult))


def _hours(results: Results) -> Iterator[Claim]:
    table = results.table("acs")
    runs = results.select(table, PAPER, 10.0)
    own = f"AIM+GReM took {mean(runs, 'seconds'):.1f} s; " if runs else ""
    yield untested(
        f"At ε = 10 AIM+GReM takes hours, AIM+PGM over a week: {table} (section 6)",
        "about 5 hours",
        f"{own}AIM+PGM is not run on this table, for its time",
    )


def _large_domains(_: Results) -> Iterator[Claim]:
    why = "AIM+PGM is not run on these tables, for its time"
    yield untested("On larger domains AIM+PGM's error is far above ResidualPlanner's (Fig. 4)", "up to 14.0×", why)
    yield untested(
        "On Loans AIM+GReM and ResidualPlanner approach AIM+PGM as ε grows (section 6)", "no number is given", why
    )


def _model_size(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    what = f"AIM+PGM's results are robust to its model size, 1 to 100 MB: {adult} (Fig. 11)"
    lines, worst = [], 1.0
    for epsilon in sorted({run.epsilon for run in results.runs if run.table == adult}):
        found = {
            megabytes_of(method): mean(runs)
            for method, at, runs in results.averaged(adult)
            if is_graphical(method) and at == epsilon
        }
        if len(found) > 1:
            worst = max(worst, max(found.values()) / min(found.values()))
            listed = ", ".join(f"{error:.4f} with {megabytes:g} MB" for megabytes, error in found.items())
            lines.append(f"ε = {epsilon:g}: {listed}")
    if lines:
        yield Claim(what, "no number is given", "; ".join(lines), verdict(worst <= ROBUST, adult))
    else:
        yield untested(what, "no number is given", "no two sizes were measured to their end")


def _data_sets(results: Results) -> Iterator[Claim]:
    for name, paper in DATA_SETS.items():
        table = results.table(name)
        what = f"Data set {titled(name)} (Table 3)"
        claimed = (
            f"{paper.rows:,} × {paper.attributes}, average size {paper.average_size:g}, {paper.domain_size:.3g} cells"
        )
        least = 2.0**paper.attributes
        if paper.domain_size < least:
            measured = f"impossible: {paper.attributes} attributes of two values each make {least:.2g} cells already"
            yield Claim(what, claimed, measured, "not reproduced")
        elif table not in results.tables or is_stand_in(table):
            yield untested(what, claimed, "the file was not there, a stand-in of this shape was measured")
        else:
            rows, sizes = results.tables[table]["rows"], results.tables[table]["sizes"]
            cells = domain_size(sizes)
            same = (rows, len(sizes)) == (paper.rows, paper.attributes) and all(
                abs(here / there - 1) < 0.005
                for here, there in ((fmean(sizes), paper.average_size), (cells, paper.domain_size))
            )
            measured = f"{rows:,} × {len(sizes)}, average size {fmean(sizes):.2f}, {cells:.3g} cells"
            yield Claim(what, claimed, measured, verdict(same))


def is_fair(rivals: list[Run], key: tuple[float, float]) -> bool:
    """Whether our AIM+PGM is about as accurate as the quoted one, and no slower."""
    quoted = AIM_PGM[key]
    return mean(rivals) <= (1 + FAIR) * quoted.error and mean(rivals, "seconds") <= quoted.seconds


def _reckoned(runs: Iterable[Steps]) -> list[str]:
    """From which steps a time was reckoned, where it was."""
    timed = {run.strategy: f"{run.strategy} from {timed_steps(run)}" for run in runs if run.timed < run.of}
    return [f"reckoned: {', '.join(timed.values())}"] if timed else []


def _gain(shape: dict[str, Any]) -> float:
    return shape["reconstruct rival"] - shape["reconstruct"]


def _shape(shape: dict[str, Any]) -> str:
    return f"{shape['shape'][0]}^{len(shape['shape'])}"
