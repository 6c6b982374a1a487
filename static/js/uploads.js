// Says before the upload that a file is too large, which the server would only say after it.
document.addEventListener("change", ({ target }) => {
  const most = Number(target.dataset?.maxBytes);
  if (!most || !target.files.length) return;
  const isLarge = target.files[0].size > most;
  target.setCustomValidity(isLarge ? `The file is larger than ${Math.floor(most / 1e6)} MB.` : "");
  if (isLarge) target.reportValidity();
});
