// One question with its answer on the page: text as it comes, reasoning and tool calls apart.
import { button, make, measured } from "./elements.js";
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
  }

  note(words) {
    this.#box.querySelector(".turn-note")?.remove();
    if (words) this.#box.append(make("p", "turn-note note", words));
  }

  add({ content, reasoning_content: thought, reasoning, tool_calls: calls }) {
    if (content) this.#said.append(content);
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
    if (schema) this.#box.append(judge(this.#said, this.text, schema));
    this.#box.append(measured(rows));
  }

  fail(words, again) {
    const row = make("div", "failed error");
    row.append(make("p", "", words), button("Try again", () => { if (again()) this.#box.remove(); }));
    this.#box.append(row);
  }
}
