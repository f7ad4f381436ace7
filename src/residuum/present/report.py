"""The report on a release: one web page that needs nothing else, made from the release alone.

Where it is compared with the true table, the comparison comes as plain numbers from somebody who has the data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from residuum.core.domain import Clique
from residuum.estimate.intervals import REACH
from residuum.present import account, pages, pictures, plots
from residuum.present.against import Against
from residuum.present.findings import Findings
from residuum.present.promise import Promise
from residuum.present.shown import figure, listing, named, plain
from residuum.release import Release

_MOST_COLUMNS = 120
"""So many columns get a picture of their own."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, and what stands beside it."""

    place: str
    """The element it is drawn into."""
    title: str
    remarks: tuple[str, ...] = ()
    wide: bool = False


def report(release: Release, against: Against | None = None) -> str:
    """The page, as HTML.

    >>> from residuum import Domain, Estimates, NoisyMarginal, Workload
    >>> domain = Domain({"sex": ["f", "<b>"]})
    >>> estimates = Estimates(Workload.all_kway(domain, 1), [NoisyMarginal((0,), [30, 70], sigma2=1.0)])
    >>> page = report(Release(estimates, 0.5, (), {"caveats": ()}, frozenset({"0"})))
    >>> "<b>" in page, "ρ = 0.5" in page
    (False, True)
    """
    drawn: dict[str, Any] = {}
    content = {
        "title": _title(release),
        "facts": _facts(release),
        "caveats": [plain(str(caveat)) for caveat in release.provenance["caveats"]],
        "promise": Promise.of(release),
        "confirmed": None if release.schema is None else bool(release.schema.get("confirmed")),
        **_budget(release, drawn),
        **_found(release, drawn),
        "columns": _columns(release, drawn),
        "total_columns": len(release.domain),
        "parameters": _parameters(release.provenance),
        "runs": sorted(release.lineage),
        "cite": _cite(release),
        "against": against,
        "differences": [] if against is None else _differences(against, drawn),
    }
    for spec in drawn.values():
        spec.pop("config", None)
        spec.pop("$schema", None)
    return pages.filled("report.html.j2", plots.library(), plots=drawn, **content)


def _title(release: Release) -> str:
    targets = len(release.workload.targets)
    columns = len({i for gamma in release.workload.targets for i in gamma})
    return f"{targets:,} marginal{'s' * (targets != 1)} of {columns:,} column{'s' * (columns != 1)}"


def _facts(release: Release) -> list[tuple[str, str]]:
    total = release.marginal(())
    people = figure(float(total.values), half := REACH * float(total.stderr or 0.0))
    orders: dict[int, int] = {}
    for gamma in release.workload.targets:
        orders[len(gamma)] = orders.get(len(gamma), 0) + 1
    asked = ", ".join(f"{count:,} over {order}" for order, count in orders.items())
    return [
        ("People", f"{people} ± {figure(half, half)}" if half else people),
        ("Columns", f"{len(release.domain):,}"),
        ("Marginals asked for", f"{asked} column{'s' * (list(orders) != [1])}"),
        ("Counts in them", f"{release.workload.cells:,}"),
        ("Mechanism", plain(str(release.provenance.get("mechanism", "unknown")))),
        ("Made by", plain(str(release.provenance.get("software", "unknown")))),
    ]


def _budget(release: Release, drawn: dict[str, Any]) -> dict[str, Any]:
    """What was spent on what, and how noisy that leaves the marginals."""
    kinds, noises = account.kinds(release.spends), account.noise(release)
    if kinds:
        drawn["budget-plot"] = pictures.budget(account.course(release.spends), [kind.name for kind in kinds])
    if any(noise.spread for noise in noises):
        drawn["noise"] = pictures.noise(noises)
    rounds, unspent = (release.provenance.get(key) for key in ("rounds", "unspent"))
    return {
        "kinds": kinds,
        "noises": noises,
        "rounds": f"{rounds:,}" if isinstance(rounds, int) and rounds else None,
        "unspent": unspent / release.rho if isinstance(unspent, float) and unspent > 1e-6 * release.rho else None,
        "figures": figure,
    }


def _found(release: Release, drawn: dict[str, Any]) -> dict[str, Any]:
    """The marginals most worth looking at."""
    if len(release.domain) < 2:
        return {"matrix": None, "picked": []}
    findings = Findings.of(release)
    names = [plain(name) for name in release.domain.names]
    drawn["matrix"], cut = pictures.dependence(findings.strengths, names)
    picked = [
        _picked(release, gamma, f"picked{k}", drawn, findings)
        for k, gamma in enumerate(findings.pairs + findings.triples)
    ]
    remarks = (f"Of {len(names):,} columns, those are shown that depend most on another.",) if cut else ()
    return {"matrix": Figure("matrix", "Which columns depend on each other", remarks), "picked": picked}


def _picked(release: Release, gamma: Clique, place: str, drawn: dict[str, Any], findings: Findings) -> Figure:
    """One marginal, its attribute with the fewest values last."""
    order = sorted(gamma, key=lambda i: (-release.domain.sizes[i], i))
    marginal = release.marginal(order)
    drawn[place] = plots.spec(marginal, titled=False)
    remarks = plots.notes(marginal)[1:]
    if len(gamma) == 2:
        remarks.insert(0, f"Dependence {findings.strengths[gamma]:.2f}. {_noise(release, gamma)}")
    return Figure(place, named(marginal.attributes), tuple(remarks), wide=len(gamma) > 2)


def _noise(release: Release, gamma: Clique) -> str:
    stderr, unmeasured = release.noise(gamma)
    return "" if unmeasured else f"The noise gives each count a standard error of {figure(stderr, stderr)}."


def _columns(release: Release, drawn: dict[str, Any]) -> list[tuple[str, str, Figure | None]]:
    """The columns, their values, and a picture of each."""
    rows: list[tuple[str, str, Figure | None]] = []
    domain = release.domain
    for i, (name, size, labels) in enumerate(zip(domain.names, domain.sizes, domain.labels, strict=True)):
        values = listing((plain(str(label)) for label in (range(size) if labels is None else labels)), most=6)
        shown = None
        if i < _MOST_COLUMNS and (i,) in release.workload:
            marginal = release.marginal(i)
            drawn[f"column{i}"] = plots.spec(marginal, titled=False, width="container")
            shown = Figure(f"column{i}", plain(name), tuple(plots.notes(marginal)[1:]))
        rows.append((plain(name), values, shown))
    return rows


def _differences(against: Against, drawn: dict[str, Any]) -> list[Figure]:
    """Pictures of the comparison with the true table."""
    drawn["errors"] = pictures.errors(against.orders)
    figures = []
    for k, column in enumerate(against.columns[:6]):
        drawn[f"shares{k}"] = pictures.shares(column)
        figures.append(Figure(f"shares{k}", column.name))
    return figures


def _parameters(provenance: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """What the runs were told, in full: what one cites."""
    found: list[tuple[str, str]] = []
    for name, value in provenance.items():
        if isinstance(value, Mapping):
            found += _parameters(value, f"{prefix}{name}: ")
        elif name in ("parts", "prior") and isinstance(value, Iterable) and not isinstance(value, str):
            for k, part in enumerate(value):
                found += _parameters(part, f"{prefix}run {k + 1}: ") if isinstance(part, Mapping) else []
        elif value not in (None, (), []):
            text = listing(map(str, value), most=20) if isinstance(value, tuple | list) else str(value)
            found.append((plain(prefix + str(name)), plain(text)))
    return found


def _cite(release: Release) -> str:
    """One sentence with all that the guarantee depends on."""
    promise, facts = Promise.of(release), release.provenance
    rows = facts.get("rows_per_person")
    parts = [
        f"{_title(release)}, released by {facts.get('mechanism', 'unknown')} "
        f"({facts.get('software', 'residuum')}) with {promise.budget}",
        f"neighbouring tables by {facts['neighbours']}" if "neighbours" in facts else "",
        f"up to {rows:,} row{'s' * (rows != 1)} per person" if isinstance(rows, int) else "",
        f"run {', '.join(sorted(release.lineage))}" if release.lineage else "",
        "seeded, hence without any guarantee" if promise.seeded else "",
    ]
    return plain("; ".join(filter(None, parts)) + ".")
