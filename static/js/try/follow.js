// Follows one answer to its end: each piece onto the page, each moment into the measure.
import { ask } from "./ask.js";

export const follow = async ({ place, body, signal, turn, measure }) => {
  for await (const { starts, waits, chunk } of ask(place.dataset.call, JSON.stringify(body), signal)) {
    if (starts) measure.restart();
    if (waits) turn.note(`${waits} It is asked again until it answers.`);
    measure.usage = chunk?.usage ?? measure.usage;
    const [choice] = chunk?.choices ?? [];
    measure.finish = choice?.finish_reason ?? measure.finish;
    const { role, ...delta } = choice?.delta ?? {};
    if (!Object.values(delta).some((value) => value?.length)) continue;
    measure.piece();
    turn.note("");
    turn.add(delta);
  }
  if (!measure.finish) throw new TypeError("The answer has no end.");
};
