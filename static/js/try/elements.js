// Makes elements whose text is text: nothing of an answer is ever read as HTML.
export const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

// A sentence with what stands in backticks set as code.
export const sentence = (className, words) => {
  const made = make("p", className);
  made.append(...words.split("`").map((part, index) => (index % 2 ? make("code", "", part) : part)));
  return made;
};

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

// Lets a turn of a list grow, and follows it; whoever has scrolled up reads there undisturbed.
export const grow = (turn, change) => {
  const list = turn.parentElement;
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < 48;
  change();
  if (follows) list.scrollTop = list.scrollHeight;
};
