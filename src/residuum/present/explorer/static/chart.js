// The chart, drawn by Vega without evaluating any code: the policy of the page forbids that.

const FEW = 400; // more marks than this are painted and not built one by one, which is quicker
const NARROW = 560;
const FIT = { type: "fit-x", contains: "padding" }; // a chart with its labels is as wide as it is told to be

let library = null;
let drawn = null;

export function prepare() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/vega.js";
    script.onload = resolve;
    script.onerror = () => reject(new Error("The library that draws charts could not be loaded."));
    document.head.append(script);
  });
  library.catch(() => {});
  return library;
}

export async function draw(place, spec, themes, signal) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  try {
    await prepare();
  } catch (error) {
    place.textContent = error.message;
    return;
  }
  if (signal?.aborted) return;
  const inside = document.createElement("div");
  let result;
  try {
    result = await window.vegaEmbed(inside, fitted(spec, themes[dark ? "dark" : "light"], place.clientWidth), {
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: spec.data.values.length > FEW ? "canvas" : "svg",
      tooltip: tip,
      patch: (plot) => (typeof spec.width === "number" ? { ...plot, autosize: FIT } : plot),
    });
  } catch (error) {
    console.error(error);
    place.textContent = "The chart could not be drawn. The table has the same numbers.";
    return;
  }
  if (signal?.aborted) return result.finalize();
  place.replaceChildren(inside);
  drawn?.finalize();
  drawn = result;
  place.dataset.drawn = Number(place.dataset.drawn ?? 0) + 1;
}

// The same for the room there is: bars as wide as that, panels as many beside each other as fit.
function fitted(spec, theme, room) {
  const narrow = room < NARROW;
  const config = narrow ? { ...theme, legend: { ...theme.legend, orient: "bottom", columns: 3 } } : theme;
  if (!spec.facet) return { ...(narrow ? slim(spec, room) : spec), ...wide(spec, room), config };
  const panel = narrow ? slim(spec.spec, room) : spec.spec;
  const panels = spec.facet.sort.length;
  const fit = Math.floor((room - (narrow ? 60 : 160)) / (across(panel) + 18));
  const columns = Math.max(1, Math.min(panels, fit));
  const axis = panels % columns ? { x: "independent" } : {};
  return { ...spec, spec: panel, columns, resolve: { ...spec.resolve, axis }, config };
}

function across(plot) {
  return plot.width.step ? plot.width.step * plot.encoding.x.scale.domain.length : plot.width;
}

function wide(plot, room) {
  return typeof plot.width === "number" ? { width: Math.min(room, 720) } : {};
}

// On a phone there is no room for numbers in the chart, which are in the table.
function slim(plot, room) {
  const within = room - 110;
  const layer = plot.layer.filter((each) => each.mark.type !== "text");
  if (!plot.width.step) return { ...plot, layer, width: Math.min(plot.width, within) };
  if (across(plot) <= within) return plot;
  const step = Math.max(10, within / plot.encoding.x.scale.domain.length);
  return { ...plot, layer, width: { step: Math.min(step, plot.width.step) } };
}

// What is said beside the pointer, as text and never as HTML.
function tip(_, event, item, value) {
  const place = document.getElementById("tip");
  place.hidden = value == null || value === "";
  if (place.hidden) return;
  const lines = typeof value === "object" ? Object.entries(value).map(([name, text]) => `${name}: ${text}`) : [`${value}`];
  place.textContent = lines.join("\n");
  const { clientX: x, clientY: y } = event;
  const { innerWidth: width, innerHeight: height } = window;
  place.style.left = `${Math.max(4, Math.min(x + 14, width - place.offsetWidth - 4))}px`;
  place.style.top = `${y + 20 + place.offsetHeight > height ? y - place.offsetHeight - 10 : y + 18}px`;
}
