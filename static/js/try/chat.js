// The chat: sends to one place or to two, stops, begins anew, and shows the same request as code.
import { showCode } from "./code.js";
import { read, say, sayOfParam } from "./fields.js";
import { Side } from "./side.js";

const form = document.getElementById("ask");
const [stop, spoken] = [document.getElementById("stop"), document.getElementById("spoken")];
const { prompt } = form.elements;
const sides = [...document.querySelectorAll("[data-call]")].map((place) => new Side(place));
let running = null;
let ended = Promise.resolve();

const show = () => {
  const fields = read(form);
  showCode(sides.map(({ place }) => place), sides.map((side) => side.body(fields, prompt.value.trim())));
};

const busy = (controller) => {
  running = controller;
  stop.hidden = !controller;
  form.querySelector("[type=submit]").disabled = Boolean(controller);
  document.title = document.title.replace(/^● answering · /, "");
  if (controller) document.title = `● answering · ${document.title}`;
};

const failed = {
  said: (error) => sayOfParam(form, error),
  // Says whether it is asked again: a field with a fault keeps the question where it is.
  again: (side, question) => {
    const isAsked = !running && !read(form).fault;
    send(question, [side]);
    return isAsked;
  },
};

const send = async (question, asked) => {
  const fields = read(form);
  if (running || fields.fault) return fields.fault?.focus();
  if (!question) { say(prompt, "Write something to send."); return prompt.focus(); }
  say(prompt, "");
  const controller = new AbortController();
  const bodies = asked.map((side) => side.body(fields, question));
  showCode(asked.map(({ place }) => place), bodies);
  prompt.value = "";
  prompt.focus();
  busy(controller);
  spoken.textContent = "Sent. The answer is read out once it is whole.";
  const words = asked.map((side, index) => side.run(bodies[index], fields.schema, controller.signal, failed));
  ended = Promise.all(words).finally(() => busy(null));
  spoken.textContent = (await ended).join(". ");
};

form.addEventListener("submit", (event) => { event.preventDefault(); send(prompt.value.trim(), sides); });
form.addEventListener("input", show);
prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") running?.abort(); });
stop.addEventListener("click", () => { running?.abort(); prompt.focus(); });
document.getElementById("anew").addEventListener("click", async () => {
  running?.abort();
  await ended;
  for (const side of sides) side.clear();
  show();
  prompt.focus();
});
show();
// Off until now: sent by the form itself, a question would end up in the address.
busy(null);
