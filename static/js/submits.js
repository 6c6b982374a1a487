// Sends a form only while its person is signed in and its token is right: an answer that is a
// sign-in form or a notice would take the place of all that was typed.
import { matchCookie, renewed, signedIn } from "./session.js";

const notice = document.getElementById("refused");
const [asking, sure] = [new WeakSet(), new WeakSet()];

const isGuarded = (form) => form.getAttribute("method")?.toLowerCase() === "post"
  && !form.closest("#sign-in");

const send = async (form, submitter) => {
  asking.add(form);
  delete notice.dataset.unsent;
  try {
    if (form.matches("[data-without-session]")) await renewed();
    else if (!(await signedIn())) return;
    document.dispatchEvent(new Event("signed-in-again"));
    sure.add(form);
    matchCookie(form);
    form.requestSubmit(submitter?.isConnected ? submitter : null);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    notice.firstElementChild.textContent = "Not sent: the server does not answer. What you typed is still here; try again.";
    notice.lastElementChild.hidden = true;
    notice.dataset.unsent = "";
    notice.hidden = false;
  } finally {
    asking.delete(form);
    sure.delete(form);
  }
};

// Before the form's own listeners, which may take a submission for sent.
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!isGuarded(form) || sure.has(form)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!asking.has(form)) send(form, submitter);
}, true);
