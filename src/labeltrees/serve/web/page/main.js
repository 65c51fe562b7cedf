// The page: which models there are, which one is looked at, and what changes meanwhile.

import * as api from "./api.js";
import { startAsking } from "./ask.js";
import { byId, make } from "./dom.js";
import { startKeys } from "./keys.js";
import { startNewest } from "./newest.js";
import { startNewModels } from "./new_model.js";
import { plural } from "./numbers.js";
import { startQuality } from "./quality.js";
import { modelName, on, state, tell } from "./state.js";
import { showTab, startTabs, tabShown } from "./tabs.js";
import { startTeaching } from "./teach.js";
import { startTree } from "./tree.js";
import { startWhy } from "./why.js";

const POLL_SECONDS = 2;
const TAKES = { text: "texts", python: "Python code", features: "features" };

// #demo/tree is the tree of the model "demo".
function wanted() {
  const [name, tab] = location.hash.slice(1).split("/");
  try {
    return tab === undefined ? {} : { name: decodeURIComponent(name), tab };
  } catch {
    return {}; // not an address that this page made
  }
}

function remember() {
  history.replaceState(null, "", `#${encodeURIComponent(modelName())}/${tabShown()}`);
}

function complain(problem) {
  const line = byId("trouble");
  line.hidden = !problem;
  line.textContent = problem ? problem.message : "";
}

function showFacts() {
  const { labels, seq, takes, can_learn: canLearn } = state.about;
  const parts = [`takes ${TAKES[takes] ?? takes}`, plural(labels, "label"), `${plural(seq, "example")} learned here`];
  if (!canLearn) parts[2] = "does not learn";
  byId("facts").textContent = parts.join(" · ");
  byId("facts").title = state.about.kind;
}

function listModels() {
  const select = byId("model");
  const options = state.models.map(({ name }) => make("option", { value: name, selected: name === modelName() }, name));
  select.replaceChildren(...options);
}

async function look(name) {
  const about = await api.about(name);
  state.about = about;
  listModels();
  showFacts();
  complain(null);
  tell("model");
  remember();
}

// What is known of the model is read again after a lesson; others may teach it too.
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
      complain(new Error("There is no model yet. Make one by “New model”."));
      return;
    }
    const known = state.models.map((each) => each.name);
    await look(known.includes(name) ? name : known[0]);
  } catch (problem) {
    if (problem.status !== 401) complain(problem);
  }
}

let round = 0; // of polling: a new one ends those before it

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
      complain(null);
      if (now && (now.seq !== state.about.seq || now.labels !== state.about.labels)) {
        await refresh();
        tell("learned");
      }
    }
  } catch (problem) {
    if (problem.status === 401) return; // a key is asked for: polling begins again with it
    complain(problem);
    seconds = Math.max(seconds, problem.seconds ?? 0) + POLL_SECONDS;
  }
  setTimeout(() => poll(own), 1000 * seconds);
}

async function start(name) {
  await loadAll(name ?? wanted().name);
  round += 1;
  if (state.about) poll(round);
}

startTabs(() => modelName() && remember());
startKeys(() => start());
startNewModels((name) => loadAll(name));
startAsking();
startTeaching(async () => {
  await refresh();
  tell("learned");
});
startWhy();
startNewest();
startTree();
startQuality();
byId("model").addEventListener("change", (event) => look(event.target.value).catch(complain));
on("show-label", () => showTab("tree"));
addEventListener("hashchange", () => {
  const { name, tab } = wanted();
  if (!tab) return;
  showTab(tab);
  if (name !== modelName()) loadAll(name);
});
if (wanted().tab) showTab(wanted().tab);
start();
