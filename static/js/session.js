// Who is signed in, and the token that forms and requests carry. Both are renewed over the page,
// which stays as it is.
import { closeDialog, openDialog } from "./dialogs.js";

const HEADERS = "hx-headers:inherited";
const dialog = document.getElementById("sign-in");
const { user: owner, email, sessionUrl, formUrl } = dialog.dataset;
let signing = null;
let tokenCookie = "";

export const token = () => JSON.parse(document.body.getAttribute(HEADERS))["X-CSRFToken"];

// Resolves to who is signed in, with a right token in every form and request of the page.
export const renewed = async () => {
  const answer = await fetch(sessionUrl, { headers: { Accept: "application/json" } });
  if (!answer.ok || answer.redirected) throw new TypeError(`The session cannot be asked for: ${answer.status}`);
  const told = await answer.json();
  tokenCookie = told.token_cookie;
  document.body.setAttribute(HEADERS, JSON.stringify({ "X-CSRFToken": told.token }));
  for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = told.token;
  return told.user;
};

// Another answer may have brought another cookie since the token was renewed, and a form is held
// against the cookie that goes with it.
export const matchCookie = (form) => {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${tokenCookie}=`));
  const field = form.elements.namedItem("csrfmiddlewaretoken");
  if (found && field) field.value = found.slice(tokenCookie.length + 1);
};

const isOwner = (user) => {
  document.getElementById("sign-in-other").hidden = !user || user === owner;
  document.getElementById("sign-in-ended").hidden = Boolean(user);
  return user === owner;
};

const open = async () => {
  openDialog(dialog);
  await htmx.ajax("GET", formUrl, { source: dialog, target: "#sign-in-step", swap: "innerHTML" });
};

const asked = () => new Promise((resolve) => {
  const listening = new AbortController();
  const end = (isSignedIn) => {
    listening.abort();
    signing = null;
    closeDialog(dialog);
    if (!isSignedIn) document.dispatchEvent(new Event("sign-in-put-off"));
    resolve(isSignedIn);
  };
  const look = async () => { if (isOwner(await renewed())) end(true); };
  const { signal } = listening;
  document.addEventListener("signed-in", look, { signal });
  // Whoever signed in in another tab comes back to this one.
  window.addEventListener("focus", look, { signal });
  dialog.addEventListener("close", () => end(false), { signal });
  open();
});

document.addEventListener("htmx:after:swap", ({ detail }) => {
  if (detail.ctx.target?.id !== "sign-in-step") return;
  const field = dialog.querySelector("[name=email]");
  if (!field || field.value) return;
  field.value = email;
  dialog.querySelector("[type=password]").focus();
});

// Resolves to whether this page's person is signed in; asks for the password where that is needed.
// Throws a TypeError where the server does not answer.
export const signedIn = async () => {
  if (signing) return signing;
  if (isOwner(await renewed())) return true;
  signing ??= asked();
  return signing;
};
