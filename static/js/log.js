// Follows a log by server-sent events: goes on after its last line when a connection broke, asks
// for nothing while the tab is hidden or the log is over, and does without streaming where a proxy
// holds it back. Another filter begins it anew.
const MOST_LINES = 20000;
const SILENCE = 40000;
const PROBLEM = /\b(error|exception|traceback|fatal|killed)\b/i;
const log = document.getElementById("log");
const toError = document.getElementById("to-error");
const toEnd = document.getElementById("to-end");
const filters = document.getElementById("log-filters");
const toFile = document.getElementById("log-file");
const TYPING = 250;
let [source, last, attempt, step] = [null, "", null, ""];
let [follows, isOver, canStream, heard, heardAt, typed] = [true, false, true, false, 0, 0];

log.addEventListener("scroll", () => {
  follows = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  toEnd.hidden = follows;
});
toEnd.addEventListener("click", () => { log.scrollTop = log.scrollHeight; });
toError.addEventListener("click", () => log.querySelector("mark").scrollIntoView({ block: "center" }));

const made = (name, text) => Object.assign(document.createElement(name), { textContent: `${text}\n` });
const asked = () => new URLSearchParams([...(filters ? new FormData(filters) : [])].filter(([, value]) => value)).toString();
const offer = (part) => {
  const choice = filters?.elements.part;
  if (choice && ![...choice.options].some((each) => each.value === part)) choice.add(new Option(part, part));
};
const add = (line) => {
  if (line.step !== step) offer(line.step);
  if (line.step !== step) log.append(made("b", `— ${line.step}`));
  step = line.step;
  const isProblem = line.level === "ERROR" || line.level === "CRITICAL" || PROBLEM.test(line.text);
  log.append(isProblem ? made("mark", line.text) : `${line.text}\n`);
  if (isProblem) toError.hidden = false;
};

const take = (event) => {
  const told = JSON.parse(event.data);
  if (told.attempt !== attempt) { log.replaceChildren(); step = ""; toError.hidden = true; }
  [attempt, last] = [told.attempt, event.lastEventId];
  told.lines.forEach(add);
  while (log.childNodes.length > MOST_LINES) log.firstChild.remove();
  if (follows) log.scrollTop = log.scrollHeight;
};

const close = () => { source?.close(); source = null; };
const open = () => {
  if (source || isOver || document.hidden) return;
  [heard, heardAt] = [false, Date.now()];
  source = new EventSource(`${log.dataset.url}?${asked()}&after=${last}${canStream ? "" : "&once"}`);
  source.addEventListener("lines", take);
  source.addEventListener("end", () => { isOver = true; log.dataset.over = ""; close(); });
  for (const kind of ["lines", "beat", "end"]) source.addEventListener(kind, () => { [heard, heardAt] = [true, Date.now()]; });
};

setInterval(() => {
  if (source && source.readyState !== EventSource.CLOSED && Date.now() - heardAt < SILENCE) return;
  if (source && source.readyState === EventSource.OPEN && !heard) canStream = false;
  close();
  open();
}, 5000);
const begin = () => {
  close();
  log.replaceChildren();
  [last, step, isOver, follows, toError.hidden] = ["", "", false, true, true];
  delete log.dataset.over;
  log.toggleAttribute("data-filtered", asked() !== "");
  toFile.href = `${log.dataset.url}file/?${asked()}`;
  open();
};
filters?.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(begin, TYPING); });
filters?.addEventListener("submit", (event) => { event.preventDefault(); begin(); });
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
// What was over moves again after a retry.
document.addEventListener("htmx:after:swap", () => {
  if (document.querySelector("[data-moving]")) { isOver = false; delete log.dataset.over; open(); }
});
open();
