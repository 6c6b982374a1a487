// Forgets the draft that a revision holds by now: the page after Save or Start build says so.
const sent = sessionStorage.getItem("sent draft");
if (sent && document.querySelector(".said-once.saved")) {
  localStorage.removeItem(sent);
  sessionStorage.removeItem("sent draft");
}
