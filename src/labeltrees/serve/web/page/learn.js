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

async function learn(label) {
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
    const result = await api.learn(name, new Array(times).fill({ ...row, label }));
    if (name !== modelName()) return;
    const before = result.predicted[0]?.p_label;
    if (before !== undefined) noteBars(shown, label, before);
    await predict({ also: [label] });
    byId("learn-report").textContent = report(result, label);
    emit("learned-label", label);
    await whenLearned();
  } catch (problem) {
    byId("learn-report").textContent = problem.message;
  } finally {
    button.disabled = false;
  }
}

function report({ predicted, seq, new_labels: fresh, refused }, label) {
  if (refused.length) return `${count(refused.length)} examples were refused, because the weights would have diverged.`;
  const first = predicted[0];
  const now = shown.probabilities[shown.labels.indexOf(label)];
  const was = fresh.includes(label) ? "The label is new" : `Its probability was ${percent(first.p_label)}`;
  return `Learned “${label}” as example ${count(seq)}. ${was}; it is ${percent(now)} now.`;
}

const suggest = debounced(150, async () => {
  const text = byId("correct-label").value.trim();
  if (!text || !state.about) return;
  try {
    const { labels } = await api.labels(modelName(), text, MAX_SUGGESTIONS);
    byId("known-labels").replaceChildren(...labels.map(({ label }) => make("option", { value: String(label) })));
  } catch {
    // The form works without suggestions.
  }
});

function showWhetherItLearns() {
  const { can_learn: canLearn, learns_row_by_row: inRows, name } = state.about;
  byId("learn").hidden = !canLearn;
  byId("cannot-learn").hidden = canLearn;
  byId("learn-report").textContent = "";
  const why = inRows ? "was saved without the state that learning needs" : "is trained on all its data at once";
  byId("cannot-learn").textContent = `“${name}” predicts but does not learn, because it ${why}. Train it again with “labeltrees train”, or serve a model that learns row by row.`;
}

export function startLearning(learned) {
  whenLearned = learned;
  byId("learn").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("correct-label").value.trim();
    if (text) learn(asLabel(text));
    else byId("learn-report").textContent = "Enter the correct answer first.";
  });
  byId("correct-label").addEventListener("input", suggest);
  on("learn", (label) => {
    byId("correct-label").value = String(label);
    learn(label);
  });
  let preparedModel = null;
  on("model", () => {
    if (preparedModel === modelName()) return;
    preparedModel = modelName();
    byId("correct-label").value = "";
    showWhetherItLearns();
  });
}
