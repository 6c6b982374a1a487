// Form and YAML of one config: remembers what was touched, and takes over what the server made of it.
const form = document.getElementById("editor");
const changed = new Set();
const controls = () => form.querySelectorAll("[data-edits]");
const told = (control) => control.dataset.value ?? control.defaultValue;
const countLines = () => {
  const rows = form.elements.text.value.split("\n");
  document.getElementById("lines").textContent = rows.map((_, index) => index + 1).join("\n");
};

form.addEventListener("input", (event) => {
  if (!event.target.matches("[data-edits]")) return;
  changed.add(event.target.name);
  form.elements.changed.value = [...changed].join(" ");
  if (event.target.name === "text") countLines();
  // An answer to older text must not overwrite what is being typed now.
  for (const asking of [form, ...form.querySelectorAll("[hx-post]")]) htmx.trigger(asking, "htmx:abort");
});

// What was typed before this script came has been heard by nobody.
window.addEventListener("load", () => {
  for (const control of controls()) {
    const isTyped = control.value !== told(control) || control.checked !== control.defaultChecked;
    if (isTyped) control.dispatchEvent(new Event("input", { bubbles: true }));
  }
});

document.addEventListener("htmx:after:swap", (event) => {
  // It opens above the form, where whoever pressed the button does not look.
  if (event.target.id === "show-fit") document.getElementById("fit-title").focus();
  // The forecast and the fit matrix are parts that arrive by themselves and answer to no edit.
  if (event.detail.ctx.target !== form) return;
  changed.clear();
  form.elements.changed.value = "";
  for (const control of controls()) {
    const isTyping = control === document.activeElement && control.tagName !== "SELECT";
    if (!isTyping && control.value !== told(control)) control.value = told(control);
  }
  countLines();
  // The button of a fix is gone once it worked: the keyboard goes on at the checks.
  if (document.activeElement === document.body) document.getElementById("checks").focus();
});

form.addEventListener("click", (event) => {
  const { line } = event.target.dataset;
  if (!line) return;
  const { text } = form.elements;
  form.querySelector("#view-yaml").checked = true;
  const rows = text.value.split("\n");
  const start = rows.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (rows[line - 1] ?? "").length);
  text.closest(".yaml").scrollTop = (line - 4) * 20;
});
