/* Order the results of a search: pages come first whose titles have every word that is searched for.
   The numbers are Sphinx's own. */

var Scorer = {
  score: ([, title, , , score]) => {
    const searched = new URLSearchParams(window.location.search).get("q") || "";
    const words = searched.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (word) => title.toLowerCase().includes(word);
    return score + (words.length && words.every(has) ? 20 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
