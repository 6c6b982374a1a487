// Puts into the page what the server marked as a part of it, and nothing else: no sign-in form, no
// notice, no page of a proxy. What was refused is asked again once the person is signed in.
import { signedIn } from "./session.js";

const notice = document.getElementById("refused");
const [words, button] = notice.children;
const refused = new Map();
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
  words.textContent = text;
  button.hidden = !canSignIn;
  notice.hidden = !text;
};

const repeat = () => {
  say("");
  const contexts = [...refused.values()];
  refused.clear();
  for (const { sourceElement: source, request, target, swap } of contexts) {
    if (source.isConnected) htmx.ajax(request.method, request.action, { source, target, swap });
  }
};

const goOn = async () => {
  if (isAsking) return;
  isAsking = true;
  try {
    isPutOff = !(await signedIn());
    if (isPutOff) say(`You are signed out: nothing is checked or saved. ${KEPT}`, true);
    else repeat();
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

const refuse = (ctx) => {
  const { status, raw } = ctx.response;
  if (ctx.hx.refusal === "form-token") return tokenRefused(ctx);
  if (status === 401) {
    refused.set(ctx.sourceElement, ctx);
    return isPutOff || goOn();
  }
  // A server that is down is said, and asked again, by live.js.
  if (status >= 500) return say("");
  const isSaid = raw.headers.get("Content-Type")?.startsWith("text/plain");
  const reason = isSaid ? ctx.text : REASONS[status] ?? "What answered was not Enginehouse.";
  return say(`${reason} ${KEPT}`);
};

document.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.hx.part && !ctx.response.raw.redirected) {
    repeated.delete(ctx.sourceElement);
    if (!isPutOff) say("");
    return;
  }
  event.preventDefault();
  refuse(ctx);
});
button.addEventListener("click", goOn);
document.addEventListener("signed-in-again", () => { isPutOff = false; repeat(); });
