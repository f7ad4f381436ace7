"""What the paper claims of its parts: the in-axis operations, lazy updating and conditional ResidualPlanner."""

from collections.abc import Iterable, Iterator
from math import log
from statistics import fmean
from typing import Any

from bench.data import is_stand_in
from bench.evaluation.claims import CLOSE, NEARLY_LINEAR, ROUGH, Claim, of_its_size, untested, verdict
from bench.evaluation.results import DEGREE_3, SIZE_16, Results, Steps, timed_steps
from bench.quoted import ABLATION_ERRORS, ABLATION_SECONDS, DECOMP_SPEEDUPS, RECON_FASTER, RECON_SLOWER

_WORTH_TIMING = 100_000
"""Bytes of an array from which time is a matter of its cells."""


def claims(results: Results) -> list[Claim]:
    """The claims in the paper's order."""
    parts = (_linear, _decomp, _recon, _ablation_speed, _ablation_errors, _omitted)
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
            runs, holds = (*slow_runs, *quick_runs), ratio > max(1, ROUGH * expected)
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
        made, every = fmean(run.residuals for run in runs), 8 * runs[0].of
        yield Claim(
            what,
            "no number is given",
            f"{made:,.0f} residuals, where {runs[0].of:,} triples with isotropic noise have {every:,}",
            verdict(made < ROUGH * every, table),
        )


def _reckoned(runs: Iterable[Steps]) -> list[str]:
    """From which steps a time was reckoned, where it was."""
    timed = {run.strategy: f"{run.strategy} from {timed_steps(run)}" for run in runs if run.timed < run.of}
    return [f"reckoned: {', '.join(timed.values())}"] if timed else []


def _gain(shape: dict[str, Any]) -> float:
    return shape["reconstruct rival"] - shape["reconstruct"]


def _shape(shape: dict[str, Any]) -> str:
    return f"{shape['shape'][0]}^{len(shape['shape'])}"
