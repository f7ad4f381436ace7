"""The page of the evaluation: the words of `page.md.j2` with the tables, and the pictures beside it."""

import os
from math import comb
from pathlib import Path

import jinja2

from bench.errors import MEASURES
from bench.evaluation import claims as rules
from bench.evaluation import of_ours, of_the_paper, tables
from bench.evaluation.log import ROOT, Log
from bench.evaluation.pictures import pictures
from bench.evaluation.plan import GROWN
from bench.evaluation.results import SAME, Results
from bench.job import MOST_REPEATS, REPEATED_UP_TO
from bench.pgm import LAST_STEPS, STEPS
from bench.quoted import ABLATION_SECONDS, DATA_SETS
from residuum.present.plots import rendered

DOCS = ROOT / "docs"
PAGE, FOLDER = "evaluation.md", "evaluation"

BUSY = 0.5
"""With so many more processes than cores, on average over a minute, a task did not have the machine to itself."""

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
    path.write_text(text(log, place), encoding="utf-8")
    return path


def text(log: Log, place: Path = DOCS) -> str:
    """The page, for a folder: from there it leads to the documentation."""
    results = Results(log)
    drawn = pictures(results)
    papers, ours = of_the_paper.claims(results), of_ours.claims(results)

    def picture(name: str, caption: str) -> str:
        return f"![{caption}]({FOLDER}/{name}.svg)" if name in drawn else ""

    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    template = environment.from_string(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"))
    return template.render(
        picture=picture,
        pages="" if place.resolve() == DOCS else f"{os.path.relpath(DOCS, place)}/",
        provenance=_provenance(results),
        paper_tally=tables.tally(papers, {}),
        paper_claims=tables.claims(papers, {}),
        our_tally=tables.tally(ours, _OURS),
        our_claims=tables.claims(ours, _OURS),
        data_sets=tables.data_sets(results),
        in_axis=tables.in_axis(results),
        ablation=tables.ablation(results),
        trade_off="\n\n".join(tables.trade_off(results)),
        races=tables.races(results),
        measures="; ".join(f"*{name}*: {words}" for name, words in MEASURES.items()) + ". ± is a standard deviation.",
        model_size=tables.model_size(results),
        growth=tables.growth(results),
        failures=tables.failures(results),
        steps=STEPS,
        last_steps=f"{LAST_STEPS:,}",
        shares=tables.shares(results),
        loans_rebuilt=f"{1000 * ABLATION_SECONDS['loans']['full+iid'] / comb(DATA_SETS['loans'].attributes, 3):.0f} ms",
        grown=f"{GROWN['rows']:,} rows and {len(GROWN['sizes'])} attributes of {GROWN['sizes'][0]} values, "
        f"ε = {GROWN['epsilon']:g}",
        rules=rules,
        same=f"{SAME:.1%}",
        repeats=f"up to {MOST_REPEATS} times or {REPEATED_UP_TO:g} second",
    )


def _provenance(results: Results) -> str:
    entries = results.entries
    if not entries:
        return "Nothing was measured yet."
    machines = {f"{m['cores']} cores, {m['memory GiB']} GiB, {m['system']}" for m in (e.machine for e in entries)}
    versions = sorted({f"{name} {number}" for entry in entries for name, number in entry.versions.items()})
    days = sorted({entry.finished[:10] for entry in entries})
    busy = sum(max(entry.load) > entry.machine["cores"] + BUSY for entry in entries)
    minutes = sum(entry.took for entry in entries) / 60
    older = f" {results.older} results of other code, or of another file, are left out." if results.older else ""
    return (
        f"{len(entries)} tasks in {minutes:.0f} minutes, {' to '.join(dict.fromkeys((days[0], days[-1])))}, on "
        f"{'; '.join(sorted(machines))}. Versions: {', '.join(versions)}. "
        f"Commit: {', '.join(sorted({entry.commit or 'none' for entry in entries}))}. "
        f"Before or after {busy} of the tasks the machine had clearly more to do than it has cores.{older}"
    )
