"""Compare `labeltrees train FILE` without options with tuned peers, on files as people have them.

    python benchmarks/first_contact.py --data DIR
    python benchmarks/first_contact.py --only iris wine digits breast-cancer debian
    python benchmarks/first_contact.py --data DIR --only clinc150 --limit 2000 --no-peers

There is a table for each set, and a summary. Each peer is installed into its own virtual
environment under benchmarks/work/ (or $LABELTREES_BENCHMARK_WORK), which gets the files too, and
the report names peers that cannot be installed. DIR has some of clinc150, rcv1-sub1, letter,
bibtex, delicious and yso-en. Debian's package descriptions come from `apt-cache dumpavail` (after
`apt-get update`) and are kept for the next time.
"""

from __future__ import annotations

from functools import partial

from contact_sections import comparison
from contact_sections.data_sets import SETS
from harness.benchmark import Benchmark, Options
from harness.report import Block, notes

EXPLANATIONS = (
    "Files are lines of label and text (clinc150, debian, yso-en), XC text (rcv1-sub1, bibtex, "
    "delicious), and tables with a header (the others). Ours learns each file as found, sorted by "
    "label, and shuffled. Peers shuffle first, so the order does not matter to them. Test rows are "
    "the official ones, or the last fifth of a fixed shuffle.",
    "labeltrees: `labeltrees train FILE -o MODEL --json`, which chooses everything. `-o` and "
    "`--json` only set where to save and how to print. Predictions come from `labeltrees predict`.",
    "Features of scikit-learn, VW and Omikuji: TF-IDF of words and bigrams (sublinear), rows of XC "
    "files scaled to length 1, columns of tables standardised. fastText makes its own of the "
    "texts, in small letters with punctuation apart, and gets XC features without values.",
    "Peers tune on rows kept apart, by accuracy or the mean of P@1, P@3 and P@5, and learn again "
    "from all rows. Logistic regression: C from 0.1, 1, 10, 100. One vs rest and Omikuji (C of a "
    "single tree): 0.3, 1, 3, 10. VW: 5 or 20 passes (several labels: 5), `-l` 0.2, 0.5 or 2, "
    "logistic loss, `-b 24`. fastText: 5 or 25 epochs (several labels: 25), lr 0.2, 0.5 or 1 "
    "(halved where it gives NaN), words or bigrams, softmax (several labels: or ova; more than "
    "2,000 labels: hs), 100 "
    "dimensions.",
    "s is the wall time of the training process, from its start to the saved model, with reading, "
    "features and tuning. Ours includes its measurement on held-out rows. Omikuji uses all cores, "
    "the others one, and ours chooses how many.",
    "Log loss has the floor 1e-9. ECE has 15 bins of equal mass. Scores in brackets do not claim "
    "to be probabilities. Summary: accuracy or P@1 in %; ours is of the file as found; `same` "
    "if sorted and shuffled are 1 % or one row to test apart; regression is logistic regression or "
    "one vs rest, with its tuning and without; `slower`: than with it.",
)


def explanations(_: Options) -> list[Block]:
    return [notes(*EXPLANATIONS)]


def summary(options: Options) -> list[Block]:
    """Return a line for each set that was compared."""
    return comparison.summary(list(options.found.values()))


BENCHMARK = Benchmark(
    "first_contact",
    __doc__,
    {name: partial(comparison.section, name) for name in SETS},
    takes=("data", "limit", "no-peers"),
    before=explanations,
    after=summary,
)

if __name__ == "__main__":
    BENCHMARK.main()
