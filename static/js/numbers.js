// Writes numbers as the server does (apps/ui/formats.py), for what is drawn in the browser.
export const THIN = "\u202f";
const ABSENT = "–";
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export const number = (value, decimals = 0) => {
  if (value === null || value === undefined) return ABSENT;
  const [whole, ...rest] = value.toFixed(decimals).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, THIN), ...rest].join(".");
};

// As many decimals as its size deserves.
export const rate = (value) => number(value, value >= 100 ? 0 : value >= 10 || value === 0 ? 1 : 2);

export const percent = (share) => {
  if (share === null || share === undefined) return ABSENT;
  return `${number(share * 100, share === 0 || share >= 0.1 ? 0 : share >= 0.01 ? 1 : 2)}${THIN}%`;
};

const milliseconds = (amount) => amount.toFixed(amount >= 10 || Number(amount.toFixed(1)) === Math.round(amount) ? 0 : 1);

// Seconds in their two largest units, a short time with decimals.
export const duration = (seconds) => {
  if (seconds === null || seconds === undefined) return ABSENT;
  if (seconds < 1) return `${milliseconds(seconds * 1000)}${THIN}ms`;
  if (seconds < 10) return `${seconds.toFixed(1)}${THIN}s`;
  let rest = Math.round(seconds);
  const first = UNITS.findIndex(([length]) => rest >= length);
  const words = [];
  for (const [length, unit] of UNITS.slice(first, first + 2)) {
    if (rest >= length) words.push(`${Math.floor(rest / length)}${THIN}${unit}`);
    rest %= length;
  }
  return words.join(" ");
};

// How long ago, or how far ahead, in its largest unit.
export const ago = (seconds) => {
  const amount = Math.abs(seconds);
  if (amount < 5) return "now";
  const [length, unit] = UNITS.find(([size]) => amount >= size);
  const words = `${Math.floor(amount / length)}${THIN}${unit}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
};
