// Opens dialogs; a destructive one stays shut until the name is typed.
// Each is a popover: one that makes the page beneath inert styles every element of a long page anew
// before anything is to be seen. So the keys and the focus are kept within it here, and the style
// sheet lays a veil over the page that takes the clicks.
const FIELDS = "input:not([type=hidden]), select, textarea, button, summary, a[href]";
const opened = [];

const topmost = () => {
  while (opened.length && !opened.at(-1).dialog.matches(":popover-open")) opened.pop();
  return opened.at(-1)?.dialog;
};
const reached = (dialog) => [...dialog.querySelectorAll(FIELDS)].filter((each) => !each.disabled && each.checkVisibility());
const focusIn = (dialog) => (dialog.querySelector("[autofocus]") ?? reached(dialog)[0])?.focus();

export const openDialog = (dialog) => {
  if (dialog.matches(":popover-open")) return;
  for (const each of document.querySelectorAll(":popover-open:not(dialog)")) each.hidePopover();
  dialog.popover = "manual";
  dialog.ariaModal = "true";
  opened.push({ dialog, opener: document.activeElement });
  dialog.showPopover();
  focusIn(dialog);
};

export const closeDialog = (dialog) => {
  const place = opened.findLastIndex((each) => each.dialog === dialog);
  if (place < 0) return;
  const [{ opener }] = opened.splice(place, 1);
  dialog.hidePopover();
  opener.focus();
  dialog.dispatchEvent(new Event("close"));
};

// From the last field to the first one and back; from the browser's own bars, too.
const keepWithin = (dialog, event) => {
  const all = reached(dialog);
  const [first, last] = event.shiftKey ? [all.at(-1), all[0]] : [all[0], all.at(-1)];
  if (dialog.contains(document.activeElement) && document.activeElement !== last) return;
  event.preventDefault();
  first?.focus();
};

document.addEventListener("keydown", (event) => {
  const dialog = topmost();
  if (!dialog || event.isComposing) return;
  if (event.key === "Tab") keepWithin(dialog, event);
  else if (event.key === "Escape") {
    event.preventDefault();
    closeDialog(dialog);
  }
});
document.addEventListener("focusin", ({ target }) => {
  const dialog = topmost();
  if (dialog && !dialog.contains(target)) focusIn(dialog);
});

document.addEventListener("click", ({ target }) => {
  const opener = target.closest("[data-opens]");
  if (opener) openDialog(document.getElementById(opener.dataset.opens));
  if (target.closest("[data-closes]")) closeDialog(target.closest("dialog"));
});

document.addEventListener("input", (event) => {
  const { confirms } = event.target.dataset;
  if (confirms === undefined) return;
  event.target.form.querySelector("[type=submit]").disabled = event.target.value.trim() !== confirms;
});
