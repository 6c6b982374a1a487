// Shows what models without text answer: how alike texts are, how they rank, which labels they get.
import { make } from "./elements.js";

const table = (head, rows) => {
  const made = make("table");
  const line = (cells, tag) => {
    const row = make("tr");
    row.append(...cells.map((cell) => make(tag, typeof cell === "number" || /^−?[\d.]+$/.test(cell) ? "num" : "", String(cell))));
    return row;
  };
  const [top, body] = [make("thead"), make("tbody")];
  top.append(line(head, "th"));
  body.append(...rows.map((row) => line(row, "td")));
  made.append(top, body);
  // Wide ones scroll by themselves, by keyboard too.
  const box = Object.assign(make("div", "scrolls"), { tabIndex: 0, role: "region", ariaLabel: "Answer as a table" });
  box.append(made);
  return box;
};
const short = (value) => value.toFixed(3).replace("-", "−");
const dot = (one, other) => one.reduce((sum, value, index) => sum + value * other[index], 0);
const alike = (one, other) => dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));

const SHOW = {
  embed: ({ data, usage }, texts) => {
    const vectors = data.map((each) => each.embedding);
    const rows = vectors.map((vector, index) => [`${index + 1}. ${texts[index]}`, ...vectors.map((other) => short(alike(vector, other)))]);
    const tokens = usage ? `, ${usage.prompt_tokens} tokens by the engine's count` : "";
    return [
      make("p", "", `${vectors.length} vectors of ${vectors[0].length} numbers${tokens}. How alike they are, as cosine:`),
      table(["Text", ...vectors.map((_, index) => `${index + 1}.`)], rows),
    ];
  },
  rerank: (ranks, texts) => [table(
    ["Rank", "Text", "Score"],
    [...ranks].sort((one, other) => other.score - one.score)
      .map(({ index, score }, rank) => [rank + 1, texts[index], short(score)]),
  )],
  classify: (answers, texts) => [table(
    ["Text", "Label", "Score"],
    answers.flatMap((labels, index) => [...labels].sort((one, other) => other.score - one.score)
      .map(({ label, score }, place) => [place ? "" : texts[index], label, short(score)])),
  )],
  label: (answers) => [make("pre", "json", JSON.stringify(answers, null, 2))],
};

export const show = (form, body, texts) => {
  const raw = make("details", "raw");
  raw.append(make("summary", "", "The whole answer"), make("pre", "json", JSON.stringify(body, null, 1).slice(0, 20000)));
  try {
    return [...SHOW[form](body, texts), raw];
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return [make("p", "", "This answer has another shape than this page knows."), raw];
  }
};
