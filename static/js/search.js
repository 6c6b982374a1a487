// Ctrl K, or ⌘ K, opens the search over any page; arrows choose, Enter goes there, Escape closes.
// A popover, not a dialog that makes the page beneath inert: that styles each element of a long page
// anew before anything is to be seen. So the field keeps the focus by itself.
const dialog = document.getElementById("search");
const input = dialog.querySelector("input");
const list = dialog.querySelector("ul");
const hits = () => [...list.querySelectorAll("[role=option]")];

const choose = (hit) => {
  for (const each of hits()) each.ariaSelected = each === hit ? "true" : "false";
  if (!hit) return input.removeAttribute("aria-activedescendant");
  input.setAttribute("aria-activedescendant", hit.id);
  return hit.scrollIntoView({ block: "nearest" });
};

const open = () => {
  if (dialog.matches(":popover-open") || document.querySelector("dialog:popover-open")) return;
  // What was found before would be laid out again before the field is to be seen.
  list.replaceChildren();
  dialog.showPopover();
  input.focus();
  input.select();
  // Behind the frame that shows it: to ask takes as long as to show.
  requestAnimationFrame(() => setTimeout(() => htmx.trigger(input, "opened")));
};

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  open();
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-searches]");
  if (!opener) return;
  event.preventDefault();
  open();
});
dialog.addEventListener("mousedown", (event) => { if (event.target !== input) event.preventDefault(); });
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.hidePopover(); });
input.addEventListener("keydown", (event) => {
  const all = hits();
  const at = all.findIndex((each) => each.ariaSelected === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && all.length) {
    event.preventDefault();
    choose(all[(at + step + all.length) % all.length]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    all[Math.max(at, 0)]?.click();
  } else if (event.key === "Escape") {
    // By itself it would empty the field first.
    event.preventDefault();
    dialog.hidePopover();
  } else if (event.key === "Tab") {
    event.preventDefault();
  }
});
new MutationObserver(() => choose(hits()[0])).observe(list, { childList: true });
