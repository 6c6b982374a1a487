// Asks again: every 3 s while something moves or somebody looks, else every 60 s, never when hidden;
// after a lost connection sooner at first, then ever more seldom. What watches for incidents asks
// every 3 s on a screen that nobody touches, and every 60 s when hidden: the tab's title and icon
// tell of them. Pages without a part that asks are loaded anew once they are old, unless something
// was typed.
const FAST = 3000;
const SLOW = 60000;
const ATTENTION = 60000;
const AGAIN = 5000;
const OLD = 600000;
const loadedAt = Date.now();
let [lookedAt, askedAt, watchedAt, losses, isTyped] = [loadedAt, loadedAt, loadedAt, 0, false];

const parts = () => document.querySelectorAll("[data-live]");
const isMoving = () => document.querySelector("[data-live] [data-moving], [data-live][data-moving]") !== null;
const isOld = () => Date.now() - loadedAt > OLD && !isTyped && document.querySelector("[data-refreshes]")
  && !document.querySelector(":is(dialog, #search):popover-open");

const pace = () => {
  if (losses) return Math.min(AGAIN * 2 ** (losses - 1), SLOW);
  return isMoving() || Date.now() - lookedAt < ATTENTION ? FAST : SLOW;
};

const ask = () => {
  askedAt = watchedAt = Date.now();
  for (const part of parts()) htmx.trigger(part, "poll");
  document.dispatchEvent(new Event("asked"));
};

const watch = () => {
  watchedAt = Date.now();
  for (const part of document.querySelectorAll("[data-watches]")) htmx.trigger(part, "poll");
};

setInterval(() => {
  if (Date.now() - watchedAt >= (losses || document.hidden ? SLOW : FAST)) watch();
  if (document.hidden) return;
  if (isOld()) location.reload();
  else if (Date.now() - askedAt >= pace()) ask();
}, 500);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  lookedAt = Date.now();
  ask();
});
window.addEventListener("online", ask);
for (const sign of ["pointermove", "keydown"]) {
  document.addEventListener(sign, () => { lookedAt = Date.now(); }, { passive: true });
}
document.addEventListener("input", () => { isTyped = true; });

const lost = document.getElementById("lost");
const reason = (status) => {
  if (!status) return "Connection lost.";
  return status === 500 ? "The server met a fault." : "The server is not ready.";
};
// Without a status nothing answered.
const say = (isLost, status) => {
  losses = isLost ? losses + 1 : 0;
  if (isLost) lost.textContent = `${reason(status)} What you see may be old; it is asked for again by itself.`;
  lost.hidden = !isLost;
};
document.addEventListener("htmx:error", () => say(true));
document.addEventListener("htmx:after:request", (event) => {
  const { status } = event.detail.ctx.response;
  say(status >= 500, status);
});
