// Draws the page's charts, and draws them again on new data, another range, size or theme; says the
// range's figures, what happened within it, and when it was measured.
import { clear, draw } from "./chart.js";

let [last, loadedAt] = [null, 0];
const starts = new Map();
const boxes = () => document.querySelectorAll("[data-series]");
const pressed = () => document.querySelector("[data-range][aria-pressed=true]")?.dataset.range ?? "";

const made = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text, ...more });

const tell = () => {
  for (const [name, words] of Object.entries(last.headlines)) {
    const place = document.querySelector(`[data-headline=${name}]`);
    if (place) place.textContent = words;
  }
  const time = made("time", "now", { dateTime: last.measured_at });
  document.querySelector("[data-measured]")?.replaceChildren(`${last.window}, updated `, time);
  document.getElementById("events")?.replaceChildren(...last.events.marks.map(({ at, kind, words }) => {
    const item = made("li", "", { className: `event-${kind}` });
    item.append(made("time", "", { dateTime: new Date(at * 1000).toISOString() }), ` ${words}`);
    return item;
  }));
  document.dispatchEvent(new Event("times"));
};

const drawAll = () => {
  if (!last) return;
  for (const box of boxes()) {
    if (!starts.has(box)) starts.set(box, box.firstElementChild);
    const lines = box.dataset.series.split(",").map((name) => last[name]);
    // Without a value the box says when there will be one.
    if (lines.flat().some((value) => value !== null)) {
      draw(box, last, lines);
    } else {
      clear(box);
      box.replaceChildren(starts.get(box));
    }
  }
};

const load = async (isDue) => {
  const box = document.querySelector("[data-series]");
  if (!box || (!isDue && Date.now() - loadedAt < 20000)) return;
  loadedAt = Date.now();
  const range = pressed();
  try {
    const answer = await fetch(`${box.dataset.url}?range=${range}`, { headers: { Accept: "application/json" } });
    if (!answer.ok || range !== pressed()) return;
    last = await answer.json();
    tell();
    drawAll();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-range]");
  if (!button) return;
  for (const each of document.querySelectorAll("[data-range]")) each.setAttribute("aria-pressed", String(each === button));
  load(true);
});

let width = 0;
new ResizeObserver(([entry]) => {
  // Drawing changes the page's height: only another width is a reason to draw again.
  if (Math.abs(entry.contentRect.width - width) < 1) return;
  width = entry.contentRect.width;
  drawAll();
}).observe(document.getElementById("main"));
document.addEventListener("theme", drawAll);
// With what the page itself asks, so that an idle tab stays idle.
document.addEventListener("asked", () => load(false));
load(true);
