"""The conditional probability tree and conditional PECOC (paper 1) in plain Python."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np


class ReferenceNode:
    """A node with its own dense regressor; a leaf has a label and no children."""

    def __init__(self, label, parent, width):
        self.label, self.parent = label, parent
        self.left = self.right = None
        self.weights = np.zeros(width, dtype=np.float32)
        self.sums = np.zeros(width, dtype=np.float32)
        self.left_counts = [0] * width  # examples with each feature that went left, fading
        self.right_counts = [0] * width
        self.mass = 0.0

    def is_leaf(self):
        return self.left is None

    def leaves(self):
        return [self] if self.is_leaf() else self.left.leaves() + self.right.leaves()

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()


def vote_class(left, right):
    """How far a feature seen so often is trusted: 0-7 if it spoke one way only, 8-15 if both."""
    n = left + right
    if left == 0 or right == 0:
        return min(7, n - 1 if n < 4 else int(math.log2(n)) + 1)
    return 8 + min(7, int(math.log2(n)) - 1)


def rounded_sum(value):
    """The nearest of the numbers with 10 bits of fraction from 2^-40 to 2^23, or 0."""
    if value < 2.0**-40:
        return 0.0
    mantissa, exponent = math.frexp(float(value))
    return math.ldexp(math.floor(mantissa * 2048 + 0.5), exponent - 11)


class ReferenceConditionalTree:
    """Algorithm 3 of the paper, with or without its leaf regressor, one example at a time.

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
        learning_rate=1.0,
        mixing=True,
        sharpness=1.2,
        balance="examples",
        alpha=0.6,
        leaf_regressor=False,
    ):
        self.leaf_regressor = leaf_regressor
        self.n_features, self.loss, self.normalize, self.bias = n_features, loss, normalize, bias
        self.optimizer, self.learning_rate = optimizer, np.float32(learning_rate)
        self.balance, self.alpha = balance, alpha
        self.mixing, self.sharpness = mixing and loss == "logistic", np.float32(sharpness)
        untaught = np.array([0.3] * 16 + [1.0, 0.0], dtype=np.float32)
        self.mixtures = [untaught.copy() for _ in range(24)]
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

    def mixed_inputs(self, node, x):
        """The votes of feature counts by class of trust, the margin, and the overall log-odds."""
        inputs = np.zeros(18, dtype=np.float32)
        for k in range(self.n_features):  # all but the constant feature
            left, right = node.left_counts[k], node.right_counts[k]
            if x[k] != 0 and left + right > 0:
                vote = np.float32(math.log(right + np.float32(0.3))) - np.float32(
                    math.log(left + np.float32(0.3))
                )
                inputs[vote_class(left, right)] += x[k] * vote
        inputs[16] = self.margin(node, x)
        inputs[17] = math.log((node.right.mass + 0.4) / (node.left.mass + 0.4))
        return inputs

    def mixture(self, node):
        return self.mixtures[min(23, int(math.log2(node.mass + 1)))]

    def log_odds(self, node, x):
        if not self.mixing:
            return self.margin(node, x)
        total = np.float32(0)
        for weight, value in zip(self.mixture(node), self.mixed_inputs(node, x), strict=True):
            total += weight * value
        return total

    def link(self, log_odds):
        log_odds = float(log_odds)
        if self.loss == "logistic":
            return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
        return min(max(log_odds, 0.0), 1.0)

    def estimate(self, node, x):
        return self.link(self.log_odds(node, x))

    def ask(self, node, x):
        """What learning needs to know of a node before any node learns."""
        inputs = np.clip(self.mixed_inputs(node, x), -8, 8) if self.mixing else None
        return self.margin(node, x), inputs, self.estimate(node, x)

    def step(self, node, x, margin, target, weight, store=float):
        """One gradient step of a node's regressor; store says how a sum is kept."""
        value = margin if self.loss == "squared" else self.link(margin)
        slope = np.float32(weight) * (np.float32(value) - np.float32(target))
        gradient = slope * x
        if self.optimizer == "sgd":
            node.weights -= self.learning_rate * slope * x
        else:
            sums = node.sums + gradient * gradient
            node.weights -= self.learning_rate * gradient / np.sqrt(sums + np.float32(1e-12))
            node.sums = np.array([store(value) for value in sums], dtype=np.float32)

    def train(self, node, x, target, weight, said):
        margin, inputs, estimate = said
        self.step(node, x, margin, target, weight, store=rounded_sum)
        if self.mixing:
            error = np.float32(estimate) - np.float32(target)
            mixture = self.mixture(node)
            mixture -= np.float32(0.002) * np.float32(min(weight, 1.0)) * error * inputs
            for k in range(self.n_features):
                if x[k] != 0:
                    self.count(node, k, bool(target) == (x[k] > 0))

    def count(self, node, k, up):
        same, other = (
            (node.right_counts, node.left_counts) if up else (node.left_counts, node.right_counts)
        )
        if same[k] >= 60:
            same[k] //= 2
            other[k] //= 2
        same[k] += 1
        if other[k] > 2:
            other[k] = 1 + other[k] // 2

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

        # In float32: a regressor that is undecided but for rounding sends new labels left.
        value = (1 - self.alpha) * 2 * (float(np.float32(self.estimate(node, x))) - 0.5)
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
            self.teach_leaf(self.root, x, weight)
            return None
        known = label in self.leaf_of
        p = self.probability(x, label) if known else None
        if not known:
            place = self.find_place(x)
            place.left, place.right = self.new_node(place.label, place), self.new_node(label, place)
            place.left.mass = place.mass
            place.left.weights, place.left.sums = place.weights.copy(), place.sums.copy()
            self.leaf_of[place.label], self.leaf_of[label] = place.left, place.right
            place.label = None
        leaf = self.leaf_of[label]
        said = [self.ask(node, x) for node, _ in self.path(leaf)]
        for (node, turn), opinion in zip(self.path(leaf), said, strict=True):
            self.train(node, x, turn, weight, opinion)
        for node, _ in self.path(leaf):
            node.mass += weight
        leaf.mass += weight
        self.teach_leaf(leaf, x, weight)
        return p

    def teach_leaf(self, leaf, x, weight):
        """A leaf learns that its label goes left, for the day when it becomes an inner node."""
        if self.leaf_regressor:
            self.step(leaf, x, self.margin(leaf, x), 0, weight, store=rounded_sum)

    def probability(self, prepared, label):
        """Equation (2), every factor kept 1e-6 away from 0 and 1."""
        p = 1.0
        for node, turn in self.path(self.leaf_of[label]):
            log_odds = self.log_odds(node, prepared)
            if self.mixing:
                log_odds = self.sharpness * log_odds
            p_right = min(max(self.link(log_odds), 1e-6), 1 - 1e-6)
            p *= p_right if turn else 1 - p_right
        return p

    def distribution(self, x):
        prepared = self.prepare(x)
        return {label: self.probability(prepared, label) for label in self.leaf_of}

    def parents(self):
        index = {id(node): i for i, node in enumerate(self.nodes)}
        return [-1 if n.parent is None else index[id(n.parent)] for n in self.nodes]


def hadamard_code(size):
    """C of section 3.2.1, its recursion mended: [[C, C], [C, 1 - C]]."""
    code = np.ones((1, 1), dtype=int)
    while len(code) < size:
        code = np.block([[code, code], [code, 1 - code]])
    return code


def pecoc(answers):
    """Equation (4) for every column; answers[i] is r_i(x), and r_0 = 1."""
    code = hadamard_code(len(answers))
    answers = [1.0, *answers[1:]]
    return [
        2 * np.mean([r if code[i, y] else 1 - r for i, r in enumerate(answers)]) - 1
        for y in range(len(answers))
    ]


def project_on_simplex(values, floor):
    """The nearest point with sum 1 and no entry below the floor: lower all values by one shift."""
    low, high = min(values) - 2, max(values) + 2
    for _ in range(200):
        shift = (low + high) / 2
        total = sum(floor + max(v - shift, 0) for v in values)
        low, high = (shift, high) if total > 1 else (low, shift)
    return [floor + max(v - shift, 0) for v in values]


class ReferencePecocTree(ReferenceConditionalTree):
    """Conditional PECOC on a fixed tree, one example at a time."""

    def __init__(self, tree, n_features, **options):
        super().__init__(n_features, mixing=False, **options)
        self.tree = tree
        self.regressors = {}
        for node in np.flatnonzero(tree.n_children).tolist():
            size = 1
            while size < tree.n_children[node]:
                size *= 2
            # The row of all ones has no regressor.
            self.regressors[node] = [None] + [self.new_node(None, None) for _ in range(size - 1)]

    def children(self, node, x):
        """The probability of each child; child j has column k - 1 - j."""
        n_children, regressors = int(self.tree.n_children[node]), self.regressors[node]
        if n_children == 1:
            return [1.0]
        columns = pecoc([1.0] + [self.estimate(regressor, x) for regressor in regressors[1:]])
        return project_on_simplex(columns[::-1][:n_children], 2e-6 / n_children)

    def steps(self, label):
        """The inner nodes above a label, and which child comes next at each."""
        path = self.tree.path(label).tolist()
        first = self.tree.first_child
        return [(a, b - int(first[a])) for a, b in pairwise(path)]

    def observe(self, x, label, weight=1.0):
        x = self.prepare(x)
        p = self.probability(x, label)
        for node, child in self.steps(label):
            regressors = self.regressors[node]
            code = hadamard_code(len(regressors))
            for i, regressor in enumerate(regressors):
                if i > 0:
                    target = code[i, len(regressors) - 1 - child]
                    self.step(regressor, x, self.margin(regressor, x), target, weight)
        return p

    def probability(self, prepared, label):
        p = 1.0
        for node, child in self.steps(label):
            p *= self.children(node, prepared)[child]
        return p

    def distribution(self, x):
        prepared = self.prepare(x)
        return [self.probability(prepared, label) for label in range(self.tree.n_labels)]
