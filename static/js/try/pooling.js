// Asks a model that makes no text: vectors, ranks, labels; each with its own small form.
import { ask } from "./ask.js";
import { showCode } from "./code.js";
import { button, make, measured, sentence } from "./elements.js";
import { wordsOf } from "./failures.js";
import { Measure } from "./measure.js";
import { say } from "./fields.js";
import { show as showAnswer } from "./answers.js";

const form = document.getElementById("ask");
const spoken = document.getElementById("spoken");
const places = [...document.querySelectorAll("[data-call]")];
const { query, texts } = form.elements;
const lines = () => texts.value.split("\n").map((line) => line.trim()).filter(Boolean);
const BODIES = {
  embed: () => ({ input: lines() }),
  rerank: () => ({ query: query.value.trim(), texts: lines() }),
  classify: () => ({ inputs: lines().map((line) => [line]) }),
  label: () => ({ inputs: lines().map((line) => [line]), aggregation_strategy: "simple" }),
};
const bodyOf = (place) => ({ model: place.dataset.model, ...BODIES[form.dataset.form]() });
const show = () => showCode(places, places.map(bodyOf));

const run = async (place) => {
  const box = place.querySelector("[data-answer]");
  const measure = new Measure();
  box.replaceChildren(make("p", "note", "Waiting for the answer…"));
  try {
    for await (const { starts, waits, body } of ask(place.dataset.call, JSON.stringify(bodyOf(place)), new AbortController().signal)) {
      if (starts) measure.restart();
      if (waits) box.replaceChildren(sentence("note", `${waits} It is asked again until it answers.`));
      if (!body) continue;
      const took = measured([["Answered in", measure.whole(), "this browser, from Send to the whole answer"]]);
      box.replaceChildren(...showAnswer(form.dataset.form, body, lines()), took);
    }
    return `${place.dataset.title} has answered`;
  } catch (error) {
    const row = make("div", "failed error");
    row.append(sentence("", wordsOf(error)), button("Try again", () => run(place)));
    box.replaceChildren(row);
    return wordsOf(error);
  }
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  for (const field of [query, texts]) if (field) say(field, field.value.trim() ? "" : "Write something to send.");
  const fault = form.querySelector("[aria-invalid=true]");
  if (fault) return fault.focus();
  show();
  spoken.textContent = (await Promise.all(places.map(run))).join(". ");
});
form.addEventListener("input", show);
texts.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
});
show();
// Off until now: sent by the form itself, the texts would end up in the address.
form.querySelector("[type=submit]").disabled = false;
