// Draws the page's charts, and draws them again on new data, another size or theme.
import { draw } from "./chart.js";

let [last, loadedAt] = [null, 0];
const drawAll = () => {
  if (!last || last.times.length < 2) return;
  for (const box of document.querySelectorAll("[data-series]")) {
    const lines = box.dataset.series.split(",").map((name) => last[name]);
    // Without a value the box goes on saying when there will be one.
    if (lines.flat().some((value) => value !== null)) draw(box, last.times, lines);
  }
};

const load = async () => {
  const box = document.querySelector("[data-series]");
  if (!box || Date.now() - loadedAt < 20000) return;
  loadedAt = Date.now();
  try {
    const answer = await fetch(box.dataset.url, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    last = await answer.json();
    drawAll();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
};

let width = 0;
new ResizeObserver(([entry]) => {
  // Drawing changes the page's height: only another width is a reason to draw again.
  if (Math.abs(entry.contentRect.width - width) < 1) return;
  width = entry.contentRect.width;
  drawAll();
}).observe(document.getElementById("main"));
document.addEventListener("theme", drawAll);
// With what the page itself asks, so that an idle tab stays idle.
document.addEventListener("asked", load);
load();
