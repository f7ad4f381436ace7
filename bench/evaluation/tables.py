"""The tables of the page, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from bench.data import is_stand_in
from bench.errors import MEASURES
from bench.evaluation.claims import Claim
from bench.evaluation.races import races as races_of
from bench.evaluation.results import WHOLE, Results, Run, domain_size, mean, readable, spread, timed_steps, titled
from bench.methods import is_graphical, megabytes_of
from bench.quoted import ABLATION_ERRORS, ABLATION_SECONDS, DATA_SETS


def claims(found: Iterable[Claim], words: dict[str, str]) -> str:
    rows = [(c.what, c.claimed, c.measured, f"**{words.get(c.verdict, c.verdict)}**") for c in found]
    return _listed(("claim", "claimed", "measured here", "verdict"), rows) or "Nothing was measured yet."


def tally(found: Sequence[Claim], words: dict[str, str]) -> str:
    """How many claims have which verdict."""
    numbers = Counter(words.get(claim.verdict, claim.verdict) for claim in found)
    return f"{len(found)} claims: {', '.join(f'{verdict} {number}' for verdict, number in numbers.most_common())}."


def data_sets(results: Results) -> str:
    rows: list[Sequence[str]] = []
    for name, paper in DATA_SETS.items():
        size, cells = f"{paper.average_size:g}", f"{paper.domain_size:.3g}"
        rows.append((f"{titled(name)}, in the paper", f"{paper.rows:,}", str(paper.attributes), size, cells))
        if found := results.tables.get(table := results.table(name)):
            sizes = found["sizes"]
            kind = "a stand-in, here" if is_stand_in(table) else "here"
            size, cells = f"{fmean(sizes):.2f}", f"{domain_size(sizes):.3g}"
            rows.append((f"{table}, {kind}", f"{found['rows']:,}", str(len(sizes)), size, cells))
    return _listed(("data set", "records", "attributes", "average size", "domain size"), rows)


def in_axis(results: Results) -> str:
    rows = []
    for shapes in results.settings().values():
        for shape in shapes:
            cells = [f"{shape['shape'][0]}^{len(shape['shape'])}"]
            for operation in ("decompose", "reconstruct"):
                own, plain, rival = (shape[f"{operation}{which}"] for which in ("", " plain", " rival"))
                cells += [f"{seconds * 1e3:.4g}" for seconds in (own, plain, rival)]
                cells += [f"{rival / own:.2f}×", f"{rival / plain:.2f}×"]
            rows.append(cells)
    header = ("NumPy", "Kronecker", "faster", "NumPy faster")
    return _listed(("shape", "Decomp", *header, "Recon", *header), rows)


def ablation(results: Results) -> str:
    rows = []
    for name, paper in ABLATION_SECONDS.items():
        for strategy, seconds in paper.items():
            if not (found := results.sequence(name, strategy)):
                continue
            about = "" if all(run.timed == run.of for run in found) else "≈ "
            errors = [run.error for run in found if run.error is not None]
            rows.append(
                (
                    found[0].where,
                    strategy,
                    f"{seconds:,.2f}",
                    about + readable(fmean(run.whole for run in found)),
                    timed_steps(found[0]),
                    f"{fmean(sum(run.residuals) for run in found):,.0f}" if found[0].steps == found[0].of else "",
                    f"{ABLATION_ERRORS[name][strategy.partition('+')[2]]:g}",
                    f"{fmean(errors):.4g}" if errors else "",
                    str(len(found)),
                )
            )
    header = ("table", "strategy", "paper, s", "here, s", "steps timed", "residuals", "paper, error", "here, error")
    return _listed((*header, "runs"), rows)


def races(results: Results) -> str:
    rows = [
        (
            f"{race.epsilon:g}",
            f"{megabytes_of(race.rival):g}",
            readable(mean(race.rivals, "seconds")),
            readable(mean(race.rivals, "compiling")),
            race.quoted.times if race.quoted else "",
            readable(mean(race.runs, "seconds")),
            f"{race.usual:,.0f}×" + ("" if race.fair else ", by the quoted time"),
            f"{race.strict:,.0f}×",
            f"{race.uncompiled:,.0f}×",
            f"{race.quoted.seconds / mean(race.runs, 'first'):,.0f}×" if race.quoted else "",
            f"{race.error:.4g}",
            f"{mean(race.rivals):.4g}",
        )
        for race in races_of(results)
    ]
    times = ("AIM+PGM, s", "compiling, s", "quoted, s", "AIM+GReM, s")
    ratios = ("faster", "first runs", "first, not compiling", "first, quoted")
    return _listed(("ε", "MB", *times, *ratios, "AIM+GReM, error", "AIM+PGM, error"), rows)


def trade_off(results: Results) -> Iterable[str]:
    """For each table a line of what was compared, and the errors and times of all methods."""
    for table in results.tables:
        rows = [_row(method, epsilon, runs) for method, epsilon, runs in results.averaged(table)]
        rows += [_row(run.method, run.epsilon, [run]) for run in results.cut_short if run.table == table]
        if rows:
            runs = [run for run in (*results.runs, *results.cut_short) if run.table == table]
            numbers = sorted({run.compared for run in runs})
            exact = fmean(run.independent["L1"] for run in runs if run.compared == numbers[-1])
            yield (
                f"**{table}**, {' or '.join(f'{number:,}' for number in numbers)} marginals compared. The product of "
                f"the exact single attributes, which is not private, has an error of {exact:.4f}."
            )
            yield _listed(("method", "ε", *MEASURES, "seconds", "GB", "rounds", "runs"), rows)


def _row(method: str, epsilon: float, runs: list[Run]) -> Sequence[str]:
    rounds = [run.rounds for run in runs if run.rounds is not None]
    return (
        method + _cut_short(runs[0]),
        f"{epsilon:g}",
        *(_plus_minus(runs, measure) for measure in MEASURES),
        _seconds(runs),
        f"{mean(runs, 'gigabytes'):.2f}",
        f"{fmean(rounds):,.0f}" if rounds else "",
        str(len(runs)),
    )


def _cut_short(run: Run) -> str:
    return f", cut short at {run.spent:.0%} of the budget" if run.spent <= WHOLE else ""


def shares(results: Results) -> str:
    """Where the time of AIM+PGM went, in whole runs on Adult."""
    adult = results.table("adult")
    runs = [run for run in results.runs if run.parts and run.table == adult]
    parts = sorted({name for run in runs for name in run.parts})
    seconds = sum(run.seconds for run in runs)
    told = [f"{sum(run.parts.get(name, 0.0) for run in runs) / seconds:.1%} to {name}" for name in parts]
    if runs:
        told.append(f"and {sum(run.compiling for run in runs) / seconds:.1%} of all of it to compile")
    return ", ".join(told)


def model_size(results: Results) -> str:
    adult = results.table("adult")
    every = [(method, epsilon, runs) for method, epsilon, runs in results.averaged(adult) if is_graphical(method)]
    every += [(run.method, run.epsilon, [run]) for run in results.cut_short if run.table == adult]
    rows = [
        (
            method + _cut_short(runs[0]),
            f"{epsilon:g}",
            _plus_minus(runs, "L1"),
            _seconds(runs),
            ", ".join(f"{run.megabytes:.3g}" for run in runs if run.megabytes is not None),
            str(len(runs)),
        )
        for method, epsilon, runs in every
    ]
    return _listed(("method", "ε", "L1", "seconds", "MB used", "runs"), rows)


def growth(results: Results) -> str:
    rows = [
        (
            one.what,
            f"{one.value:,}",
            one.method,
            readable(one.seconds),
            f"{one.gigabytes:.2f}",
            "" if one.rounds is None else f"{one.rounds:,}",
        )
        for one in results.grown
    ]
    return _listed(("what", "value", "method", "seconds", "GB", "rounds"), rows)


def failures(results: Results) -> str:
    rows = [
        (", ".join(f"{name} {value}" for name, value in entry.task.items()), str(entry.failed))
        for entry in results.failures
    ]
    return _listed(("task", "how"), rows)


def _plus_minus(runs: list[Run], measure: str) -> str:
    around = f" ± {spread(runs, measure):.2g}" if len(runs) > 1 else ""
    return f"{mean(runs, measure):.4g}{around}"


def _seconds(runs: list[Run]) -> str:
    around = f" ± {spread(runs, 'seconds'):.2g}" if len(runs) > 1 else ""
    return readable(mean(runs, "seconds")) + around


def _listed(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown, or nothing without rows."""
    body = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *body]) if body else ""
