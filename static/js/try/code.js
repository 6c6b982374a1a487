// Writes the same request as code: what is shown is what is sent.
const IN_PYTHON = { true: "True", false: "False", null: "None" };
const WRITE = {
  curl: (body) => JSON.stringify(body).replaceAll("'", "'\\''"),
  python: (body) => JSON.stringify(body, null, 4)
    .replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => IN_PYTHON[part] ?? part),
  javascript: (body) => JSON.stringify(body, null, 2).replaceAll("\n", "\n  "),
};

const codeOf = (place, language, body) => place.dataset[language].replace(place.dataset.mark, () => WRITE[language](body));

// With two places, the code asks one after the other.
export const showCode = (places, bodies) => {
  for (const language of Object.keys(WRITE)) {
    const code = places.map((place, index) => codeOf(place, language, bodies[index]));
    document.getElementById(`snippet-${language}`).textContent = code.join("\n\n");
  }
};
