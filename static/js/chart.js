// Draws one chart: its lines in one hue, the first whole, a second one dashed; zero is in sight.
const charts = new Map();
const colour = (name) => {
  const probe = Object.assign(document.createElement("i"), { className: `colour-${name}` });
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
};

const WORDS = {
  "": (value) => value.toFixed(2),
  "%": (value) => `${value.toFixed(0)}\u2009%`,
  s: (value) => (value < 1 ? `${(value * 1000).toFixed(0)}\u2009ms` : `${value.toFixed(2)}\u2009s`),
};
const top = (unit, high) => (unit === "%" ? 100 : Math.max(high * 1.1, 0.1));

export const draw = (box, times, lines) => {
  const [text, grid, line] = [colour("text"), colour("grid"), colour("line")];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui" };
  const [labels, unit] = [box.dataset.labels.split(","), box.dataset.unit];
  charts.get(box)?.destroy();
  box.replaceChildren();
  charts.set(box, new uPlot({
    width: box.clientWidth,
    height: 184,
    legend: { live: true },
    scales: { x: { range: () => [Date.now() / 1000 - 3600, Date.now() / 1000] }, y: { range: (u, low, high) => [0, top(unit, high)] } },
    series: [
      { label: "Time", value: "{HH}:{mm}" },
      ...labels.map((label, index) => ({ label, stroke: line, width: 2, dash: index ? [6, 4] : [], value: (u, value) => (value === null ? "–" : WORDS[unit](value)) })),
    ],
    axes: [{ ...axis, values: "{HH}:{mm}", incrs: [60, 300, 600, 900, 1800, 3600] }, { ...axis, size: 56, ...(unit && { values: (u, marks) => marks.map((mark) => `${mark}\u2009${unit}`) }) }],
  }, [times, ...lines], box));
};
