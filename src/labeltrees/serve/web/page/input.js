// The text of the input box as a row of the selected model.

const HASHED = 2 ** 30;
const MOST_COLUMNS = 40;

const CODE = [
  ["os.path", "import os\n\nfor name in os.listdir(folder):\n    path = os.path."],
  ["json", "import json\n\nwith open(path) as file:\n    settings = json."],
  ["self", "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items."],
  ["except", "import logging\n\ntry:\n    value = int(text)\nexcept "],
];

// Returns the label, hint, first content and examples of the box for a model.
export function form(about) {
  if (about.takes === "python") {
    return {
      label: "Python code, up to the cursor",
      hint: "Predictions appear while you type. Insert the first one with Ctrl+Space, or choose a label.",
      start: CODE[0][1],
      examples: CODE,
      code: true,
    };
  }
  if (about.takes === "text") return { label: "Text", hint: "Predictions appear while you type.", start: "", examples: [], code: false };
  return { label: "Features", hint: featuresHint(about), start: featuresStart(about), examples: [], code: true };
}

function featuresHint({ features, columns }) {
  if (columns) return "Enter one column per line, for example “height: 1.5”. Missing columns are 0.";
  if (features === HASHED) return "Enter one feature per line, for example “height: 1.5”. A name without a value counts as 1.";
  return `Enter ${features} numbers, or index:value pairs of the nonzero ones, counted from 0.`;
}

function featuresStart({ features, columns }) {
  if (columns) return columns.slice(0, MOST_COLUMNS).map((name) => `${name}: 0`).join("\n");
  if (features === HASHED || features > MOST_COLUMNS) return "";
  return new Array(features).fill("0").join(" ");
}

// Parses features: JSON, numbers, index:value pairs, or lines of “name: value”.
export function parseFeatures(text, about) {
  const trimmed = text.trim();
  if (/^[{[]/.test(trimmed)) return fromJson(trimmed);
  const words = trimmed.split(/[\s,]+/).filter(Boolean);
  const named = about.columns || about.features === HASHED;
  if (!named) {
    if (words.every((word) => Number.isFinite(Number(word)))) return words.map(Number);
    return words.map((word) => pair(word));
  }
  const lines = trimmed.split(/[\n,;]+/).map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => namedValue(line)));
}

function fromJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("This is not valid JSON.");
  }
}

function pair(word) {
  const [index, value, ...rest] = word.split(":");
  if (rest.length || !/^\d+$/.test(index) || !Number.isFinite(Number(value)) || value === "") {
    throw new Error(`“${word}” is neither a number nor a pair index:value.`);
  }
  return [Number(index), Number(value)];
}

function namedValue(line) {
  const found = /^(.*?)\s*[:=]\s*(\S+)$/.exec(line);
  if (!found) return [line, 1];
  const value = Number(found[2]);
  if (!Number.isFinite(value)) throw new Error(`“${found[2]}” is not a number.`);
  return [found[1], value];
}
