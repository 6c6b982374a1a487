// Keeps relative times and elapsed times true between answers of the server; on hover each says its
// moment in the reader's own zone.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const THIN = "\u2009";

const ago = (seconds) => {
  const amount = Math.abs(seconds);
  if (amount < 5) return "now";
  const [length, unit] = UNITS.find(([size]) => amount >= size);
  const words = `${Math.floor(amount / length)}${THIN}${unit}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
};

const span = (seconds) => {
  const first = UNITS.findIndex(([size]) => seconds >= size);
  if (first < 0) return `0${THIN}s`;
  let rest = Math.floor(seconds);
  const words = [];
  for (const [length, unit] of UNITS.slice(first, first + 2)) {
    if (rest >= length) words.push(`${Math.floor(rest / length)}${THIN}${unit}`);
    rest %= length;
  }
  return words.join(" ");
};

const EXACT = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "long" });
const told = new Map();
const exact = (moment) => {
  if (!told.has(moment)) told.set(moment, EXACT.format(new Date(moment)));
  return told.get(moment);
};

const tick = () => {
  if (document.hidden) return;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    const words = time.classList.contains("elapsed") ? span(Math.max(0, seconds)) : ago(seconds);
    if (time.textContent !== words) time.textContent = words;
    if (time.title !== exact(time.dateTime)) time.title = exact(time.dateTime);
  }
};

setInterval(tick, 1000);
tick();
for (const sign of ["visibilitychange", "times"]) document.addEventListener(sign, tick);
