// Shows another place as soon as one is chosen; without scripts there is the button.
const form = document.getElementById("places-form");
form.querySelector("button").hidden = true;
form.addEventListener("change", () => {
  const chosen = [...new FormData(form)].filter(([, place]) => place);
  location.search = new URLSearchParams(chosen);
});
