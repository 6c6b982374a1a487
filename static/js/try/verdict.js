// Says whether an answer is the JSON that the schema asks for, and shows it with its lines apart.
import { make } from "./elements.js";
import { faultsOfValue } from "./schema.js";

export const judge = (said, text, schema) => {
  try {
    const value = JSON.parse(text);
    said.replaceChildren(make("pre", "json", JSON.stringify(value, null, 2)));
    const faults = faultsOfValue(value, schema);
    if (!faults.length) return make("p", "verdict ok", "As the schema says.");
    return make("p", "verdict error", `Not as the schema says: ${faults.join("; ")}.`);
  } catch (error) {
    return make("p", "verdict error", `This is no whole JSON: ${error.message}.`);
  }
};
