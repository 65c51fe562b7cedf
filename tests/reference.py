"""Each method in plain Python, written from its definition: slow and obvious."""

from __future__ import annotations

import math

import numpy as np

# --- metrics ---------------------------------------------------------------------------------


def mean(values, weights=None):
    weights = [1.0] * len(values) if weights is None else weights
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def squared_loss(p_label, weights=None):
    return mean([(1 - p) ** 2 for p in p_label], weights)


def log_loss(p_label, floor, weights=None):
    return mean([-math.log(max(p, floor)) for p in p_label], weights)


def brier_score(columns, proba, weights=None):
    scores = []
    for true_column, row in zip(columns, proba, strict=True):
        score = 0.0 if true_column >= 0 else 1.0
        for column, p in enumerate(row):
            score += ((column == true_column) - p) ** 2
        scores.append(score)
    return mean(scores, weights)


def top_k_accuracy(y_true, top_labels, weights=None):
    hits = [float(truth in list(row)) for truth, row in zip(y_true, top_labels, strict=True)]
    return mean(hits, weights)


def reliability_bins(pairs, n_bins):
    """Bins of (p, hit, weight) triples as a list of (mean p, frequency, weight)."""
    total = sum(weight for _, _, weight in pairs)
    below = 0.0
    bins = {}
    for value in sorted({p for p, _, weight in pairs if weight > 0}):
        group = [(p, hit, weight) for p, hit, weight in pairs if p == value]
        mass = sum(weight for _, _, weight in group)
        middle = (below + mass / 2) / total * n_bins
        bins.setdefault(min(math.floor(middle + 1e-9), n_bins - 1), []).extend(group)
        below += mass
    return [
        (
            mean([p for p, _, _ in group], [weight for _, _, weight in group]),
            mean([float(hit) for _, hit, _ in group], [weight for _, _, weight in group]),
            sum(weight for _, _, weight in group),
        )
        for _, group in sorted(bins.items())
    ]


def expected_calibration_error(pairs, n_bins):
    bins = reliability_bins(pairs, n_bins)
    return mean([abs(frequency - p) for p, frequency, _ in bins], [weight for *_, weight in bins])


def top_pairs(y_true, top_labels, top_probabilities, weights):
    """The (p, hit, weight) triples of all returned labels, without padding."""
    return [
        (p, label == truth, weight)
        for truth, labels, row, weight in zip(
            y_true, top_labels, top_probabilities, weights, strict=True
        )
        for label, p in zip(labels, row, strict=True)
        if label is not None
    ]


def stream_scores(rows, floor):
    """Scores of (p_label, correct, p_top, is_new, weight) rows, as progressive validation's."""
    weights = [weight for *_, weight in rows]
    p_label = [p for p, *_ in rows]
    seen = [(p, weight) for p, _, _, is_new, weight in rows if not is_new]
    scores = {"n_rows": len(rows), "n_new_labels": sum(is_new for *_, is_new, _ in rows)}
    if sum(weights) > 0:
        scores["squared_loss"] = squared_loss(p_label, weights)
        scores["log_loss"] = log_loss(p_label, floor, weights)
        scores["accuracy"] = mean([float(correct) for _, correct, *_ in rows], weights)
    if sum(weight for _, weight in seen) > 0:
        scores["log_loss_seen"] = log_loss(
            [p for p, _ in seen], floor, [weight for _, weight in seen]
        )
    return scores


# --- end of metrics --------------------------------------------------------------------------


# --- conditional probability trees -------------------------------------------------------------


class ReferenceNode:
    """A node with its own dense regressor; a leaf has a label and no children."""

    def __init__(self, label, parent, width):
        self.label, self.parent = label, parent
        self.left = self.right = None
        self.weights = np.zeros(width, dtype=np.float32)
        self.sums = np.zeros(width, dtype=np.float32)
        self.mass = 0.0

    def is_leaf(self):
        return self.left is None

    def leaves(self):
        return [self] if self.is_leaf() else self.left.leaves() + self.right.leaves()

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()


class ReferenceConditionalTree:
    """Algorithm 3 of the paper, without its leaf regressor, one example at a time.

    Works in float32 where the library does, so that both take the same turns at close calls.
    """

    def __init__(
        self,
        n_features,
        *,
        loss="logistic",
        normalize=True,
        bias=0.25,
        optimizer="adagrad",
        learning_rate=1.5,
        balance="examples",
        alpha=0.6,
    ):
        self.n_features, self.loss, self.normalize, self.bias = n_features, loss, normalize, bias
        self.optimizer, self.learning_rate = optimizer, np.float32(learning_rate)
        self.balance, self.alpha = balance, alpha
        self.root = None
        self.nodes = []  # in order of creation
        self.leaf_of = {}

    def prepare(self, x):
        x = np.asarray(x, dtype=np.float32)
        length = math.sqrt(sum(float(v) ** 2 for v in x))
        if self.normalize and length > 0:
            x = x * np.float32(1 / length)
        return np.append(x, np.float32(self.bias))

    def margin(self, node, x):
        total = np.float32(0)
        for value, weight in zip(x, node.weights, strict=True):
            total += value * weight
        return total

    def estimate(self, node, x):
        margin = float(self.margin(node, x))
        if self.loss == "logistic":
            return 1 / (1 + math.exp(-margin)) if margin > -700 else 0.0
        return min(max(margin, 0.0), 1.0)

    def train(self, node, x, target, weight):
        value = self.margin(node, x) if self.loss == "squared" else self.estimate(node, x)
        slope = np.float32(weight) * (np.float32(value) - np.float32(target))
        gradient = slope * x
        if self.optimizer == "sgd":
            node.weights -= self.learning_rate * slope * x
        else:
            node.sums += gradient * gradient
            node.weights -= self.learning_rate * gradient / np.sqrt(node.sums + np.float32(1e-12))

    def new_node(self, label, parent):
        node = ReferenceNode(label, parent, self.n_features + 1)
        self.nodes.append(node)
        return node

    def path(self, leaf):
        """The inner nodes above a leaf with the turn taken at each, from the root down."""
        turns = []
        while leaf.parent is not None:
            turns.append((leaf.parent, int(leaf is leaf.parent.right)))
            leaf = leaf.parent
        return turns[::-1]

    def objective(self, node, x):
        def size(side):
            return side.mass if self.balance == "examples" else len(side.leaves())

        value = (1 - self.alpha) * 2 * (self.estimate(node, x) - 0.5)
        if self.alpha > 0:
            value += self.alpha * (math.log2(size(node.left)) - math.log2(size(node.right)))
        return value

    def depth_bound(self, n_labels):
        if self.alpha == 0:
            return math.inf
        kappa = 1 / (1 + 2 ** (1 - 1 / self.alpha))
        return math.log(n_labels) / math.log(1 / kappa) + 2

    def find_place(self, x):
        bound = self.depth_bound(len(self.leaf_of) + 1) if self.balance == "examples" else math.inf
        node = self.root
        while not node.is_leaf():
            preferred, other = node.left, node.right
            if self.objective(node, x) > 0:
                preferred, other = other, preferred
            nearest = min(leaf.depth() for leaf in preferred.leaves())
            node = preferred if nearest + 1 <= bound else other
        return node

    def observe(self, x, label, weight=1.0):
        """Learn one example; return the probability its label had before, None if it was new."""
        x = self.prepare(x)
        if self.root is None:
            self.root = self.leaf_of[label] = self.new_node(label, None)
            self.root.mass += weight
            return None
        known = label in self.leaf_of
        p = self.probability(x, label) if known else None
        if not known:
            place = self.find_place(x)
            place.left, place.right = self.new_node(place.label, place), self.new_node(label, place)
            place.left.mass = place.mass
            self.leaf_of[place.label], self.leaf_of[label] = place.left, place.right
            place.label = None
        leaf = self.leaf_of[label]
        for node, turn in self.path(leaf):
            self.train(node, x, turn, weight)
            node.mass += weight
        leaf.mass += weight
        return p

    def probability(self, prepared, label):
        """Equation (2), every factor kept 1e-6 away from 0 and 1."""
        p = 1.0
        for node, turn in self.path(self.leaf_of[label]):
            p_right = min(max(self.estimate(node, prepared), 1e-6), 1 - 1e-6)
            p *= p_right if turn else 1 - p_right
        return p

    def distribution(self, x):
        prepared = self.prepare(x)
        return {label: self.probability(prepared, label) for label in self.leaf_of}

    def parents(self):
        index = {id(node): i for i, node in enumerate(self.nodes)}
        return [-1 if n.parent is None else index[id(n.parent)] for n in self.nodes]


# --- self-terminating trees ----------------------------------------------------------------------


def bisect(decreasing, low, high):
    """The point where a decreasing function passes 0."""
    for _ in range(60):
        middle = (low + high) / 2
        if decreasing(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def branch_posterior(q, u, penalty):
    """The p nearest to u (in relative entropy) of those with sum |q - p| <= penalty; all u > 0."""
    if np.abs(q - u).sum() <= penalty:
        return u
    half = penalty / 2
    high = bisect(lambda b: np.maximum(q - b * u, 0).sum() - half, 1.0, (q / u).max() + 1)
    low = bisect(lambda a: half - np.maximum(a * u - q, 0).sum(), 0.0, 1.0)
    return np.clip(q, low * u, high * u)


def relative_entropy(p, u):
    return sum(float(a * np.log(a / b)) for a, b in zip(p, u, strict=True) if a > 0)


def sibling_posteriors(counts, u, penalty):
    """Both branches' p when their distances share one penalty: by trying how they share it."""
    weights = [c.sum() for c in counts]
    far = [np.abs(c - w * u).sum() for c, w in zip(counts, weights, strict=True)]
    if sum(far) <= penalty:
        return [u, u]

    def both(share):
        shares = (share, penalty - share)
        return [branch_posterior(c / w, u, part / w)
                for c, w, part in zip(counts, weights, shares, strict=True)]  # fmt: skip

    def spread(p):
        ratio = np.log(p / u)
        return ratio.max() - ratio.min()

    if penalty == 0:
        return both(0.0)
    low, high = max(0.0, penalty - far[1]), min(penalty, far[0])
    return both(bisect(lambda s: spread(both(s)[0]) - spread(both(s)[1]), low, high))


class ReferenceSelfTerminatingTree:
    """Goldman and Singer's tree: every threshold of every feature is tried, every p is dense."""

    def __init__(self, X, masses, *, penalty, weight_power=0.0, min_gain=0.0, norm="l1"):
        self.X, self.masses = np.asarray(X, dtype=np.float32), masses
        self.penalty, self.weight_power, self.min_gain = penalty, weight_power, min_gain
        self.norm = norm
        counts = masses.sum(axis=0) + 0.5
        self.p = np.empty(masses.shape)  # of every row, at its leaf
        self.n_leaves = 0
        self.grow(np.arange(len(X)), counts / counts.sum(), 0)

    def posteriors(self, sides, u):
        counts = [self.masses[rows].sum(axis=0) for rows in sides]
        weights = [c.sum() for c in counts]
        if self.norm == "linf":
            return sibling_posteriors(counts, u, self.penalty * sum(weights) ** self.weight_power)
        return [branch_posterior(c / w, u, self.penalty * w**self.weight_power / w)
                for c, w in zip(counts, weights, strict=True)]  # fmt: skip

    def gain(self, sides, u):
        return sum(self.masses[rows].sum() * relative_entropy(p, u)
                   for rows, p in zip(sides, self.posteriors(sides, u), strict=True))  # fmt: skip

    def candidates(self, rows):
        for feature in range(self.X.shape[1]):
            x = self.X[rows, feature]
            missing = np.isnan(x)
            values = np.unique(x[~missing])
            if missing.any() and len(values):
                yield rows[missing], rows[~missing]
            for value in values[:-1]:
                for missing_left in (False, True)[: 1 + missing.any()]:
                    left = np.where(missing, missing_left, x <= value)
                    yield rows[left], rows[~left]

    def grow(self, rows, u, depth):
        best, best_gain = None, np.float32(0)
        for sides in self.candidates(rows):
            gain = np.float32(self.gain(sides, u))
            if gain > best_gain:
                best, best_gain = sides, gain
        if (
            best is None
            or best_gain < self.min_gain
            or best_gain <= 1e-12 * self.masses[rows].sum()
        ):
            self.p[rows] = u
            self.n_leaves += 1
            return
        for side, p in zip(best, self.posteriors(best, u), strict=True):
            if p is u:  # terminated
                self.p[side] = u
                self.n_leaves += 1
            else:
                self.grow(side, p, depth + 1)
