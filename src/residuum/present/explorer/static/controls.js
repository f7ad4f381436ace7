// The form beside the view: attributes, their values, the estimate and the kind of chart.

const find = (id) => document.getElementById(id);
const places = ["First", "Second", "Third"];
let go, now;

function made(kind, text = "", entries = {}) {
  const element = document.createElement(kind);
  element.textContent = text;
  return Object.assign(element, entries);
}

export function begin(release, goes, state) {
  [go, now] = [goes, state];
  places.forEach((place, k) => {
    const choice = made("select", "", { id: `by${k}` });
    if (k) choice.append(made("option", "none", { value: "" }));
    for (const { name, text, size } of release.attributes)
      choice.append(made("option", `${text} (${size.toLocaleString("en")})`, { value: name }));
    choice.addEventListener("change", () => choose(k, choice.value));
    const label = made("label", "", { htmlFor: choice.id });
    label.append(made("span", place), choice);
    find("attributes").append(label);
  });
  find("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["estimate", "chart"])
    for (const input of document.querySelectorAll(`input[name=${name}]`))
      input.addEventListener("change", () => go({ [name]: input.value, page: now().page }));
}

// Another attribute in a place: the others keep their values, and the one that was there is gone.
function choose(place, name) {
  const by = [...now().by];
  const keep = [...now().keep];
  if (name) [by[place], keep[place]] = [name, ""];
  else [by, keep].forEach((list) => list.splice(place, 1));
  const { sort } = now();
  go({ by, keep, ...(sort.length === 1 ? { sort: "cells", order: "up" } : {}) });
}

// What is chosen. An attribute that is in another place cannot be chosen twice.
export function follow(state) {
  places.forEach((_, k) => {
    const choice = find(`by${k}`);
    for (const option of choice.options)
      option.disabled = option.value !== "" && state.by.includes(option.value) && state.by[k] !== option.value;
    choice.value = state.by[k] ?? "";
    choice.disabled = k > state.by.length;
  });
  for (const name of ["estimate", "chart"])
    for (const input of document.querySelectorAll(`input[name=${name}]`)) input.checked = input.value === state[name];
  find("charts").hidden = state.by.length < 2;
}

// A list of values to tick for each attribute. One that is open stays open, and where it is scrolled to.
export function values(view) {
  const place = find("values");
  place.hidden = false;
  const lists = view.attributes.map((attribute, k) => {
    const id = JSON.stringify([attribute.name, attribute.size]);
    const old = [...place.querySelectorAll("details")].find((list) => list.dataset.of === id);
    const list = old ?? listed(id);
    list.dataset.place = k;
    mark(list, attribute);
    return list;
  });
  const kept = new Set(lists);
  place.querySelectorAll("details").forEach((list) => kept.has(list) || list.remove());
  lists.forEach((list, k) => place.querySelectorAll("details")[k] === list || place.append(list));
}

function listed(id) {
  const list = made("details");
  list.dataset.of = id;
  list.append(made("summary"));
  list.addEventListener("toggle", () => list.open && fill(list));
  return list;
}

function mark(list, attribute) {
  list.attribute = attribute;
  const { labels, kept } = attribute;
  const [all, some] = [attribute.size, kept?.length].map((count) => count?.toLocaleString("en"));
  const what = !kept ? `all ${all}` : kept.length === 1 && labels ? labels[kept[0]] : `${some} of ${all}`;
  list.querySelector("summary").replaceChildren(made("span", attribute.name), made("span", what, { className: "quiet" }));
  if (list.open) fill(list);
}

// The boxes of a list are made when it is first opened: there may be thousands.
function fill(list) {
  const { labels, kept } = list.attribute;
  if (!labels) {
    if (!list.querySelector("p")) list.append(made("p", "Too many values to list here. The table has them all.", { className: "quiet" }));
    return;
  }
  if (!list.querySelector(".boxes")) list.append(...boxes(list, labels));
  const chosen = new Set(kept ?? labels.keys());
  list.querySelectorAll(".boxes input").forEach((box, code) => (box.checked = chosen.has(code)));
}

function boxes(list, labels) {
  const one = made("select", "", { ariaLabel: `Only one value of ${list.attribute.name}` });
  one.append(made("option", "only one…", { value: "" }));
  const group = made("div", "", { className: "boxes" });
  labels.forEach((text, code) => {
    const label = made("label");
    label.append(made("input", "", { type: "checkbox", value: code }), made("span", text));
    group.append(label);
    one.append(made("option", text, { value: code }));
  });
  const all = made("button", "All", { type: "button", ariaLabel: `All values of ${list.attribute.name}` });
  all.addEventListener("click", () => keep(list, ""));
  one.addEventListener("change", () => {
    if (one.value) keep(list, one.value);
    one.value = "";
  });
  group.addEventListener("change", (event) => tick(list, event.target));
  const quick = made("div", "", { className: "quick" });
  quick.append(all, one);
  return [quick, group];
}

function tick(list, box) {
  const codes = [...list.querySelectorAll(".boxes input")].filter((each) => each.checked).map((each) => each.value);
  if (!codes.length) {
    box.checked = true; // nothing at all is nothing to look at
    return;
  }
  keep(list, codes.length === list.attribute.size ? "" : codes.join("."));
}

function keep(list, codes) {
  const all = [...now().keep];
  all[Number(list.dataset.place)] = codes;
  go({ keep: all });
}
