// Numbers as text.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);
export const compact = (n) => short.format(n);
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// 0.3321 becomes "33.2 %". Small numbers keep two digits, for example "0.0012 %".
export function percent(p) {
  if (p === null || p === undefined) return "–";
  const hundred = 100 * p;
  if (hundred === 0) return "0\u00a0%";
  if (hundred >= 99.995 && p < 1) return "> 99.99\u00a0%";
  if (hundred >= 99.95) return `${hundred.toFixed(p === 1 ? 0 : 2)}\u00a0%`;
  if (hundred >= 1) return `${hundred.toFixed(1)}\u00a0%`;
  if (hundred >= 0.0001) return `${Number(hundred.toPrecision(2))}\u00a0%`;
  return "< 0.0001\u00a0%";
}

export const signed = (x, digits = 2) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits);
export const fixed = (x, digits = 3) => (x === null || x === undefined ? "–" : x.toFixed(digits));
