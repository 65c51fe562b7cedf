// A dialog that creates a model without training.

import { makeModel } from "./api.js";
import { byId } from "./dom.js";

export function startNewModels(whenMade) {
  const dialog = byId("new-dialog");
  const name = byId("new-name");
  byId("new-model").addEventListener("click", () => {
    byId("new-wrong").textContent = "";
    dialog.showModal();
  });
  byId("new-cancel").addEventListener("click", () => dialog.close());
  byId("new-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await makeModel(name.value.trim(), byId("new-learns").value, byId("new-method").value);
    } catch (problem) {
      byId("new-wrong").textContent = problem.message;
      return;
    }
    dialog.close();
    whenMade(name.value.trim());
    name.value = "";
  });
}
