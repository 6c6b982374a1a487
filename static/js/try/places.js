// Shows another place as soon as one is chosen; without scripts there is the button.
const form = document.getElementById("places-form");
form.querySelector("button").hidden = true;
form.addEventListener("change", () => {
  for (const select of form.querySelectorAll("select")) select.disabled = !select.value;
  form.requestSubmit();
});
