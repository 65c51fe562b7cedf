// The quality of predictions: scores, learning curve and reliability, redrawn after updates.

import * as api from "./api.js";
import { drawCurve, drawReliability } from "./charts.js";
import { byId, make, table } from "./dom.js";
import { count, fixed, percent } from "./numbers.js";
import { modelName, on, state } from "./state.js";
import { tabShown } from "./tabs.js";

const MAX_ROWS = 30;
const MAX_POINTS = 50;
let last = null;

function score(name, value, note) {
  return make("div", { class: "card" }, make("dt", {}, name), make("dd", {}, value), make("dd", { class: "hint" }, note));
}

function drawScores({ window, all }) {
  const of = `over the last ${count(window.examples)} examples`;
  byId("scores").replaceChildren(
    score("Accuracy", percent(window.accuracy), `the most likely label is correct, ${of}`),
    score("Log loss", fixed(window.log_loss), `mean of −log p of the correct label, ${of}`),
    score("Calibration error", fixed(window.calibration_error), `0 is best, ${of}`),
    score("Examples predicted", count(all.n_rows), `${count(all.n_new_labels)} of them were new labels`),
  );
}

function drawTables({ curve, reliability }) {
  const part = curve.slice(-MAX_ROWS).reverse();
  byId("curve-table").replaceChildren(
    table(["Examples", "Log loss", "Accuracy"], part.map((each) => [count(each.examples), fixed(each.log_loss), percent(each.accuracy)])),
  );
  byId("reliability-table").replaceChildren(
    table(["Predicted", "Observed", "Examples"], reliability.map((each) => [percent(each.predicted), percent(each.observed), count(each.examples)])),
  );
}

// Merges neighbouring blocks of a long curve.
function merged(curve) {
  const n = Math.ceil(curve.length / MAX_POINTS);
  const points = [];
  let before = 0;
  for (let i = 0; i < curve.length; i += n) {
    const part = curve.slice(i, i + n);
    const sums = { log_loss: 0, accuracy: 0 };
    const begin = before;
    for (const each of part) {
      for (const name of Object.keys(sums)) sums[name] += each[name] * (each.examples - before);
      before = each.examples;
    }
    const weight = before - begin;
    points.push({ examples: before, log_loss: sums.log_loss / weight, accuracy: sums.accuracy / weight });
  }
  return points;
}

function draw() {
  if (last === null || tabShown() !== "quality") return;
  const empty = last.window.examples === 0;
  byId("no-quality").hidden = !empty;
  byId("no-quality").textContent = state.about.can_learn
    ? "There are no predictions yet. The model predicts every example before it learns it, and this tab shows the quality of these predictions."
    : "This model does not learn here, so its quality is not measured here. See the report of its training.";
  byId("panel-quality").classList.toggle("empty", empty);
  if (empty) return;
  drawScores(last);
  drawTables(last);
  drawCurve(byId("curve"), merged(last.curve));
  drawReliability(byId("reliability"), last.reliability);
}

async function load() {
  if (tabShown() !== "quality" || !state.about) return;
  const name = modelName();
  try {
    const found = await api.quality(name);
    if (name !== modelName()) return;
    last = found;
    draw();
  } catch {
    // Polling shows the error at the top of the page.
  }
}

export function startQuality() {
  on("model", load);
  on("learned", load);
  document.addEventListener("tabchange", load);
  document.addEventListener("themechange", draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) draw();
    width = innerWidth;
  });
}
