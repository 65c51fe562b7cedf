// The two charts, drawn by uPlot in the colours of the page.

import { compact, fixed, percent } from "./numbers.js";

const { uPlot } = globalThis;
const HEIGHT = 280;
const MIN_POINTS = 2; // of a line

// Returns a colour of the style sheet in a form for the canvas.
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function axis(more = {}) {
  const ink = colour("--soft");
  const line = { stroke: colour("--line"), width: 1 };
  return { stroke: ink, font: "12px system-ui, sans-serif", grid: line, ticks: line, ...more };
}

function plot(element, options, data, description) {
  element.setAttribute("aria-label", description);
  element.replaceChildren();
  const width = Math.max(200, element.clientWidth);
  return new uPlot({ width, height: HEIGHT, ...options }, data, element);
}

export function drawCurve(element, curve) {
  if (curve.length < MIN_POINTS) {
    element.replaceChildren("The curve appears after 200 examples.");
    return;
  }
  const [loss, right] = [colour("--accent"), colour("--second")];
  const last = curve.at(-1);
  const points = curve.length < 30;
  plot(
    element,
    {
      legend: { live: true },
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, loss: { range: (u, low, high) => [0, 1.05 * high] }, share: { range: [0, 1] } },
      axes: [
        axis({ size: 32, values: (u, values) => values.map(compact) }),
        axis({ scale: "loss", label: "log loss", labelSize: 18, labelFont: "12px system-ui", size: 42 }),
        axis({ scale: "share", side: 1, grid: { show: false }, size: 52, values: (u, values) => values.map((v) => `${Math.round(100 * v)} %`) }),
      ],
      series: [
        { label: "examples", value: (u, v) => (v === null ? "–" : compact(v)) },
        { label: "log loss", scale: "loss", stroke: loss, width: 2, points: { show: points }, value: (u, v) => fixed(v) },
        { label: "accuracy", scale: "share", stroke: right, width: 2, dash: [6, 4], points: { show: points }, value: (u, v) => percent(v) },
      ],
    },
    [curve.map((each) => each.examples), curve.map((each) => each.log_loss), curve.map((each) => each.accuracy)],
    `Learning curve over ${compact(last.examples)} examples; at its end log loss ${fixed(last.log_loss)}, accuracy ${percent(last.accuracy)}.`,
  );
}

export function drawReliability(element, bins) {
  if (bins.length === 0) {
    element.replaceChildren("There are no predictions yet.");
    return;
  }
  const sorted = [...bins].sort((a, b) => a.predicted - b.predicted);
  const xs = [0, ...sorted.map((each) => each.predicted), 1];
  const ends = (values) => [null, ...values, null];
  const share = (u, values) => values.map((v) => `${Math.round(100 * v)} %`);
  plot(
    element,
    {
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: [0, 1] }, y: { range: [0, 1] } },
      axes: [
        axis({ label: "predicted probability", size: 32, labelSize: 20, labelFont: "12px system-ui", values: share }),
        axis({ label: "observed frequency", labelSize: 18, labelFont: "12px system-ui", size: 52, values: share }),
      ],
      series: [
        { label: "predicted", value: (u, v) => percent(v) },
        { label: "perfect", stroke: colour("--soft"), dash: [4, 4], width: 1, points: { show: false }, value: (u, v) => percent(v) },
        { label: "observed", stroke: colour("--accent"), width: 2, points: { show: true, size: 9, fill: colour("--accent") }, value: (u, v) => percent(v) },
      ],
    },
    [xs, xs, ends(sorted.map((each) => each.observed))],
    `Reliability: ${sorted.map((each) => `predicted ${percent(each.predicted)}, observed ${percent(each.observed)}`).join("; ")}.`,
  );
}
