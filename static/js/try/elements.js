// Makes elements whose text is text: nothing of an answer is ever read as HTML.
export const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

export const button = (words, press) => {
  const made = Object.assign(make("button", "small", words), { type: "button" });
  made.addEventListener("click", press);
  return made;
};

// What was measured, each number with what it was measured over.
export const measured = (rows) => {
  const told = make("dl", "measured");
  for (const [label, value, over] of rows) {
    const pair = make("div");
    pair.append(make("dt", "", label), make("dd", "", value), make("dd", "basis", over));
    told.append(pair);
  }
  return told;
};
