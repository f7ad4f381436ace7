"""The page of the evaluation: its words are in `page.md.j2`, its tables here."""

from collections.abc import Iterable, Sequence
from math import comb
from pathlib import Path
from statistics import fmean

import jinja2

from bench.data import is_stand_in
from bench.errors import MEASURES
from bench.evaluation import of_ours, of_the_paper
from bench.evaluation.claims import CLOSE, COMPETITIVE, FAIR, NEARLY_LINEAR, ROBUST, Claim
from bench.evaluation.log import Log
from bench.evaluation.pictures import pictures
from bench.evaluation.plan import GROWN
from bench.evaluation.results import (
    WHOLE,
    Results,
    Run,
    domain_size,
    mean,
    readable,
    spread,
    timed_steps,
    titled,
)
from bench.job import MOST_REPEATS, REPEATED_UP_TO
from bench.methods import is_graphical
from bench.pgm import LAST_STEPS, STEPS
from bench.quoted import ABLATION_ERRORS, ABLATION_SECONDS, DATA_SETS
from residuum.present.plots import rendered

PAGE, FOLDER = "evaluation.md", "evaluation"

BUSY = 0.5
"""Above its cores by so much, a machine has more to do than a task that uses all of them."""

_OURS = {"reproduced": "holds", "not reproduced": "does not hold"}
"""A claim of our own is not reproduced: it holds."""


def write(log: Log, place: Path) -> Path:
    """Write the page, its pictures and the results that it is made from; return where the page is."""
    folder = place / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    drawn = pictures(Results(log))
    for name, spec in drawn.items():
        (folder / f"{name}.svg").write_bytes(rendered(spec, "svg"))
    if log.path.exists():
        (folder / "results.jsonl").write_bytes(log.path.read_bytes())
    path = place / PAGE
    path.write_text(text(log), encoding="utf-8")
    return path


def text(log: Log) -> str:
    """The page."""
    results = Results(log)
    drawn = pictures(results)

    def picture(name: str, caption: str) -> str:
        return f"![{caption}]({FOLDER}/{name}.svg)" if name in drawn else ""

    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"))
    return template.render(
        picture=picture,
        provenance=_provenance(results),
        paper_claims=_claims(of_the_paper.claims(results), {}),
        our_claims=_claims(of_ours.claims(results), _OURS),
        data_sets=_data_sets(results),
        in_axis=_in_axis(results),
        ablation=_ablation(results),
        trade_off="\n\n".join(_trade_off(results)),
        measures="; ".join(f"*{name}*: {words}" for name, words in MEASURES.items()) + ". ± is a standard deviation.",
        model_size=_model_size(results),
        growth=_growth(results),
        failures=_failures(results),
        steps=STEPS,
        last_steps=f"{LAST_STEPS:,}",
        shares=_shares(results),
        loans_rebuilt=f"{1000 * ABLATION_SECONDS['loans']['full+iid'] / comb(DATA_SETS['loans'].attributes, 3):.0f} ms",
        grown=f"{GROWN['rows']:,} rows and {len(GROWN['sizes'])} attributes of {GROWN['sizes'][0]} values, "
        f"ε = {GROWN['epsilon']:g}",
        fair=f"{FAIR:.0%}",
        close=f"{CLOSE:.0%}",
        linear=f"{NEARLY_LINEAR:g}",
        competitive=f"{COMPETITIVE:g}",
        robust=f"{ROBUST:g}",
        repeats=f"up to {MOST_REPEATS} times or {REPEATED_UP_TO:g} second",
    )


def _listed(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown, or nothing without rows."""
    body = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *body]) if body else ""


def _provenance(results: Results) -> str:
    entries = results.entries
    if not entries:
        return "Nothing was measured yet."
    first = entries[0].machine
    machines = {f"{m['cores']} cores, {m['memory GiB']} GiB, {m['system']}" for m in (e.machine for e in entries)}
    versions = sorted({f"{name} {number}" for entry in entries for name, number in entry.versions.items()})
    days = sorted({entry.finished[:10] for entry in entries})
    busy = sum(max(entry.load) > first["cores"] + BUSY for entry in entries)
    minutes = sum(entry.took for entry in entries) / 60
    older = f" {results.older} results of an older state of the code are left out." if results.older else ""
    return (
        f"{len(entries)} tasks in {minutes:.0f} minutes, {' to '.join(dict.fromkeys((days[0], days[-1])))}, on "
        f"{'; '.join(sorted(machines))}. Versions: {', '.join(versions)}. "
        f"Commit: {', '.join(sorted({entry.commit or 'none' for entry in entries}))}. "
        f"Other work shared the cores with {busy} of the tasks.{older}"
    )


def _claims(found: Iterable[Claim], words: dict[str, str]) -> str:
    rows = [(c.what, c.claimed, c.measured, f"**{words.get(c.verdict, c.verdict)}**") for c in found]
    return _listed(("claim", "claimed", "measured here", "verdict"), rows) or "Nothing was measured yet."


def _data_sets(results: Results) -> str:
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


def _in_axis(results: Results) -> str:
    rows = []
    for shapes in results.settings().values():
        for shape in shapes:
            cells = [f"{shape['shape'][0]}^{len(shape['shape'])}"]
            for operation in ("decompose", "reconstruct"):
                own, rival = shape[operation], shape[f"{operation} rival"]
                cells += [f"{own * 1e3:.4g}", f"{rival * 1e3:.4g}", f"{rival / own:.2f}×"]
            rows.append(cells)
    return _listed(("shape", "Decomp", "Kronecker", "faster", "Recon", "Kronecker", "faster"), rows)


def _ablation(results: Results) -> str:
    rows = []
    for name, paper in ABLATION_SECONDS.items():
        for strategy, seconds in paper.items():
            if not (found := results.sequence(name, strategy)):
                continue
            about = "" if all(run.timed == run.of for run in found) else "≈ "
            errors = [run.error for run in found if run.error is not None]
            rows.append(
                (
                    results.table(name),
                    strategy,
                    f"{seconds:,.2f}",
                    about + readable(fmean(run.whole for run in found)),
                    timed_steps(found[0]),
                    f"{fmean(run.measurements for run in found):,.0f}" if found[0].steps == found[0].of else "",
                    f"{ABLATION_ERRORS[name][strategy.partition('+')[2]]:g}",
                    f"{fmean(errors):.4g}" if errors else "",
                    str(len(found)),
                )
            )
    header = ("table", "strategy", "paper, s", "here, s", "steps timed", "measurements", "paper, error", "here, error")
    return _listed((*header, "runs"), rows)


def _trade_off(results: Results) -> Iterable[str]:
    """For each table a line of what was compared, and the errors and times of all methods."""
    for table in results.tables:
        rows = [_row(method, epsilon, runs) for method, epsilon, runs in results.averaged(table)]
        rows += [_row(run.method, run.epsilon, [run]) for run in results.cut_short if run.table == table]
        if rows:
            runs = [run for run in results.runs if run.table == table]
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
        _plus_minus(runs, "seconds", 3),
        f"{mean(runs, 'gigabytes'):.2f}",
        f"{fmean(rounds):,.0f}" if rounds else "",
        str(len(runs)),
    )


def _cut_short(run: Run) -> str:
    return f", cut short at {run.spent:.0%} of the budget" if run.spent <= WHOLE else ""


def _shares(results: Results) -> str:
    """Where the time of AIM+PGM went."""
    runs = [run for run in (*results.runs, *results.cut_short) if run.parts]
    parts = sorted({name for run in runs for name in run.parts})
    seconds = sum(run.seconds for run in runs)
    return ", ".join(f"{sum(run.parts.get(name, 0.0) for run in runs) / seconds:.1%} to {name}" for name in parts)


def _model_size(results: Results) -> str:
    adult = results.table("adult")
    every = [(method, epsilon, runs) for method, epsilon, runs in results.averaged(adult) if is_graphical(method)]
    every += [(run.method, run.epsilon, [run]) for run in results.cut_short if run.table == adult]
    rows = [
        (
            method + _cut_short(runs[0]),
            f"{epsilon:g}",
            _plus_minus(runs, "L1"),
            _plus_minus(runs, "seconds", 3),
            ", ".join(f"{run.megabytes:.3g}" for run in runs if run.megabytes is not None),
            str(len(runs)),
        )
        for method, epsilon, runs in every
    ]
    return _listed(("method", "ε", "L1", "seconds", "MB used", "runs"), rows)


def _growth(results: Results) -> str:
    rows = [
        (one.what, f"{one.value:,}", one.method, f"{one.seconds:.3g}", f"{one.gigabytes:.2f}") for one in results.grown
    ]
    return _listed(("what", "value", "method", "seconds", "GB"), rows)


def _failures(results: Results) -> str:
    rows = [
        (", ".join(f"{name} {value}" for name, value in entry.task.items()), str(entry.failed))
        for entry in results.failures
    ]
    return _listed(("task", "how"), rows)


def _plus_minus(runs: list[Run], measure: str, digits: int = 4) -> str:
    around = f" ± {spread(runs, measure):.2g}" if len(runs) > 1 else ""
    return f"{mean(runs, measure):.{digits}g}{around}"
