"""What the paper claims of its parts: the in-axis operations, lazy updating and conditional ResidualPlanner."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from math import log
from statistics import fmean
from typing import Any

from bench.evaluation.claims import (
    CLOSE,
    MANY,
    NEARLY_LINEAR,
    ROUGH,
    SUBSTANTIAL,
    Claim,
    Verdict,
    of_its_size,
    untested,
    verdict,
)
from bench.evaluation.results import SIZE_16, Results, Steps, timed_steps
from bench.quoted import ABLATION_ERRORS, ABLATION_SECONDS, DECOMP_SPEEDUPS, RECON_FASTER, RECON_SLOWER

_HOW = {"compiled": "", "in plain NumPy": " plain"}
"""How the operations are done in-axis, and what that is called in the results."""

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
    for (fixed, shapes), (words, how) in product(results.settings().items(), _HOW.items()):
        what = f"In-axis Decomp is faster in all settings, {fixed}: {words} (Fig. 3)"
        claimed = f"{DECOMP_SPEEDUPS[fixed]:.2f}× on average"
        if not shapes:
            yield untested(what, claimed)
            continue
        gains = [shape["decompose rival"] / shape[f"decompose{how}"] for shape in shapes]
        yield Claim(
            what,
            claimed,
            f"{of_its_size(fmean(gains), DECOMP_SPEEDUPS[fixed])} on average, {min(gains):.2f}× at least, over "
            f"{len(gains)} shapes",
            verdict(min(gains) > 1 and fmean(gains) >= ROUGH * DECOMP_SPEEDUPS[fixed]),
        )


def _recon(results: Results) -> Iterator[Claim]:
    claimed = f"at most {RECON_SLOWER:.0e} s slower, up to {RECON_FASTER:g} s faster"
    shapes = [*chain(*results.settings().values())]
    for words, how in _HOW.items():
        what = f"In-axis Recon is slightly slower on small marginals, much faster on large ones: {words} (Fig. 3)"
        if not shapes:
            yield untested(what, claimed)
            continue
        gains = {_shape(shape): shape["reconstruct rival"] - shape[f"reconstruct{how}"] for shape in shapes}
        best = max(shapes, key=lambda shape: gains[_shape(shape)])
        slowest, fastest = min(gains.values()), max(gains.values())
        times = best["reconstruct rival"] / best[f"reconstruct{how}"]
        slower = f"at most {-slowest:.1e} s slower" if slowest < 0 else "never slower"
        faster = f"up to {fastest:.3g} s faster ({_shape(best)}, {times:.1f}×)" if fastest > 0 else "never faster"
        told = verdict(-slowest <= RECON_SLOWER and times >= SUBSTANTIAL)
        longest = max(shape["reconstruct rival"] for shape in shapes)
        yield Claim(what, claimed, f"{slower}, {faster}; the rival never took more than {longest:.3g} s", told)


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
            measured = "; ".join([of_its_size(ratio, expected), *_on_a_part(runs), *_reckoned(runs)])
            told = _verdict(holds, results, runs)
            if told == "not testable here":
                measured += f"; on what was measured it {'holds' if holds else 'does not hold'}"
            if told == "not reproduced" and any(run.steps < run.of for run in runs):
                told = "undecided"
            yield Claim(what, f"{expected:.1f}×", measured, told)


def _ablation_errors(results: Results) -> Iterator[Claim]:
    for name, paper in ABLATION_ERRORS.items():
        table = results.table(name)
        runs = {strategy: results.sequences(name, strategy) for strategy in paper}
        found = {strategy: [run.error for run in some if run.error is not None] for strategy, some in runs.items()}
        for strategy, errors in found.items():
            what = f"Error of the fixed sequence with {strategy.upper()}: {table} (Table 2)"
            if not errors:
                yield untested(what, f"{paper[strategy]:g}", "the whole sequence was not run")
                continue
            off = fmean(errors) / paper[strategy] - 1
            made = f"{len(errors)} runs" if len(errors) > 1 else "a single run"
            measured = "; ".join([f"{fmean(errors):.4g} ({off:+.1%}, {made})", *_on_a_part(runs[strategy])])
            yield Claim(what, f"{paper[strategy]:g}", measured, _verdict(abs(off) <= CLOSE, results, runs[strategy]))
        what, claimed = f"CRP lowers the error: {table} (Table 2)", f"{paper['iid'] / paper['crp']:.2f}×"
        if not all(found.values()):
            yield untested(what, claimed, "the whole sequence was not run")
            continue
        ratio = fmean(found["iid"]) / fmean(found["crp"])
        every = [run for some in runs.values() for run in some]
        measured = "; ".join([f"{ratio:.2f}×", *_on_a_part(every)])
        yield Claim(what, claimed, measured, _verdict(ratio > 1, results, every))


def _omitted(results: Results) -> Iterator[Claim]:
    for name in ABLATION_SECONDS:
        table = results.table(name)
        what = f"CRP omits many measurements of low order: {table} (section 4.3)"
        runs = [run for run in results.sequence(name, "lazy+crp") if run.steps == run.of]
        if not runs:
            yield untested(what, "no number is given", "the whole sequence was not run")
            continue
        low, triples, every = fmean(sum(run.residuals[:3]) for run in runs), runs[0].of, 7 * runs[0].of
        told = f"{low:,.0f} of fewer than three attributes, where isotropic noise on {triples:,} triples has {every:,}"
        measured = "; ".join([told, *_on_a_part(runs)])
        yield Claim(what, "no number is given", measured, _verdict(low <= (1 - MANY) * every, results, runs))


def _verdict(holds: bool, results: Results, runs: Sequence[Steps]) -> Verdict:
    """What runs on a table make of a claim: nothing, if it is not the paper's, or a part of it was taken."""
    return verdict(holds, results.decides(runs[0].table) and not any(run.attributes for run in runs))


def _on_a_part(runs: Iterable[Steps]) -> list[str]:
    """How much of the table was taken, where not all."""
    return list({f"on {run.attributes} of its attributes" for run in runs if run.attributes})


def _reckoned(runs: Iterable[Steps]) -> list[str]:
    """From which steps a time was reckoned, where it was."""
    timed = {run.strategy: f"{run.strategy} from {timed_steps(run)}" for run in runs if run.timed < run.of}
    return [f"reckoned: {', '.join(timed.values())}"] if timed else []


def _shape(shape: dict[str, Any]) -> str:
    return f"{shape['shape'][0]}^{len(shape['shape'])}"
