// Asks before the editor is left with text that no revision holds, and goes on at Save once it is held.
const form = document.getElementById("editor");
// Text that was refused is kept on the page, but nowhere else.
const kept = form.querySelector("[role=alert]") ? null : form.elements.text.value;
let isSending = false;

form.addEventListener("submit", () => {
  isSending = true;
});
window.addEventListener("pageshow", () => {
  isSending = false;
});
window.addEventListener("beforeunload", (event) => {
  const isUnsaved = form.elements.changed.value !== "" || form.elements.text.value !== kept;
  if (isUnsaved && !isSending) event.preventDefault();
});
if (document.querySelector(".said-once.saved")) document.getElementById("save").focus();
