// One place that is asked: its conversation so far, and how one more question goes.
import { wordsOf } from "./failures.js";
import { follow } from "./follow.js";
import { Measure } from "./measure.js";
import { Turn } from "./turn.js";

export class Side {
  #told = [];

  constructor(place) {
    this.place = place;
    this.list = place.querySelector("ol");
  }

  clear() {
    this.#told = [];
    this.list.replaceChildren();
  }

  body({ system, rest }, question) {
    const messages = system ? [{ role: "system", content: system }] : [];
    messages.push(...this.#told, { role: "user", content: question });
    const model = this.place.querySelector("select")?.value ?? this.place.dataset.model;
    return { model, messages, ...rest, stream: true, stream_options: { include_usage: true } };
  }

  // Returns what is to be read out; `failed` hears of an error with the way to try again.
  async run(body, schema, signal, failed) {
    const { content } = body.messages.at(-1);
    const turn = new Turn(this.list, content, this.place.dataset.title);
    const measure = new Measure();
    turn.note("Waiting for the first token…");
    try {
      await follow({ place: this.place, body, signal, turn, measure });
      turn.note("");
    } catch (error) {
      turn.note("");
      if (!signal.aborted) {
        turn.fail(wordsOf(error), () => failed.again(this, content));
        failed.said(error);
        return wordsOf(error);
      }
      measure.finish = "stopped";
    }
    turn.end(measure.rows(), measure.finish === "stopped" ? null : schema);
    if (turn.text) this.#told.push({ role: "user", content }, { role: "assistant", content: turn.text });
    return `${this.place.dataset.title}: ${turn.text || "no text"}`;
  }
}
