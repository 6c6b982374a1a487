// Says why there is no answer, or no end of it, in words and with what to do.
import { Refused } from "./ask.js";

const HINTS = {
  401: "Sign in again, or reload this page.",
  402: "Ask an admin of your team for more, or wait until the month is over.",
  404: "It may have been promoted or removed: choose another place above.",
  413: "Shorten the conversation, or begin a new one.",
  502: "Try again; the replicas are on the deployment's page.",
};

const hint = ({ status, retryAfter, param }) => {
  if (param) return `The field is ${param}.`;
  if (retryAfter) return `Try again in ${retryAfter} s.`;
  return HINTS[status] ?? "";
};

export const wordsOf = (error) => {
  if (error instanceof Refused) return `${error.message} ${hint(error)}`.trim();
  if (error instanceof TypeError) return "The connection to Enginehouse is lost. Nothing more of this answer comes; try again once it is back.";
  throw error;
};
