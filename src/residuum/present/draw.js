"use strict";
(() => {
  const { plots, themes, actions } = JSON.parse(document.getElementById("stated").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  const options = {
    ast: true, // no code is made from text, so the page needs no right to do so
    renderer: "svg",
    logLevel: 1, // errors: a plot as wide as the page and as high as its rows is meant to be so
    actions: actions && { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
  };

  const fitted = (plot, place) => {
    const spec = { ...plot };
    if (themes) spec.config = themes[dark.matches ? "dark" : "light"];
    if (spec.facet && place.clientWidth < 620) spec.columns = 1;
    return spec;
  };

  const hidden = (place) => place.closest("details:not([open])") !== null;

  const draw = async (name) => {
    const place = document.getElementById(name);
    if (!place || hidden(place)) return;
    drawn.get(name)?.finalize();
    try {
      drawn.set(name, await vegaEmbed(place, fitted(plots[name], place), {
        ...options,
        tooltip: { theme: themes && dark.matches ? "dark" : "light" },
      }));
    } catch (error) {
      place.textContent = "This plot could not be drawn.";
      console.error(error);
    }
  };

  const drawAll = async () => {
    for (const name of Object.keys(plots)) {
      await draw(name);
      await new Promise((resolve) => setTimeout(resolve)); // the page stays alive in between
    }
    document.documentElement.dataset.drawn = "true";
  };

  drawAll();
  if (themes) dark.addEventListener("change", drawAll);
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => {
      for (const place of details.querySelectorAll(".plot")) if (!drawn.has(place.id)) draw(place.id);
    });
  }
})();
