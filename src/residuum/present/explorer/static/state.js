// What is looked at, as it stands in the address: a link restores it, and so do back and forward.

const plain = { estimate: "best", chart: "map", sort: "cells", order: "up", page: "1" };

export function read(search = location.search) {
  const entries = new URLSearchParams(search);
  const by = entries.getAll("by");
  const state = { by, keep: by.map((_, k) => entries.get(`keep${k}`) || "") };
  for (const name in plain) state[name] = entries.get(name) || plain[name];
  return state;
}

export function query(state) {
  const entries = new URLSearchParams();
  state.by.forEach((name) => entries.append("by", name));
  state.keep.forEach((codes, k) => codes && entries.append(`keep${k}`, codes));
  for (const name in plain) if (state[name] !== plain[name]) entries.append(name, state[name]);
  return entries.toString();
}

// Of the whole marginal no more is said than which it is.
export function marginal(state, estimate) {
  const entries = new URLSearchParams();
  state.by.forEach((name) => entries.append("by", name));
  entries.append("estimate", estimate);
  return entries.toString();
}
