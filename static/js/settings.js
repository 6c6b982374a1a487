// Finds a setting of the form by its words: / goes to the search, Escape ends it. Sections that the
// person had closed are closed again, and what a finding marks is never in a closed one.
const form = document.getElementById("editor");
const search = () => document.getElementById("find-setting");
const opened = new Set();

const words = () => (search()?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
const textOf = (field) => `${field.dataset.setting} ${field.textContent}`.toLowerCase().replaceAll("_", " ");

const reveal = (element) => {
  for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) {
    if (!part.open) opened.add(part.id);
    part.open = true;
  }
};

const filter = () => {
  const asked = words().map((word) => word.replaceAll("_", " "));
  let found = 0;
  for (const field of form.querySelectorAll("[data-setting]")) {
    const text = asked.length ? textOf(field) : "";
    field.hidden = !asked.every((word) => text.includes(word));
    if (asked.length && !field.hidden) { found += 1; reveal(field); }
  }
  for (const part of form.querySelectorAll(".group, .more")) {
    part.hidden = asked.length > 0 && !part.querySelector("[data-setting]:not([hidden])");
  }
  document.getElementById("found-none")?.toggleAttribute("hidden", !asked.length || found > 0);
  if (asked.length) return;
  for (const id of opened) document.getElementById(id).open = false;
  opened.clear();
};

form.addEventListener("input", (event) => {
  if (event.target !== search()) return;
  // It is no edit: nothing is asked of the server for it.
  event.stopImmediatePropagation();
  filter();
}, true);
form.addEventListener("keydown", (event) => {
  if (event.target !== search()) return;
  if (event.key === "Enter") {
    event.preventDefault();
    form.querySelector("[data-setting]:not([hidden]) :is(input, select)")?.focus();
  } else if (event.key === "Escape") {
    event.preventDefault();
    search().value = "";
    filter();
  }
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, select") || document.querySelector("dialog[open]");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey || !search()?.checkVisibility()) return;
  event.preventDefault();
  search().focus();
});
document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx.target !== form) return;
  for (const wrong of form.querySelectorAll("[data-setting] [aria-invalid]")) reveal(wrong);
  if (words().length) filter();
});
