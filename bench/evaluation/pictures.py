"""The figures of the paper, and some that it does not have, as Vega-Lite from the results."""

from statistics import fmean
from typing import Any

from bench.evaluation.results import Results, mean, readable
from bench.methods import PLANNER, RIVAL, is_graphical, megabytes_of
from bench.quoted import ABLATION_SECONDS
from residuum.present.themes import theme

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

_SIZE = {"width": 300, "height": 240}
_SPARE = 40
"""Pixels for words of a legend that another font makes longer."""
_LINE = {"type": "line", "point": {"size": 45, "filled": True}}


def pictures(results: Results) -> dict[str, Spec]:
    """All pictures for which something was measured, by the names of their files."""
    drawn = {
        "in-axis": _in_axis(results),
        "ablation": _ablation(results),
        "relative-l1": _relative(results, "L1", "mean L1 error"),
        "relative-l2": _relative(results, "L2", "mean L2 error"),
        "relative-worst": _relative(results, "worst", "largest L1 error"),
        "error-by-epsilon": _by_epsilon(results, "L1", "mean L1 error"),
        "time-by-epsilon": _by_epsilon(results, "seconds", "seconds"),
        "time-by-error": _time_by_error(results),
        "model-size": _model_size(results),
        "growth": _growth(results),
    }
    return {name: spec for name, spec in drawn.items() if spec}


def _in_axis(results: Results) -> Spec | None:
    rows = [
        {"shape": fixed, "operation": name, "how": how, "cells": shape["bytes"] / 8, "seconds": shape[key]}
        for fixed, shapes in results.settings().items()
        for shape in shapes
        for name, operation in (("Decomp", "decompose"), ("Recon", "reconstruct"))
        for how, key in (
            ("in-axis, compiled", operation),
            ("in-axis, NumPy", f"{operation} plain"),
            ("Kronecker", f"{operation} rival"),
        )
    ]  # fmt: skip
    return _faceted(
        rows,
        {"row": _titled("operation"), "column": _titled("shape")},
        {"mark": _LINE, "encoding": {"x": _log("cells", "cells of the marginal", "~s"), "y": _log("seconds"),
                                     "color": _named("how")}},
    )  # fmt: skip


def _ablation(results: Results) -> Spec | None:
    rows: Rows = []
    for name, paper in ABLATION_SECONDS.items():
        for strategy, seconds in paper.items():
            if found := results.sequence(name, strategy):
                here = fmean(run.whole for run in found)
                for whose, number in (("here", here), ("in the paper", seconds)):
                    label = f"{readable(number)} s"
                    rows.append({"table": found[0].where, "strategy": strategy, "whose": whose, "seconds": number,
                                 "label": label})  # fmt: skip
    encoding = {
        "x": {"field": "strategy", "type": "nominal", "sort": None, "title": None, "axis": {"labelAngle": 0}},
        "xOffset": {"field": "whose", "type": "nominal", "sort": None},
        "y": _log("seconds", "seconds of all steps"),
        "color": _named("whose"),
        "tooltip": {"field": "label"},
    }
    points = {"mark": {"type": "point", "filled": True, "size": 110}, "encoding": encoding}
    words = {"mark": {"type": "text", "dy": -14}, "encoding": {**encoding, "text": {"field": "label"}}}
    return _faceted(rows, {"column": _titled("table")}, {"layer": [points, words]})


def _relative(results: Results, measure: str, title: str) -> Spec | None:
    """Error against time, both as multiples of ResidualPlanner's, the budget as a colour. Paper: Fig. 4, 9 and 10."""
    rows: Rows = []
    for table in _tables(results, {run.table for run in results.runs}):
        for method, epsilon, runs in results.averaged(table):
            planned = results.select(table, PLANNER, epsilon)
            if planned and method != PLANNER and not _only_a_size(method):
                rows.append({
                    "table": table, "method": method, "epsilon": epsilon,
                    "time": mean(runs, "seconds") / mean(planned, "seconds"),
                    "error": mean(runs, measure) / mean(planned, measure),
                })  # fmt: skip
    encoding = {
        "x": _log("time", "time ÷ ResidualPlanner's"),
        "y": _log("error", f"{title} ÷ ResidualPlanner's"),
        "shape": _named("method"),
        "color": {"field": "epsilon", "type": "quantitative", "title": "ε",
                  "scale": {"type": "log", "scheme": "viridis"}},
    }  # fmt: skip
    mark = {"type": "point", "filled": True, "size": 90}
    return _faceted(rows, {"column": _titled("table")}, {"mark": mark, "encoding": encoding})


def _by_epsilon(results: Results, measure: str, title: str) -> Spec | None:
    rows: Rows = [
        {"table": table, "method": method, "epsilon": epsilon, "value": mean(runs, measure)}
        for table in _tables(results, {run.table for run in results.runs})
        for method, epsilon, runs in results.averaged(table)
        if not _only_a_size(method)
    ]
    encoding = {"x": _log("epsilon", "ε"), "y": _log("value", title), "color": _named("method")}
    return _faceted(rows, {"column": _titled("table")}, {"mark": _LINE, "encoding": encoding}, free=True)


def _time_by_error(results: Results) -> Spec | None:
    rows: Rows = [
        {
            "table": table,
            "method": method,
            "epsilon": epsilon,
            "error": mean(runs),
            "seconds": mean(runs, "seconds"),
        }
        for table in _tables(results, {run.table for run in results.runs})
        for method, epsilon, runs in results.averaged(table)
        if not _only_a_size(method)
    ]
    encoding = {"x": _log("error", "mean L1 error"), "y": _log("seconds"), "color": _named("method"),
                "order": {"field": "epsilon", "type": "quantitative"}}  # fmt: skip
    return _faceted(rows, {"column": _titled("table")}, {"mark": _LINE, "encoding": encoding}, free=True)


def _model_size(results: Results) -> Spec | None:
    adult = results.table("adult")
    rows: Rows = [
        {"method": f"{megabytes_of(method):g} MB", "epsilon": f"ε = {epsilon:g}", "error": mean(runs),
         "seconds": mean(runs, "seconds")}
        for method, epsilon, runs in results.averaged(adult)
        if is_graphical(method)
    ]  # fmt: skip
    encoding = {"x": _log("seconds"), "y": _log("error", "mean L1 error"), "color": _named("method", "model"),
                "shape": _named("epsilon", "budget")}  # fmt: skip
    mark = {"type": "point", "filled": True, "size": 100}
    return _framed(rows, {"mark": mark, "encoding": encoding, **_SIZE})


def _growth(results: Results) -> Spec | None:
    rows: Rows = [
        {"what": one.what, "value": one.value, "method": one.method, "measure": measure, "number": number}
        for one in results.grown
        for measure, number in (("seconds", one.seconds), ("GB", one.gigabytes))
    ]
    encoding = {"x": _log("value", None, "~s"), "y": _log("number", None), "color": _named("method")}
    facets = {"row": _titled("measure"), "column": _titled("what")}
    return _faceted(rows, facets, {"mark": _LINE, "encoding": encoding}, free=True)


def _only_a_size(method: str) -> bool:
    """Whether a method is in the comparison of model sizes alone."""
    return is_graphical(method) and method != RIVAL


def _tables(results: Results, found: set[str]) -> list[str]:
    """The tables among these, in the order of the paper."""
    return [table for table in results.tables if table in found]


def _framed(rows: Rows, unit: Spec) -> Spec | None:
    if not rows:
        return None
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": rows},
        "config": theme("light"),
        "padding": {"left": 5, "top": 5, "right": _SPARE, "bottom": 5},
        **unit,
    }


def _faceted(rows: Rows, facet: Spec, unit: Spec, *, free: bool = False) -> Spec | None:
    """A picture for each value of one or two fields, in the order in which the rows have them."""
    scales = {"resolve": {"scale": {"x": "independent", "y": "independent"}}} if free else {}
    ordered = {
        place: {**one, "sort": [*dict.fromkeys(row[one["field"]] for row in rows)]} for place, one in facet.items()
    }
    return _framed(rows, {"facet": ordered, "spec": {**_SIZE, **unit}, **scales})


def _log(field: str, title: str | None = "", numbers: str = "~g") -> Spec:
    """An axis with a logarithmic scale; `numbers` says how they are written."""
    axis = {"grid": True, "format": numbers, "tickCount": 6}
    scale = {"type": "log", "nice": False, "padding": 12}
    return {
        "field": field,
        "type": "quantitative",
        "scale": scale,
        "axis": axis,
        "title": field if title == "" else title,
    }


def _named(field: str, title: str | None = None) -> Spec:
    return {"field": field, "type": "nominal", "title": title, "sort": None}


def _titled(field: str) -> Spec:
    return {"field": field, "type": "nominal", "title": None}
