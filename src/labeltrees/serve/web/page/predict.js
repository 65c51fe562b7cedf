// Predictions while the user types: the input box and the bars of the prediction.

import * as api from "./api.js";
import { forgetBars, showBars } from "./bars.js";
import { byId, debounced, make } from "./dom.js";
import { percent } from "./numbers.js";
import { form, parseFeatures } from "./input.js";
import { emit, modelName, on, state } from "./state.js";

const PAUSE_MILLISECONDS = 120;
const box = () => byId("input");

// The last prediction: its row as the server takes it, and its labels with probabilities.
export const shown = { row: null, labels: [], probabilities: [], beginning: "" };

let latest = null; // the latest request; responses of older ones are dropped
let preparedModel = null;

function upToCursor() {
  const { value, selectionStart, selectionEnd } = box();
  return selectionStart === selectionEnd ? value.slice(0, selectionStart) : value;
}

function wrong(text) {
  byId("input-wrong").textContent = text;
}

// Predicts for the text in the box; `also` has more labels to show, even if they are unlikely.
// Returns whether there is a prediction.
export async function predict({ also = [] } = {}) {
  const about = state.about;
  if (!about) return false;
  if (predictSoon.cancel()) forgetBars(); // the input has changed
  latest?.abort();
  latest = new AbortController();
  const { signal } = latest;
  try {
    const found = about.takes === "python" ? await complete(about, signal) : await topLabels(about, signal);
    await addLabels(found, also, signal);
    if (signal.aborted || modelName() !== about.name) return false;
    Object.assign(shown, found);
    wrong("");
    draw();
    emit("predicted");
    return true;
  } catch (problem) {
    if (problem.name !== "AbortError") wrong(problem.message);
    return false;
  }
}

const howMany = () => Number(byId("how-many").value);

async function complete(about, signal) {
  const source = upToCursor();
  const found = await api.complete(about.name, { source, k: howMany() }, signal);
  const text = source.slice(0, source.length - found.beginning.length);
  return { row: { text }, labels: found.labels, probabilities: found.probabilities, beginning: found.beginning };
}

async function topLabels(about, signal) {
  const row = about.takes === "text" ? { text: box().value } : { features: parseFeatures(box().value, about) };
  const found = (await api.predict(about.name, { ...row, k: howMany() }, signal)).rows[0];
  return { row, ...found, beginning: "" };
}

async function addLabels(found, also, signal) {
  const missing = also.filter((label) => !found.labels.includes(label));
  if (missing.length === 0) return;
  const named = (await api.predict(modelName(), { ...found.row, labels: missing }, signal)).rows[0];
  found.labels = [...found.labels, ...named.labels];
  found.probabilities = [...found.probabilities, ...named.probabilities];
}

function draw() {
  const about = state.about;
  const actions = {
    choose: about.takes === "python" ? insert : null,
    explain: about.capabilities.includes("explain") ? (label) => emit("explain", label) : null,
    learn: about.can_learn ? (label) => emit("learn", label) : null,
    several: about.several_labels,
  };
  showBars(shown, about, actions);
  const [top] = shown.labels;
  byId("prediction-spoken").textContent = top === undefined ? "No label." : `Most likely: ${top}, ${percent(shown.probabilities[0])}.`;
}

// Replaces the unfinished identifier at the cursor by a whole one.
function insert(label) {
  const area = box();
  const begin = upToCursor().length - shown.beginning.length;
  area.setRangeText(String(label), begin, upToCursor().length, "end");
  area.focus();
  predictSoon();
}

const predictSoon = debounced(PAUSE_MILLISECONDS, () => {
  forgetBars();
  predict();
});

function prepare() {
  if (preparedModel === state.about.name) return;
  preparedModel = state.about.name;
  const { label, hint, start, examples, code } = form(state.about);
  byId("input-label").textContent = label;
  byId("input-hint").textContent = hint;
  const area = box();
  area.classList.toggle("code", code);
  area.value = start;
  area.setSelectionRange(start.length, start.length);
  byId("examples").replaceChildren(
    ...examples.map(([name, text]) => make("button", { type: "button", class: "chip", onclick: () => use(text) }, name)),
  );
  forgetBars();
  predict();
}

function use(text) {
  box().value = text;
  box().focus();
  box().setSelectionRange(text.length, text.length);
  predictSoon();
}

export function startPredicting() {
  const area = box();
  area.addEventListener("input", predictSoon);
  area.addEventListener("keyup", (event) => /^(Arrow|Home|End|Page)/.test(event.key) && state.about?.takes === "python" && predictSoon());
  area.addEventListener("click", () => state.about?.takes === "python" && predictSoon());
  area.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.ctrlKey || state.about?.takes !== "python") return;
    event.preventDefault();
    if (shown.labels.length) insert(shown.labels[0]);
  });
  byId("how-many").addEventListener("change", () => predict());
  on("model", prepare);
}
