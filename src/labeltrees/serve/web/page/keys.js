// A dialog for the key of the server, opened when the server needs one or by a button.

import { hasKey, useKey, whenKeyIsNeeded } from "./api.js";
import { byId } from "./dom.js";

export function startKeys(whenGiven) {
  const dialog = byId("key-dialog");
  const open = (wrong) => {
    byId("key").hidden = false;
    byId("key-wrong").textContent = wrong;
    byId("key-text").value = "";
    if (!dialog.open) dialog.showModal();
  };
  byId("key").hidden = !hasKey();
  byId("key").addEventListener("click", () => open(""));
  whenKeyIsNeeded((problem) => open(hasKey() ? problem.message : ""));
  byId("key-forget").addEventListener("click", () => {
    useKey("");
    dialog.close();
  });
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(byId("key-text").value.trim());
    dialog.close();
    whenGiven();
  });
}
