// Teaching the right answer, and telling what came of it.

import * as api from "./api.js";
import { ask, asked } from "./ask.js";
import { noteBars } from "./bars.js";
import { byId, debounced, make } from "./dom.js";
import { count, percent } from "./numbers.js";
import { modelName, on, state, tell } from "./state.js";

const SUGGESTED = 12;
let whenLearned = async () => {};

// Labels of a model are all texts or all integers; those that are known tell which.
function asLabel(text) {
  const numbers = typeof asked.labels[0] === "number";
  return numbers && /^-?\d+$/.test(text) ? Number(text) : text;
}

async function teach(label) {
  const name = modelName();
  const times = Number(byId("times").value);
  const button = byId("teach-button");
  button.disabled = true;
  try {
    if (!(await ask())) {
      byId("taught").textContent = "Nothing was taught: the question has no answer yet.";
      return;
    }
    const row = asked.row; // what is taught is what is in the box now, not what was asked before
    const answer = await api.learn(name, new Array(times).fill({ ...row, label }));
    if (name !== modelName()) return;
    const before = answer.foreseen[0]?.p_label;
    if (before !== undefined) noteBars(asked, label, before);
    await ask({ also: [label] });
    byId("taught").textContent = report(answer, label);
    tell("taught", label);
    await whenLearned();
  } catch (problem) {
    byId("taught").textContent = problem.message;
  } finally {
    button.disabled = false;
  }
}

function report({ foreseen, seq, new_labels: fresh, refused }, label) {
  if (refused.length) return `It would have made weights diverge: ${count(refused.length)} examples changed nothing.`;
  const first = foreseen[0];
  const now = asked.probabilities[asked.labels.indexOf(label)];
  const was = fresh.includes(label) ? "It had never seen it" : `It had given it ${percent(first.p_label)}`;
  return `Learned “${label}” as example ${count(seq)}. ${was}, and gives it ${percent(now)} now.`;
}

const suggest = debounced(150, async () => {
  const text = byId("right-label").value.trim();
  if (!text || !state.about) return;
  try {
    const { labels } = await api.labels(modelName(), text, SUGGESTED);
    byId("known-labels").replaceChildren(...labels.map(({ label }) => make("option", { value: String(label) })));
  } catch {
    // Suggestions are a help; without them one types.
  }
});

function showWhetherItLearns() {
  const { can_learn: canLearn, learns_row_by_row: inRows, name } = state.about;
  byId("teach").hidden = !canLearn;
  byId("cannot-learn").hidden = canLearn;
  byId("taught").textContent = "";
  const why = inRows ? "was saved without what learning needs" : "is of a kind that learns from all its data at once";
  byId("cannot-learn").textContent = `“${name}” answers but does not learn here: it ${why}. To teach it, train it anew with “labeltrees train”, or serve a model that learns row by row.`;
}

export function startTeaching(learned) {
  whenLearned = learned;
  byId("teach").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("right-label").value.trim();
    if (text) teach(asLabel(text));
    else byId("taught").textContent = "Say first what the right answer is.";
  });
  byId("right-label").addEventListener("input", suggest);
  on("teach", (label) => {
    byId("right-label").value = String(label);
    teach(label);
  });
  let shown = null;
  on("model", () => {
    if (shown === modelName()) return;
    shown = modelName();
    byId("right-label").value = "";
    showWhetherItLearns();
  });
}
