// Opens dialogs; a destructive one stays shut until the name is typed.
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
});

document.addEventListener("input", (event) => {
  const { confirms } = event.target.dataset;
  if (confirms === undefined) return;
  event.target.form.querySelector("[type=submit]").disabled = event.target.value.trim() !== confirms;
});
