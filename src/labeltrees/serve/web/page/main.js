// The page: the list of models, the selected model, and polling for changes.

import * as api from "./api.js";
import { byId, make } from "./dom.js";
import { startKeys } from "./keys.js";
import { startLearning } from "./learn.js";
import { startNewLabels } from "./new_labels.js";
import { startNewModels } from "./new_model.js";
import { plural } from "./numbers.js";
import { startPredicting } from "./predict.js";
import { startQuality } from "./quality.js";
import { emit, modelName, on, state } from "./state.js";
import { showTab, startTabs, tabShown } from "./tabs.js";
import { startTree } from "./tree.js";
import { startWhy } from "./why.js";

const POLL_SECONDS = 2;
const TAKES = { text: "texts", python: "Python code", features: "features" };

// The address #demo/tree shows the tree of the model "demo".
function fromAddress() {
  const [name, tab] = location.hash.slice(1).split("/");
  try {
    return tab === undefined ? {} : { name: decodeURIComponent(name), tab };
  } catch {
    return {}; // an invalid address
  }
}

function remember() {
  history.replaceState(null, "", `#${encodeURIComponent(modelName())}/${tabShown()}`);
}

function showTrouble(problem) {
  const line = byId("trouble");
  line.hidden = !problem;
  line.textContent = problem ? problem.message : "";
}

function showFacts() {
  const { labels, seq, takes, can_learn: canLearn } = state.about;
  const several = state.about.several_labels ? ["several labels per example"] : [];
  const parts = [`takes ${TAKES[takes] ?? takes}`, plural(labels, "label"), `${plural(seq, "example")} learned here`];
  if (!canLearn) parts[2] = "does not learn";
  parts.push(...several);
  byId("facts").textContent = parts.join(" · ");
  byId("facts").title = state.about.kind;
}

function listModels() {
  const list = byId("model");
  const options = state.models.map(({ name }) => make("option", { value: name, selected: name === modelName() }, name));
  list.replaceChildren(...options);
}

async function select(name) {
  const about = await api.about(name);
  state.about = about;
  listModels();
  showFacts();
  showTrouble(null);
  emit("model");
  remember();
}

// Reads the model again after an update, which may come from another client.
async function refresh() {
  const name = modelName();
  const about = await api.about(name);
  if (name !== modelName()) return;
  state.about = about;
  showFacts();
}

async function loadAll(name) {
  try {
    state.models = (await api.models()).models;
    if (state.models.length === 0) {
      showTrouble(new Error("There is no model yet. Create one with “New model”."));
      return;
    }
    const known = state.models.map((each) => each.name);
    await select(known.includes(name) ? name : known[0]);
  } catch (problem) {
    if (problem.status !== 401) showTrouble(problem);
  }
}

let round = 0; // number of the polling loop; a new loop ends older ones

async function poll(own) {
  if (own !== round) return;
  let seconds = POLL_SECONDS;
  try {
    if (modelName() && !document.hidden) {
      const { models } = await api.models();
      const added = models.length !== state.models.length;
      state.models = models;
      if (added) listModels();
      const now = models.find((each) => each.name === modelName());
      showTrouble(null);
      if (now && (now.seq !== state.about.seq || now.labels !== state.about.labels)) {
        await refresh();
        emit("learned");
      }
    }
  } catch (problem) {
    if (problem.status === 401) return; // polling starts again after a key was entered
    showTrouble(problem);
    seconds = Math.max(seconds, problem.seconds ?? 0) + POLL_SECONDS;
  }
  setTimeout(() => poll(own), 1000 * seconds);
}

async function start(name) {
  await loadAll(name ?? fromAddress().name);
  round += 1;
  if (state.about) poll(round);
}

startTabs(() => modelName() && remember());
startKeys(() => start());
startNewModels((name) => loadAll(name));
startPredicting();
startLearning(async () => {
  await refresh();
  emit("learned");
});
startWhy();
startNewLabels();
startTree();
startQuality();
byId("model").addEventListener("change", (event) => select(event.target.value).catch(showTrouble));
on("show-label", () => showTab("tree"));
addEventListener("hashchange", () => {
  const { name, tab } = fromAddress();
  if (!tab) return;
  showTab(tab);
  if (name !== modelName()) loadAll(name);
});
if (fromAddress().tab) showTab(fromAddress().tab);
start();
