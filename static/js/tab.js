// The tab's icon has the colour of the state that opens its title: seen without opening the tab.
const FILES = { "✕": "error", "!": "warn" };
const icon = document.querySelector("link[rel=icon]");
const plain = icon.href;

const paint = () => {
  const tone = FILES[document.title[0]];
  const file = tone ? icon.dataset[tone] : plain;
  if (icon.href !== file) icon.href = file;
};

new MutationObserver(paint).observe(document.querySelector("head"), { childList: true, subtree: true, characterData: true });
paint();
