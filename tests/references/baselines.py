"""One-against-all and the frequency table (paper 1) in plain Python."""

from __future__ import annotations

from tests.references.conditional import ReferenceConditionalTree


class ReferenceOneAgainstAll(ReferenceConditionalTree):
    """One dense regressor per label; all of them learn every example."""

    def __init__(self, n_features, **options):
        super().__init__(n_features, mixing=False, **options)

    def observe(self, x, label, weight=1.0):
        x = self.prepare(x)
        p = self.normalised(x).get(label)
        if label not in self.leaf_of:
            self.leaf_of[label] = self.new_node(label, None)
        for other, regressor in self.leaf_of.items():
            self.step(regressor, x, self.margin(regressor, x), int(other == label), weight)
        return p

    def score(self, x, label):
        """f_y(x), the paper's prediction for (x, y) (section 4.3.1); 0 without a regressor."""
        if label not in self.leaf_of:
            return 0.0
        return self.estimate(self.leaf_of[label], self.prepare(x))

    def normalised(self, prepared):
        floor = 2e-6 / max(len(self.leaf_of), 1)
        scores = {y: max(self.estimate(f, prepared), floor) for y, f in self.leaf_of.items()}
        return {label: score / sum(scores.values()) for label, score in scores.items()}

    def distribution(self, x):
        return self.normalised(self.prepare(x))


def table_probability(examples, x, label, back_off):
    """The frequency of a label among (x, label, weight) examples with this x, backed off."""
    total = sum(w for _, _, w in examples)
    overall = sum(w for _, y, w in examples if y == label) / total
    here = [(y, w) for other, y, w in examples if tuple(other) == tuple(x)]
    if not here:
        return overall
    seen = sum(w for y, w in here if y == label)
    return (seen + back_off * overall) / (sum(w for _, w in here) + back_off)
