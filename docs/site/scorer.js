/* Order the results of a search. A result comes first if its title contains every word of the search as a
   whole word, and names that only contain the letters of a word come last. Numbers without a comment are
   Sphinx's defaults. */

var Scorer = {
  score: ([, title, , description, score]) => {
    const searched = new URLSearchParams(window.location.search).get("q") || "";
    const words = (text) =>
      text
        .replace(/([a-z0-9])([A-Z])/g, "$1 $2") // OneAgainstAllClassifier has four words
        .toLowerCase()
        .split(/[^a-z0-9]+/)
        .filter(Boolean);
    const wanted = words(searched);
    const there = words(title);
    const matched = wanted.filter((word) => there.includes(word));
    if (!wanted.length || matched.length < wanted.length) return score;
    const isPage = !description; // names of the reference are described by their kind
    return score + (isPage ? 40 : 20) + (there.length === wanted.length ? 20 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 1, // a part of a name is no word; Sphinx has 6
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
