// The table: a row for each cell, with its count, and its 95% interval in numbers and as a line.

const find = (id) => document.getElementById(id);
const SHORT = 16; // labels up to this length are not broken
let go, now;

export function begin(goes, state) {
  [go, now] = [goes, state];
  for (const [id, step] of [["back", -1], ["forth", 1]])
    find(id).addEventListener("click", async () => {
      await go({ page: String(Number(now().page) + step) });
      find("frame").scrollIntoView({ block: "start" });
    });
}

export function show(view, state) {
  const { table } = view;
  find("caption").textContent = `Estimated numbers of people by ${view.attributes.map((each) => each.name).join(" × ")}`;
  find("table").className = view.attributes.length > 2 ? "crowded" : "";
  heads(view, state);
  const line = scale(table.reach);
  const rows = document.createDocumentFragment();
  table.values.forEach((value, k) => {
    const row = document.createElement("tr");
    table.labels.forEach((texts) => label(row, texts[k]));
    const half = table.halves?.[k];
    cell(row, figure(value, half ?? 1)).className = "number";
    cell(row, half === undefined ? "–" : `± ${figure(half, half)}`).className = "number quiet";
    const [low, high] = table.lower ? [table.lower[k], table.upper[k]] : [value, value];
    const drawing = cell(row, "");
    drawing.className = "interval";
    drawing.title = table.lower ? `${figure(low, half)} to ${figure(high, half)}` : "";
    drawing.append(...line(low, value, high));
    rows.append(row);
  });
  find("rows").replaceChildren(rows);
  turn(table, view.cells);
}

// Columns are sorted by their heads: up, down, and back to the order of the cells.
function heads(view, state) {
  const columns = [...view.attributes.map(({ name }, k) => [name, String(k)]), ["people", "people"], ["95% interval", "error"]];
  const kept = [...find("heads").children];
  const focused = kept.findIndex((head) => head.contains(document.activeElement));
  find("heads").replaceChildren(
    ...columns.map(([name, key]) => {
      const head = document.createElement("th");
      const button = document.createElement("button");
      const mine = state.sort === key;
      head.scope = "col";
      head.className = key.length > 1 ? "number" : "";
      head.ariaSort = mine ? (state.order === "up" ? "ascending" : "descending") : "none";
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => go(next(key, mine, state.order)));
      head.append(button);
      return head;
    }),
    document.createElement("td"),
  );
  if (focused >= 0) find("heads").children[focused]?.querySelector("button")?.focus();
}

function next(key, mine, order) {
  const first = key.length > 1 ? "down" : "up"; // the largest counts are what one looks for first
  if (!mine) return { sort: key, order: first };
  return order === first ? { sort: key, order: first === "up" ? "down" : "up" } : { sort: "cells", order: "up" };
}

function label(row, text) {
  const head = cell(row, text, "th");
  head.scope = "row";
  if (text.length <= SHORT) head.className = "short";
}

function cell(row, text, kind = "td") {
  const element = document.createElement(kind);
  element.textContent = text;
  row.append(element);
  return element;
}

// A line from the lower to the upper end, with a dot at the count, all on the scale of the whole table.
function scale([low, high]) {
  const at = (value) => `${(100 * (value - low)) / (high - low)}%`;
  return (lower, value, upper) => {
    const [range, dot] = ["i", "b"].map((kind) => document.createElement(kind));
    range.style.left = at(lower);
    range.style.width = `${(100 * (upper - lower)) / (high - low)}%`;
    dot.style.left = at(value);
    return [range, dot];
  };
}

// As many digits as the interval makes sense of, and no minus before a zero.
function figure(value, half) {
  const digits = half >= 10 ? 0 : half >= 1 ? 1 : 2;
  const rounded = Number(value.toFixed(digits)) + 0;
  return rounded.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function turn(table, cells) {
  const last = table.first + table.values.length;
  find("turn").hidden = table.pages === 1;
  find("where").textContent = `${(table.first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${cells.toLocaleString("en")}`;
  find("back").disabled = table.page === 1;
  find("forth").disabled = table.page === table.pages;
}
