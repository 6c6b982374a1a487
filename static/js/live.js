// Asks again: every 3 s while something moves or somebody looks, else every 60 s, never when hidden.
const FAST = 3000;
const SLOW = 60000;
const ATTENTION = 60000;
let lookedAt = Date.now();
let askedAt = Date.now();

const parts = () => document.querySelectorAll("[data-live]");
const isMoving = () => document.querySelector("[data-live] [data-moving], [data-live][data-moving]") !== null;

const ask = () => {
  askedAt = Date.now();
  for (const part of parts()) htmx.trigger(part, "poll");
};

setInterval(() => {
  if (document.hidden) return;
  const pace = isMoving() || Date.now() - lookedAt < ATTENTION ? FAST : SLOW;
  if (Date.now() - askedAt >= pace) ask();
}, 500);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  lookedAt = Date.now();
  ask();
});
for (const sign of ["pointermove", "keydown"]) {
  document.addEventListener(sign, () => { lookedAt = Date.now(); }, { passive: true });
}

const lost = document.getElementById("lost");
document.addEventListener("htmx:error", () => { lost.hidden = false; });
document.addEventListener("htmx:after:request", (event) => {
  lost.hidden = event.detail.ctx.response.status < 500;
  // A session that ended answers a poll with the sign-in page: go there instead of showing it inside.
  if (event.detail.ctx.response.raw.redirected) location.reload();
});
