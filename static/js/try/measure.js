// Measures one answer in this browser, and says of each number over what it was measured.
import { duration, number, rate } from "../numbers.js";

const seconds = (value) => duration(value / 1000);
const ENDS = {
  stop: "stop",
  length: "length (max tokens)",
  tool_calls: "tool call",
  content_filter: "content filter",
};

export class Measure {
  #start = performance.now();
  #first = null;
  #last = null;
  usage = null;
  finish = null;

  // What was waited for while the model woke up is no part of its speed.
  restart() {
    this.#start = performance.now();
  }

  piece() {
    this.#last = performance.now();
    this.#first ??= this.#last;
  }

  whole() {
    return seconds(performance.now() - this.#start);
  }

  rows() {
    const rows = [];
    if (this.#first !== null) rows.push(["First token", seconds(this.#first - this.#start), "this browser, from Send"]);
    const { prompt_tokens: read, completion_tokens: written } = this.usage ?? {};
    const span = this.#last - this.#first;
    if (written > 1 && span > 0) {
      rows.push(["Speed", `${rate((written - 1) * 1000 / span)} tokens/s`, `${number(written - 1)} tokens after the first, over ${seconds(span)}`]);
    }
    rows.push(this.usage
      ? ["Tokens", `${number(read)} in, ${number(written)} out`, "counted by the engine"]
      : ["Tokens", "not known", "the count comes with an answer's end"]);
    if (this.finish) rows.push(["Finish reason", ENDS[this.finish] ?? this.finish, this.finish === "stopped" ? "the engine was told at once" : `finish reason ${this.finish}`]);
    return rows;
  }
}
