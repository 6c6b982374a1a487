// Asks one place, again while it wakes up, and gives back what comes: waits, chunks, a body.
import { signedIn, token } from "../session.js";
import { events } from "./events.js";

const PATIENCE = 600000;
const LONGEST_PAUSE = 5;

export class Refused extends Error {
  constructor({ message, code, param }, status, retryAfter) {
    super(message ?? `The answer has the status ${status} and no words.`);
    Object.assign(this, { code, param, status, retryAfter });
  }
}

const refusal = (text, status, retryAfter) => {
  let said = {};
  try {
    said = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { error, detail, error_code: code } = said;
  const told = error && typeof error === "object" ? error : { message: error ?? detail, code };
  return new Refused(told, status, retryAfter);
};

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

const post = (url, body, signal) => {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token() };
  return fetch(url, { method: "POST", headers, body, signal });
};
const isSignedOut = ({ status, headers }) => status === 401 || headers.get("HX-Refusal") === "form-token";

async function* once(url, body, signal) {
  let answer = await post(url, body, signal);
  if (isSignedOut(answer) && await signedIn()) answer = await post(url, body, signal);
  if (!answer.ok) throw refusal(await answer.text(), answer.status);
  let [status, retryAfter] = [502, null];
  for await (const { event, data } of events(answer.body)) {
    if (event === "answer") ({ status, retry_after: retryAfter } = JSON.parse(data));
    else if (event === "error") throw refusal(data, Math.max(status, 500), retryAfter);
    else if (status >= 400) throw refusal(data, status, retryAfter);
    else if (event === "body") yield { body: JSON.parse(data) };
    else yield data === "[DONE]" ? { isDone: true } : { chunk: JSON.parse(data) };
  }
}

export async function* ask(url, body, signal) {
  const until = Date.now() + PATIENCE;
  for (;;) {
    try {
      yield { starts: true };
      return yield* once(url, body, signal);
    } catch (error) {
      if (error.code !== "model_not_ready" || Date.now() > until) throw error;
      yield { waits: error.message };
      await pause(Math.min(error.retryAfter ?? LONGEST_PAUSE, LONGEST_PAUSE), signal);
    }
  }
}
