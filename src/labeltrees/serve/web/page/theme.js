// Runs before the page is drawn, so that a dark page does not flash white.
"use strict";
(() => {
  const names = { auto: "as in the system", light: "light", dark: "dark" };
  const choices = Object.keys(names);
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("theme") ?? "auto";
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
  if (!choices.includes(chosen)) chosen = "auto";

  function show() {
    document.documentElement.dataset.theme = chosen;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${names[chosen]}`;
    document.dispatchEvent(new Event("themechange"));
  }

  function next() {
    chosen = choices[(choices.indexOf(chosen) + 1) % choices.length];
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // As above.
    }
    show();
  }

  show();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", next);
    show();
  });
})();
