// Runs before the first paint, so that the chosen theme never flashes.
const root = document.documentElement;
const show = (theme) => {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.dispatchEvent(new Event("theme"));
};
show(localStorage.getItem("theme"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-switch-theme]")) return;
  const dark = getComputedStyle(root).colorScheme === "dark"
    || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  localStorage.setItem("theme", dark ? "light" : "dark");
  show(localStorage.getItem("theme"));
});
