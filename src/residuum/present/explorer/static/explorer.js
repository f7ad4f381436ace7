// The page: reads what is asked for from the address, fetches it, and shows it.

import * as state from "./state.js";
import * as controls from "./controls.js";
import * as chart from "./chart.js";
import * as table from "./table.js";

const find = (id) => document.getElementById(id);
let release;
let now = state.read();
let view = null;
let fetching = null;
let watching = null;

export async function ask(address, signal) {
  let answer, content;
  try {
    answer = await fetch(address, { signal });
    content = await answer.json();
  } catch {
    throw new Error("The explorer does not answer. It may have been ended in its terminal.");
  }
  if (!answer.ok) throw new Error(content.error);
  return content;
}

function say(text) {
  find("status").textContent = text;
}

// A change by the user: a new entry in the history, unless nothing is new.
function go(change) {
  const next = { ...now, page: "1", ...change };
  const query = state.query(next);
  now = next;
  if (query !== location.search.slice(1)) history.pushState(null, "", `?${query}`);
  return load();
}

async function load() {
  fetching?.abort();
  const mine = (fetching = new AbortController());
  const late = setTimeout(() => say("Computing"), 200);
  controls.follow(now);
  find("view").setAttribute("aria-busy", "true");
  try {
    const asked = state.query({ ...now, sort: "cells", order: "up", page: "1" });
    const same = view?.of === asked; // another page or order: the chart stays as it is
    const found = await ask(`/api/view?${state.query(now)}${same ? "&part=table" : ""}`, mine.signal);
    clearTimeout(late);
    const fresh = !same || found.estimate !== view.estimate;
    if (same && fresh) {
      view = null;
      return await load();
    }
    await show({ ...(same ? view : {}), ...found, of: same && asked }, fresh, mine.signal);
    if (!mine.signal.aborted) view.of = asked; // not before its chart is there
  } catch (error) {
    if (!mine.signal.aborted) refuse(error);
  } finally {
    clearTimeout(late);
    if (fetching === mine) find("view").setAttribute("aria-busy", "false");
  }
}

async function show(found, fresh, signal) {
  view = found;
  const names = found.attributes.map((attribute) => attribute.name);
  find("error").hidden = true;
  find("shown").hidden = false;
  find("title").textContent = names.join(" × ");
  document.title = `${names.join(" × ")} · ${release.name}`;
  find("csv").href = `/marginal.csv?${state.marginal(now, found.estimate)}`;
  for (const id of ["down", "csv", "share"]) find(id).hidden = false;
  tell(found.status);
  notes(found);
  controls.values(found);
  table.show(found, now);
  say(counted(found));
  if (fresh) await chart.draw(find("chart"), found.spec, release.themes, signal);
}

function counted(found) {
  const cells = found.cells.toLocaleString("en");
  const all = found.cells === found.all ? "" : ` of ${found.all.toLocaleString("en")}`;
  return `${cells}${all} counts of people${found.table.halves ? ", with 95% intervals in the table" : ""}.`;
}

function notes(found) {
  const lines = [...found.notes];
  if (found.fixed.length) lines.unshift(`Only ${found.fixed.join(", ")}.`);
  find("notes").replaceChildren(
    ...lines.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }),
  );
}

function refuse(error) {
  view = null;
  find("shown").hidden = true;
  for (const id of ["down", "csv", "share"]) find(id).hidden = true;
  find("title").textContent = "Not shown";
  document.title = `Not shown · ${release?.name ?? ""}`;
  find("error").hidden = false;
  find("error").textContent = error.message;
  say("");
}

// While the latent classes are being fitted, the page says so, and asks again once they are there.
function tell(status) {
  const place = find("fitting");
  const waits = view && view.asked !== view.estimate;
  place.hidden = status.fitted && !status.problem;
  const shown = waits ? " Shown as measured until then." : "";
  place.textContent = status.problem
    ? `No latent classes: ${status.problem}${waits ? " Shown as measured instead." : ""}`
    : `Fitting latent classes, ${Math.round(100 * status.share)} %.${shown}`;
  if (status.fitted || status.problem) {
    clearTimeout(watching);
    watching = null;
    if (status.fitted && waits) {
      view = null;
      load();
    }
  } else if (!watching) {
    watching = setTimeout(watch, 1000);
  }
}

async function watch() {
  watching = null;
  try {
    tell(await ask("/api/status"));
  } catch {
    watching = setTimeout(watch, 5000);
  }
}

async function share() {
  const done = "The link to this view was copied.";
  try {
    await navigator.clipboard.writeText(location.href);
    say(done);
  } catch {
    say(`The link to this view: ${location.href}`);
  }
}

// Without a mark in the address, which is for what is looked at.
function toTable(event) {
  event.preventDefault();
  find("frame").focus({ preventScroll: true });
  find("frame").scrollIntoView({ block: "start" });
}

async function begin() {
  chart.prepare();
  try {
    release = await ask("/api/release");
  } catch (error) {
    return refuse(error);
  }
  controls.begin(release, go, () => now);
  table.begin(go, () => now);
  find("share").addEventListener("click", share);
  addEventListener("popstate", restore);
  find("down").addEventListener("click", toTable);
  document.querySelector(".skip").addEventListener("click", toTable);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (view) chart.draw(find("chart"), view.spec, release.themes);
  });
  return restore();
}

function restore() {
  now = state.read();
  if (!now.by.length) now = { ...now, by: release.first, keep: release.first.map(() => "") };
  return load();
}

begin();
