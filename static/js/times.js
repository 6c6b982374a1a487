// Keeps relative times and elapsed times true between answers of the server; on hover each says its
// moment in the reader's own zone.
import { ago, duration } from "./numbers.js";

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
    const words = time.classList.contains("elapsed") ? duration(Math.max(0, seconds)) : ago(seconds);
    if (time.textContent !== words) time.textContent = words;
    if (time.title !== exact(time.dateTime)) time.title = exact(time.dateTime);
  }
};

setInterval(tick, 1000);
tick();
for (const sign of ["visibilitychange", "times"]) document.addEventListener(sign, tick);
