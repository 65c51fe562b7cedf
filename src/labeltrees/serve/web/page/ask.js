// Asking as one types: the question box, the answer's bars, and what is asked when.

import * as api from "./api.js";
import { forgetBars, showBars } from "./bars.js";
import { byId, debounced, make } from "./dom.js";
import { percent } from "./numbers.js";
import { form, parseFeatures } from "./question.js";
import { modelName, on, state, tell } from "./state.js";

const PAUSE = 120;
const box = () => byId("question");

// The last question that was answered: its row as the server takes it, and the answer.
export const asked = { row: null, labels: [], probabilities: [], beginning: "" };

let latest = null; // of requests: one that is older must not overwrite its answer
let shownModel = null;

function upToCursor() {
  const { value, selectionStart, selectionEnd } = box();
  return selectionStart === selectionEnd ? value.slice(0, selectionStart) : value;
}

function wrong(text) {
  byId("question-wrong").textContent = text;
}

// Asks what is in the box now; `also` has labels that are to be shown too, however unlikely.
// Returns whether there is an answer.
export async function ask({ also = [] } = {}) {
  const about = state.about;
  if (!about) return false;
  if (askSoon.cancel()) forgetBars(); // it is asked now, and is another question
  latest?.abort();
  latest = new AbortController();
  const { signal } = latest;
  try {
    const answer = about.takes === "python" ? await complete(about, signal) : await predict(about, signal);
    await addLabels(answer, also, signal);
    if (signal.aborted || modelName() !== about.name) return false;
    Object.assign(asked, answer);
    wrong("");
    draw();
    tell("answered");
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

async function predict(about, signal) {
  const row = about.takes === "text" ? { text: box().value } : { features: parseFeatures(box().value, about) };
  const found = (await api.predict(about.name, { ...row, k: howMany() }, signal)).rows[0];
  return { row, ...found, beginning: "" };
}

async function addLabels(answer, also, signal) {
  const missing = also.filter((label) => !answer.labels.includes(label));
  if (missing.length === 0) return;
  const named = (await api.predict(modelName(), { ...answer.row, labels: missing }, signal)).rows[0];
  answer.labels = [...answer.labels, ...named.labels];
  answer.probabilities = [...answer.probabilities, ...named.probabilities];
}

function draw() {
  const about = state.about;
  const actions = {
    choose: about.takes === "python" ? insert : null,
    explain: about.answers.includes("explain") ? (label) => tell("explain", label) : null,
    teach: about.can_learn ? (label) => tell("teach", label) : null,
  };
  showBars(asked, about, actions);
  const [top] = asked.labels;
  byId("answer-said").textContent = top === undefined ? "No label." : `Likeliest: ${top}, ${percent(asked.probabilities[0])}.`;
}

// Puts an identifier where the cursor is, in place of what is there of it.
function insert(label) {
  const area = box();
  const begin = upToCursor().length - asked.beginning.length;
  area.setRangeText(String(label), begin, upToCursor().length, "end");
  area.focus();
  askSoon();
}

const askSoon = debounced(PAUSE, () => {
  forgetBars();
  ask();
});

function prepare() {
  if (shownModel === state.about.name) return;
  shownModel = state.about.name;
  const { label, hint, start, examples, code } = form(state.about);
  byId("question-label").textContent = label;
  byId("question-hint").textContent = hint;
  const area = box();
  area.classList.toggle("code", code);
  area.value = start;
  area.setSelectionRange(start.length, start.length);
  byId("examples").replaceChildren(
    ...examples.map(([name, text]) => make("button", { type: "button", class: "chip", onclick: () => use(text) }, name)),
  );
  forgetBars();
  ask();
}

function use(text) {
  box().value = text;
  box().focus();
  box().setSelectionRange(text.length, text.length);
  askSoon();
}

export function startAsking() {
  const area = box();
  area.addEventListener("input", askSoon);
  area.addEventListener("keyup", (event) => /^(Arrow|Home|End|Page)/.test(event.key) && state.about?.takes === "python" && askSoon());
  area.addEventListener("click", () => state.about?.takes === "python" && askSoon());
  area.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.ctrlKey || state.about?.takes !== "python") return;
    event.preventDefault();
    if (asked.labels.length) insert(asked.labels[0]);
  });
  byId("how-many").addEventListener("change", () => ask());
  on("model", prepare);
}
