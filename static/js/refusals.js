// A form that was refused comes back as it was sent: what was typed, the words beside the field that
// is wrong, and the focus on it. What was typed is kept for that one answer, in this tab alone;
// passwords and files are not.
import { openDialog } from "./dialogs.js";

const KEY = "sent form";
const NEVER = ["password", "file", "hidden", "submit", "button"];
const fieldsOf = (form) => [...form.elements].filter((each) => each.name && !NEVER.includes(each.type));
const pathOf = (form) => new URL(form.getAttribute("action") || location.href, location.href).pathname;
const isPicked = (field) => ["checkbox", "radio"].includes(field.type);

const keep = (form) => {
  const values = fieldsOf(form).map((each) => [each.name, isPicked(each) ? each.checked : each.value]);
  sessionStorage.setItem(KEY, JSON.stringify({ path: pathOf(form), values }));
};

const taken = () => {
  const kept = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  return kept ? JSON.parse(kept) : null;
};

// Of several forms that go to one address, the one that has these fields.
const formOf = ({ path, values }) => [...document.forms].find((form) => {
  const names = fieldsOf(form).map((each) => each.name);
  return form.method === "post" && pathOf(form) === path && values.length === names.length
    && values.every(([name], place) => name === names[place]);
});

const restore = (form, values) => fieldsOf(form).forEach((field, place) => {
  const [, value] = values[place];
  if (isPicked(field)) field.checked = value;
  else field.value = value;
});

const uncover = (field) => {
  for (let each = field.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  const dialog = field.closest("dialog");
  if (dialog) openDialog(dialog);
};

const mark = (field, words) => {
  const said = Object.assign(document.createElement("p"), { className: "errorlist", id: "refused-field", textContent: words });
  (field.closest("label") ?? field).after(said);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", said.id);
};

// A dialog covers what the page says on top.
const sayInDialog = (form, words) => {
  const said = Object.assign(document.createElement("p"), { className: "said-once error", role: "alert", textContent: words });
  form.querySelector("h2")?.after(said);
};

const show = (notice) => {
  const kept = taken();
  const form = kept?.path === notice.dataset.refused ? formOf(kept) : null;
  if (!form) return;
  restore(form, kept.values);
  const wrong = notice.dataset.fields.split(" ").map((name) => form.elements[name]).find((each) => each?.focus && each.type !== "hidden");
  const field = wrong ?? fieldsOf(form)[0];
  if (!field) return;
  uncover(field);
  const words = notice.textContent.trim();
  if (wrong) mark(wrong, words);
  else if (form.closest("dialog")) sayInDialog(form, words);
  field.focus();
};

document.addEventListener("submit", ({ target: form, defaultPrevented }) => {
  if (!defaultPrevented && form.method === "post" && !form.closest("#sign-in, #editor")) keep(form);
});

// A browser cannot point at a field in a closed part, and would send nothing without a word.
document.addEventListener("invalid", ({ target }) => uncover(target), true);

const notice = document.querySelector("[data-refused]");
if (notice) show(notice);
else {
  taken();
  // A page that answers with its form marks what is wrong by itself.
  const wrong = document.querySelector("main [aria-invalid=true]");
  if (wrong && !wrong.closest("#editor")) {
    uncover(wrong);
    wrong.focus();
  }
}
