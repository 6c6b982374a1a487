// Follows a log: asks for what came after the last line it has, faster while the build moves.
const log = document.getElementById("log");
const toError = document.getElementById("to-error");
const toEnd = document.getElementById("to-end");
const PROBLEM = /\b(error|exception|traceback|fatal|killed)\b/i;
let after = "";
let step = "";
let follows = true;

const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 24;
log.addEventListener("scroll", () => { follows = atEnd(); toEnd.hidden = follows; });
toEnd.addEventListener("click", () => { log.scrollTop = log.scrollHeight; });
toError.addEventListener("click", () => log.querySelector("mark").scrollIntoView({ block: "center" }));

const add = (line) => {
  if (line.step !== step) {
    step = line.step;
    const name = document.createElement("b");
    name.textContent = `— ${step}\n`;
    log.append(name);
  }
  const isProblem = line.level === "ERROR" || line.level === "CRITICAL" || PROBLEM.test(line.text);
  if (!isProblem) return log.append(`${line.text}\n`);
  const row = document.createElement("mark");
  row.textContent = `${line.text}\n`;
  log.append(row);
  toError.hidden = false;
};

const ask = async () => {
  let wait = document.querySelector("[data-moving]") ? 1000 : 60000;
  if (!document.hidden) {
    try {
      const answer = await fetch(`${log.dataset.url}?after=${after}`, { headers: { Accept: "application/json" } });
      if (answer.ok) {
        const { lines, cursor, has_more: hasMore } = await answer.json();
        lines.forEach(add);
        after = cursor ?? after;
        if (follows && lines.length) log.scrollTop = log.scrollHeight;
        if (hasMore) wait = 0;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      wait = 3000;
    }
  }
  setTimeout(ask, wait);
};

ask();
