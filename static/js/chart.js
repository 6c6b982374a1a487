// Draws one chart: its lines in one hue, the first whole, others dashed; zero is in sight, what was
// not measured is a gap, a point between two gaps is a dot, and what happened is an upright line.
import { duration, percent, rate } from "./numbers.js";

const charts = new Map();
const colour = (name) => {
  const probe = Object.assign(document.createElement("i"), { className: `colour-${name}` });
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
};

const WORDS = {
  "": rate,
  "%": (value) => percent(value / 100),
  s: duration,
};
const DASHES = [[], [6, 4], [2, 3]];
const BORDERS = ["solid", "dashed", "dotted"];
const DAY = 86400;
const top = (unit, high) => (unit === "%" ? 100 : Math.max(high * 1.1, unit === "s" ? 0.001 : 0.1));

// Which of a line's points have no neighbour, and would not be seen as a line.
const alone = (values) => [...values.keys()].filter((at) => (values[at] ?? null) !== null
  && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null);

const mark = (u, marks, colours) => {
  const { left, top: above, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { at, kind } of marks) {
    const x = Math.round(u.valToPos(at, "x", true));
    if (x < left || x > left + width) continue;
    u.ctx.strokeStyle = colours[kind];
    u.ctx.beginPath();
    u.ctx.moveTo(x, above);
    u.ctx.lineTo(x, above + height);
    u.ctx.stroke();
  }
  u.ctx.restore();
};

// Where no pointer is, the legend has the latest value of each line.
const latest = (u) => {
  const at = u.data[0].findLastIndex((_, place) => u.data.slice(1).some((values) => (values[place] ?? null) !== null));
  if (u.legend.idx === null && at >= 0) u.setLegend({ idx: at }, false);
};

// What a screen reader says of a line: its latest and highest value, and how much is missing.
const spoken = (label, values, unit) => {
  const known = values.filter((value) => value !== null);
  if (!known.length) return `${label}: not measured`;
  const gaps = values.length - known.length;
  const missing = gaps ? `, ${gaps} of ${values.length} points without a value` : "";
  return `${label}: latest ${WORDS[unit](known.at(-1))}, highest ${WORDS[unit](Math.max(...known))}${missing}`;
};

// Lets go of what was drawn, so that the box can say that there is nothing.
export const clear = (box) => {
  charts.get(box)?.destroy();
  charts.delete(box);
  for (const name of ["role", "aria-label"]) box.removeAttribute(name);
};

export const draw = (box, data, lines) => {
  const [text, grid, line] = [colour("text"), colour("grid"), colour("line")];
  const colours = { made: colour("text"), moved: colour("moved"), lost: colour("lost") };
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui" };
  const [labels, unit] = [box.dataset.labels.split(","), box.dataset.unit];
  const clock = data.end - data.start > DAY * 1.5 ? "{MMM} {D} {HH}:{mm}" : "{HH}:{mm}";
  const days = data.end - data.start > DAY * 1.5 ? { values: "{MMM} {D}", incrs: [DAY, 2 * DAY, 7 * DAY] } : { values: "{HH}:{mm}", incrs: [60, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600] };
  clear(box);
  box.replaceChildren();
  charts.set(box, new uPlot({
    width: box.clientWidth,
    height: 184,
    legend: { live: true, markers: { dash: (u, place) => BORDERS[place - 1] } },
    hooks: { draw: [(u) => mark(u, data.events?.marks ?? [], colours)], setLegend: [latest], ready: [latest] },
    scales: { x: { range: () => [data.start, data.end] }, y: { range: (u, low, high) => [0, top(unit, high)] } },
    series: [
      { label: "Time", value: clock },
      ...labels.map((label, index) => ({ label, stroke: line, width: 2, dash: DASHES[index], points: { size: 5, fill: line, filter: () => alone(lines[index]), show: alone(lines[index]).length > 0 }, value: (u, value) => (value === null ? "–" : WORDS[unit](value)) })),
    ],
    axes: [{ ...axis, ...days }, { ...axis, size: 64, ...(unit && { values: (u, marks) => marks.map((mark) => WORDS[unit](mark)) }) }],
  }, [data.times, ...lines], box));
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${box.dataset.title}, ${data.window}. ${labels.map((label, index) => spoken(label, lines[index], unit)).join(". ")}.`);
};
