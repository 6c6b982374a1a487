// One question with its answer on the page: text as it comes, reasoning and tool calls apart.
import { button, grow, make, measured, sentence } from "./elements.js";
import { judge } from "./verdict.js";

export class Turn {
  #box = make("li", "turn");
  #said = make("div", "answer");
  #thought = null;
  #calls = new Map();
  text = "";

  constructor(list, question, name) {
    this.#box.append(make("p", "asked", question), make("h3", "unseen", `Answer of ${name}`), this.#said);
    list.append(this.#box);
    this.#box.scrollIntoView({ block: "nearest" });
  }

  note(words) {
    this.#box.querySelector(".turn-note")?.remove();
    if (words) grow(this.#box, () => this.#box.append(sentence("turn-note note", words)));
  }

  add({ content, reasoning_content: thought, reasoning, tool_calls: calls }) {
    if (content) grow(this.#box, () => this.#said.append(content));
    this.text += content ?? "";
    if (thought ?? reasoning) this.#think(thought ?? reasoning);
    for (const { index, function: called } of calls ?? []) this.#call(index ?? 0, called ?? {});
  }

  #think(words) {
    if (!this.#thought) {
      const box = make("details", "thought");
      this.#thought = make("div");
      box.append(make("summary", "", "Reasoning"), this.#thought);
      this.#said.before(box);
    }
    this.#thought.append(words);
  }

  #call(index, { name, arguments: given }) {
    if (!this.#calls.has(index)) this.#calls.set(index, this.#box.appendChild(make("pre", "call")));
    this.#calls.get(index).append(name ? `Calls ${name} ` : "", given ?? "");
  }

  end(rows, schema) {
    const verdict = schema ? [judge(this.#said, this.text, schema)] : [];
    grow(this.#box, () => this.#box.append(...verdict, measured(rows)));
  }

  fail(words, again) {
    const row = make("div", "failed error");
    row.append(sentence("", words), button("Try again", () => { if (again()) this.#box.remove(); }));
    grow(this.#box, () => this.#box.append(row));
  }
}
