// Copies an identifier and says so.
const said = document.getElementById("said");

const write = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http on a host other than localhost has no clipboard API.
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  const { copy, copyFrom } = button.dataset;
  await write(copy ?? document.getElementById(copyFrom).innerText);
  said.textContent = "Copied";
  button.dataset.done = "";
  setTimeout(() => { delete button.dataset.done; said.textContent = ""; }, 1500);
});
