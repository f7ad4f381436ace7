"""What this project claims beyond the paper, and what it takes for the figures of a correct build."""

from collections.abc import Iterator

from bench.evaluation.claims import CLOSE, Claim, by_epsilon, commas, ratios, untested, verdict
from bench.evaluation.races import is_fair
from bench.evaluation.results import Results, mean, standard_error
from bench.methods import DEFAULT, PAPER, PLANNER, graphical, is_graphical, megabytes_of
from bench.quoted import AIM_PGM, DATA_SETS, EXPECTED_ERRORS

WIDE = {"acs": (10.0, 30.0, 2.0), "loans": (1.0, 60.0, 10.0)}
"""For which budget a run of AIM+GReM on a table of that shape should stay within so many seconds and GB."""


def claims(results: Results) -> list[Claim]:
    """The claims, first those about the comparison itself."""
    parts = (_expected, _rival, _default, _default_planner, _wide)
    return [claim for part in parts for claim in part(results)]


def _expected(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    for method, errors in EXPECTED_ERRORS.items():
        what = f"{method} has the errors that other programs have: {adult}, ε = {commas(errors)}"
        found = {epsilon: mean(runs) for epsilon in errors if (runs := results.select(adult, method, epsilon))}
        if found.keys() != errors.keys() or not results.decides(adult):
            yield untested(what, commas(errors.values()))
            continue
        off = max(abs(error / errors[epsilon] - 1) for epsilon, error in found.items())
        measured = f"{commas(found.values())}: within {off:.1%}"
        yield Claim(what, commas(errors.values()), measured, verdict(off <= CLOSE))


def _rival(results: Results) -> Iterator[Claim]:
    adult = results.table("adult")
    for (epsilon, megabytes), quoted in AIM_PGM.items():
        what = f"Our AIM+PGM is as accurate and as fast as private-pgm: {adult}, ε = {epsilon:g}, {megabytes:g} MB"
        claimed = f"{quoted.error:g} in {quoted.times} s"
        runs = results.select(adult, graphical(megabytes), epsilon)
        if not runs or not results.decides(adult):
            yield untested(what, claimed)
            continue
        measured = f"{mean(runs):.4f} in {mean(runs, 'seconds'):.0f} s"
        yield Claim(what, claimed, measured, verdict(is_fair(runs, (epsilon, megabytes))))


def _default(results: Results) -> Iterator[Claim]:
    """Against the most accurate of all sizes of model, measured or quoted."""
    adult = results.table("adult")
    for epsilon in sorted({epsilon for epsilon, _ in AIM_PGM}):
        what = f"Our default is more accurate than AIM+PGM, and faster: {adult}, ε = {epsilon:g}"
        rivals = {
            method: runs[1]
            for method in filter(is_graphical, results.methods(adult))
            if (runs := results.together(adult, DEFAULT, method).get(epsilon))
        }
        if not rivals or not results.decides(adult):
            yield untested(what, "below the best AIM+PGM, quoted or measured")
            continue
        ours = results.select(adult, DEFAULT, epsilon)
        best = min(rivals, key=lambda method: mean(rivals[method]))
        measured_error, noise = mean(rivals[best]), standard_error(ours, rivals[best], alike=rivals.values())
        quoted = min(program.error for (at, _), program in AIM_PGM.items() if at == epsilon)
        ahead = min(measured_error, quoted) - mean(ours)
        speedup, uncompiled = (
            min(mean(runs, measure) for runs in rivals.values()) / mean(ours, "seconds")
            for measure in ("seconds", "uncompiled")
        )
        yield Claim(
            what,
            f"below {measured_error:.4f} ({megabytes_of(best):g} MB, measured) and {quoted:g} (quoted)",
            f"{mean(ours):.4f}: ahead by {ahead:.4f}, with a standard error of {noise:.4f}; {speedup:.1f}× faster than "
            f"the fastest model, {uncompiled:.1f}× if none had anything to compile",
            "undecided" if abs(ahead) < 2 * noise else verdict(ahead > 0 and speedup > 1),
        )


def _default_planner(results: Results) -> Iterator[Claim]:
    for name in DATA_SETS:
        table = results.table(name)
        what = f"Our default is more accurate than both AIM+GReM and ResidualPlanner: {table}"
        claimed = "below 1× the better of them"
        runs = results.together(table, DEFAULT, PAPER, PLANNER)
        if not runs:
            yield untested(what, claimed)
            continue
        better = {epsilon: [ours, min(others, key=mean)] for epsilon, (ours, *others) in runs.items()}
        ahead = [(mean(other) - mean(ours), standard_error(ours, other)) for ours, other in better.values()]
        unsure = any(abs(by) < 2 * noise for by, noise in ahead)
        told = "undecided" if unsure else verdict(all(by > 0 for by, _ in ahead))
        single = all(len(side) == 1 for sides in better.values() for side in sides)
        measured = by_epsilon(ratios(better), "×") + (", by a single run each" if single else "")
        yield Claim(what, claimed, measured, told)


def _wide(results: Results) -> Iterator[Claim]:
    for name, (epsilon, seconds, gigabytes) in WIDE.items():
        table = results.table(name)
        what = f"A run of AIM+GReM stays within time and memory: {table}, ε = {epsilon:g}"
        claimed = f"{seconds:g} s, {gigabytes:g} GB"
        if not (runs := results.select(table, PAPER, epsilon)):
            yield untested(what, claimed)
            continue
        took, peak = mean(runs, "seconds"), mean(runs, "gigabytes")
        measured = f"{took:.1f} s with the answers compared, {peak:.2f} GB before them, {runs[0].rounds:,} rounds"
        yield Claim(what, claimed, measured, verdict(took <= seconds and peak <= gigabytes))
