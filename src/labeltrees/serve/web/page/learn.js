// The form for the correct answer, which the model learns, and a report of the change.

import * as api from "./api.js";
import { noteBars } from "./bars.js";
import { byId, debounced, make } from "./dom.js";
import { count, percent } from "./numbers.js";
import { predict, shown } from "./predict.js";
import { emit, modelName, on, state } from "./state.js";

const MAX_SUGGESTIONS = 12;
let whenLearned = async () => {};

// The labels of a model are all texts or all integers, like those of its predictions.
function asLabel(text) {
  const numbers = typeof shown.labels[0] === "number";
  return numbers && /^-?\d+$/.test(text) ? Number(text) : text;
}

// The labels in the form; a model of several labels takes a list with commas.
function labelsOf(text) {
  const parts = state.about.several_labels ? text.split(",") : [text];
  return [...new Set(parts.map((part) => part.trim()).filter(Boolean))].map(asLabel);
}

async function learn(labels) {
  const name = modelName();
  const times = Number(byId("times").value);
  const button = byId("learn-button");
  button.disabled = true;
  try {
    if (!(await predict())) {
      byId("learn-report").textContent = "The model did not learn, because the input is not valid yet.";
      return;
    }
    const row = shown.row; // the current input, which may be newer than the shown prediction
    const result = await api.learn(name, new Array(times).fill({ ...row, ...(state.about.several_labels ? { labels } : { label: labels[0] }) }));
    if (name !== modelName()) return;
    const before = new Map(result.predicted.filter(({ example }) => example === 0).map((each) => [each.label, each.p_label]));
    if (before.size) noteBars(shown, before);
    await predict({ also: labels });
    byId("learn-report").textContent = report(result, before);
    if (labels.length) emit("learned-label", labels[0]);
    await whenLearned();
  } catch (problem) {
    byId("learn-report").textContent = problem.message;
  } finally {
    button.disabled = false;
  }
}

function report({ seq, new_labels: fresh, refused }, before) {
  if (refused.length) return `${count(refused.length)} examples were refused, because the weights would have diverged.`;
  const changes = [...before].map(([label, p]) => {
    const now = percent(shown.probabilities[shown.labels.indexOf(label)]);
    return fresh.includes(label) ? `“${label}” is a new label, and its probability is ${now} now.` : `The probability of “${label}” was ${percent(p)}; it is ${now} now.`;
  });
  return [`Learned example ${count(seq)}.`, ...changes].join(" ");
}

const suggest = debounced(150, async () => {
  const typed = byId("correct-label").value;
  const end = state.about?.several_labels ? typed.lastIndexOf(",") + 1 : 0;
  const text = typed.slice(end).trim();
  if (!text || !state.about) return;
  try {
    const { labels } = await api.labels(modelName(), text, MAX_SUGGESTIONS);
    byId("known-labels").replaceChildren(...labels.map(({ label }) => make("option", { value: `${typed.slice(0, end)}${end ? " " : ""}${label}` })));
  } catch {
    // The form works without suggestions.
  }
});

function showWhetherItLearns() {
  const { can_learn: canLearn, learns_row_by_row: inRows, name } = state.about;
  byId("learn").hidden = !canLearn;
  byId("cannot-learn").hidden = canLearn;
  byId("learn-report").textContent = "";
  byId("correct-label-name").textContent = state.about.several_labels ? "Labels, with commas between them" : "Label";
  const why = inRows ? "was saved without the state that learning needs" : "is trained on all its data at once";
  byId("cannot-learn").textContent = `“${name}” predicts but does not learn, because it ${why}. Train it again with “labeltrees train”, or serve a model that learns row by row.`;
}

export function startLearning(learned) {
  whenLearned = learned;
  byId("learn").addEventListener("submit", (event) => {
    event.preventDefault();
    const labels = labelsOf(byId("correct-label").value);
    if (labels.length) learn(labels);
    else byId("learn-report").textContent = "Enter the correct answer first.";
  });
  byId("correct-label").addEventListener("input", suggest);
  on("learn", (label) => {
    const field = byId("correct-label");
    if (state.about.several_labels) {
      field.value = [...new Set([...labelsOf(field.value), label])].join(", "); // the user adds more
      field.focus();
      return;
    }
    field.value = String(label);
    learn([label]);
  });
  let preparedModel = null;
  on("model", () => {
    if (preparedModel === modelName()) return;
    preparedModel = modelName();
    byId("correct-label").value = "";
    showWhetherItLearns();
  });
}
