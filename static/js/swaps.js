// Puts into the page what the server marked as a part of it, and nothing else: no sign-in form, no
// notice, no page of a proxy. What was refused is asked again once the person is signed in.
import { signedIn } from "./session.js";

const notice = document.getElementById("refused");
const [words, button] = notice.children;
const [refused, lost] = [new Map(), new Map()];
const repeated = new WeakSet();
const KEPT = "What you typed is still here.";
const REASONS = {
  403: "This was refused.",
  404: "This is no longer there: it was removed meanwhile.",
  413: "This is larger than the server takes.",
  429: "Too much was asked within a short time.",
};
let [isAsking, isPutOff] = [false, false];

const say = (text, canSignIn = false) => {
  // That a form was not sent stays said, whatever else of the page comes through.
  if (!text && "unsent" in notice.dataset) return;
  words.textContent = text;
  button.hidden = !canSignIn;
  notice.hidden = !text;
};

const askAgain = (contexts) => {
  for (const { sourceElement: source, request, target, swap } of contexts) {
    if (source.isConnected) htmx.ajax(request.method, request.action, { source, target, swap });
  }
};
const taken = (map) => {
  const contexts = [...map.values()];
  map.clear();
  return contexts;
};
const repeat = () => {
  say("");
  askAgain(taken(refused));
};

const goOn = async () => {
  if (isAsking) return;
  isAsking = true;
  try {
    if (await signedIn()) {
      isPutOff = false;
      repeat();
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  } finally {
    isAsking = false;
  }
};

const tokenRefused = (ctx) => {
  const { sourceElement } = ctx;
  if (repeated.has(sourceElement)) return say(`This browser keeps no cookie of Enginehouse, so nothing can be checked or saved. Allow cookies for this address. ${KEPT}`);
  repeated.add(sourceElement);
  refused.set(sourceElement, ctx);
  return goOn();
};

// A server that is down is said by live.js, which goes on asking; what it does not ask itself comes along.
const lose = (ctx) => {
  say("");
  if (!ctx.sourceElement.matches("[data-live]")) lost.set(ctx.sourceElement, ctx);
};

const refuse = (ctx) => {
  const { status, raw } = ctx.response;
  if (ctx.hx.refusal === "form-token") return tokenRefused(ctx);
  if (status === 401) {
    refused.set(ctx.sourceElement, ctx);
    return isPutOff || goOn();
  }
  if (status >= 500) return lose(ctx);
  const isSaid = raw.headers.get("Content-Type")?.startsWith("text/plain");
  const reason = isSaid ? ctx.text : REASONS[status] ?? "What answered was not Enginehouse.";
  return say(`${reason} ${KEPT}`);
};

document.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.hx.part && !ctx.response.raw.redirected) {
    for (const each of [repeated, refused, lost]) each.delete(ctx.sourceElement);
    if (!isPutOff) say("");
    return;
  }
  event.preventDefault();
  refuse(ctx);
});
document.addEventListener("htmx:error", ({ detail }) => { if (detail.ctx) lose(detail.ctx); });
document.addEventListener("asked", () => askAgain(taken(lost)));
button.addEventListener("click", goOn);
// Whoever asked: a poll that is refused later asks no second time.
document.addEventListener("sign-in-put-off", () => {
  isPutOff = true;
  say(`You are signed out: nothing is checked or saved. ${KEPT}`, true);
});
document.addEventListener("signed-in-again", () => { isPutOff = false; repeat(); });
