// Reads the fields of the form into a request, and says beside a field what is wrong with it.
import { faultsOfSchema } from "./schema.js";

const FIELD_OF = { max_tokens: "max_tokens", temperature: "temperature", response_format: "schema", tools: "tools", messages: "prompt" };

export const say = (field, words) => {
  const place = document.getElementById(`${field.id}-said`);
  place.textContent = words;
  field.toggleAttribute("aria-invalid", false);
  if (!words) return;
  field.setAttribute("aria-invalid", "true");
  field.closest("details")?.setAttribute("open", "");
};

export const sayOfParam = (form, error) => {
  const field = form.elements[FIELD_OF[(error.param ?? "").split(/[.[]/)[0]]];
  if (field) say(field, error.message);
};

const json = (field, check) => {
  const text = field.value.trim();
  if (!text) return undefined;
  try {
    const value = JSON.parse(text);
    say(field, check(value).join(". "));
    return value;
  } catch (error) {
    say(field, `This is no JSON: ${error.message}.`);
    return undefined;
  }
};
const faultsOfTools = (tools) => (Array.isArray(tools) ? [] : ["tools is no list"]);

const number = (field) => {
  say(field, field.validationMessage);
  return field.value === "" ? undefined : field.valueAsNumber;
};

export const read = (form) => {
  const { schema, tools, system, max_tokens: most, temperature } = form.elements;
  for (const field of [schema, tools]) say(field, "");
  const wanted = json(schema, faultsOfSchema);
  return {
    schema: wanted,
    system: system.value.trim(),
    rest: {
      max_tokens: number(most),
      temperature: number(temperature),
      response_format: wanted && { type: "json_schema", json_schema: { name: "answer", schema: wanted } },
      tools: json(tools, faultsOfTools),
    },
    fault: form.querySelector("[aria-invalid=true]"),
  };
};
