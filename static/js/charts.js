// Draws requests and tokens per second, and draws again on new data, another size or theme.
const charts = new Map();
const colour = (name) => {
  const probe = Object.assign(document.createElement("i"), { className: `colour-${name}` });
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
};

const draw = (box, data) => {
  const [text, grid, line] = [colour("text"), colour("grid"), colour("line")];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui" };
  charts.get(box)?.destroy();
  box.replaceChildren();
  charts.set(box, new uPlot({
    width: box.clientWidth,
    height: 184,
    legend: { live: true },
    scales: { x: { range: () => [Date.now() / 1000 - 3600, Date.now() / 1000] }, y: { range: (u, low, high) => [0, Math.max(high * 1.1, 0.1)] } },
    series: [{ label: "Time", value: "{HH}:{mm}" }, { label: "Per second", stroke: line, width: 2, value: (u, v) => (v === null ? "–" : v.toFixed(2)) }],
    axes: [{ ...axis, values: "{HH}:{mm}", incrs: [60, 300, 600, 900, 1800, 3600] }, { ...axis, size: 48 }],
  }, data, box));
};

let [last, loadedAt] = [null, 0];
const drawAll = () => {
  if (!last || last.times.length < 2) return;
  for (const box of document.querySelectorAll("[data-series]")) draw(box, [last.times, last[box.dataset.series]]);
};

const load = async () => {
  const box = document.querySelector("[data-series]");
  if (!box || Date.now() - loadedAt < 20000) return;
  loadedAt = Date.now();
  try {
    const answer = await fetch(box.dataset.url);
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
