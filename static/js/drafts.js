// Keeps what is typed in the editor in this browser, per person, config and revision, until it is
// saved, and offers it back. Each visit has a draft of its own: two tabs lose nothing to each other.
const MOST = 20;
const OLDEST = 30 * 86400 * 1000;
const form = document.getElementById("editor");
const person = `draft:${document.getElementById("sign-in").dataset.user}:`;
const config = `${person}${form.dataset.config}:`;
const nameOf = () => `${config}${form.elements.base.value}:${crypto.getRandomValues(new Uint32Array(2)).join("")}`;
// Text that was refused is on the page, but nowhere else.
const held = form.querySelector("[role=alert]") ? null : form.elements.text.value;
let own = nameOf();

const all = (beginning) => Object.keys(localStorage)
  .filter((name) => name.startsWith(beginning))
  .map((name) => ({ name, ...JSON.parse(localStorage.getItem(name)) }))
  .sort((one, other) => other.at - one.at);

const touched = () => {
  const names = new Set(form.elements.changed.value.split(" "));
  const controls = [...form.querySelectorAll("[data-edits]:not(#text)")].filter(({ name }) => names.has(name));
  return controls.map(({ name, type, value, checked }) => [name, type === "checkbox" ? checked : value]);
};

const keep = () => {
  const draft = { at: Date.now(), base: form.elements.base.value, text: form.elements.text.value, fields: touched() };
  if (draft.text === held && !draft.fields.length) return localStorage.removeItem(own);
  try {
    return localStorage.setItem(own, JSON.stringify(draft));
  } catch (error) {
    // Storage that is full or switched off: the page still asks before it is left.
    if (!(error instanceof DOMException)) throw error;
  }
};

const type = (control, value) => {
  if (control.type === "checkbox") control.checked = value;
  else control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
};

const takeUp = (draft) => {
  // What was typed since stays a draft by itself.
  own = nameOf();
  localStorage.removeItem(draft.name);
  form.elements.base.value = draft.base;
  type(form.elements.text, draft.text);
  for (const [name, value] of draft.fields) {
    const control = [...form.querySelectorAll("[data-edits]")].find((each) => each.name === name);
    if (control) type(control, value);
  }
  document.getElementById("checks").focus();
};

const shelf = document.getElementById("drafts");
const put = (draft) => {
  const row = shelf.querySelector("template").content.firstElementChild.cloneNode(true);
  const time = row.querySelector("time");
  const from = draft.base === form.elements.base.value || draft.base === "0" ? "" : `, begun from revision ${draft.base}`;
  time.dateTime = new Date(draft.at).toISOString();
  time.title = time.textContent = new Date(draft.at).toLocaleString();
  row.querySelector(".from").textContent = from;
  row.querySelector("[data-take]").addEventListener("click", () => { takeUp(draft); leave(row); });
  row.querySelector("[data-discard]").addEventListener("click", () => { localStorage.removeItem(draft.name); leave(row); });
  shelf.append(row);
};
const leave = (row) => {
  row.remove();
  shelf.hidden = !shelf.querySelector("p");
};

const offer = () => {
  const isHeld = (draft) => draft.text === form.elements.text.value && !draft.fields.length;
  const drafts = all(config);
  for (const { name } of drafts.filter(isHeld)) localStorage.removeItem(name);
  drafts.filter((draft) => !isHeld(draft)).forEach(put);
  shelf.hidden = !shelf.querySelector("p");
};

for (const { name } of all(person).filter(({ at }, index) => index >= MOST || Date.now() - at > OLDEST)) localStorage.removeItem(name);
if (held === null) {
  // It came back from a save that was refused: the draft that was sent is this one.
  localStorage.removeItem(sessionStorage.getItem("sent draft"));
  sessionStorage.removeItem("sent draft");
}
offer();
if (held === null) keep();
form.addEventListener("input", keep);
form.addEventListener("submit", () => { keep(); sessionStorage.setItem("sent draft", own); });
document.addEventListener("htmx:after:swap", ({ detail }) => { if (detail.ctx.target === form) keep(); });
