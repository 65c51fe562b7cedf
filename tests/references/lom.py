"""LOMtree in plain Python, written from the paper: dictionaries, and one step after the other.

Arithmetic is that of float32, operation by operation, so that ties fall the same way.
"""

from __future__ import annotations

import math

import numpy as np

F = np.float32


class Node:
    def __init__(self):
        self.parent = self.left = self.right = None
        self.n_recycled = 0
        self.set_node()

    def set_node(self):
        self.left = self.right = None
        self.l = {}  # label -> examples taught while a leaf
        self.n, self.e = {}, {}  # label -> examples since the split, and their mean score
        self.N, self.E = F(0), F(0)
        self.C = 0
        self.weights, self.sums = {}, {}
        self.histogram = {}
        self.reached = {}  # l_v of the paper: label -> examples that reached the node, taught

    @property
    def is_leaf(self):
        return self.left is None


class ReferenceLomTree:
    def __init__(self, *, max_splits, swap_resistance=4, loss="hinge", optimizer="adagrad",
                 learning_rate=1.0, normalize=True, bias=0.25, back_off=1.0):  # fmt: skip
        self.root = Node()
        self.t = 0
        self.n_recyclings = 0
        self.T, self.RS = max_splits, swap_resistance
        self.loss, self.optimizer, self.rate = loss, optimizer, F(learning_rate)
        self.normalize, self.bias, self.back_off = normalize, bias, back_off
        self.totals = {}
        self.asked, self.drawn = {}, {}  # class of nodes -> rows

    def prepared(self, x):
        values = [F(v) for v in x]
        scale = F(1)
        square = sum(float(v) * float(v) for v in values)
        if self.normalize and square > 0:
            scale = F(1 / np.sqrt(square))
        row = [(i, v * scale) for i, v in enumerate(values) if v != 0]
        if self.bias:
            row.append(("bias", F(self.bias)))
        return row

    def score(self, node, row):
        total = F(0)
        for feature, x in row:
            total = total + x * node.weights.get(feature, F(0))
        return total

    def slope(self, margin, c):
        if self.loss == "hinge":
            return -c if margin * c < 1 else F(0)
        if self.loss == "squared":
            return margin - c
        if self.loss == "absolute":
            return F(np.sign(margin - c))
        return -c * (F(1) / (F(1) + np.exp(c * margin)))

    def train(self, node, row, c):
        g = self.slope(self.score(node, row), c)
        if g != 0:
            for feature, x in row:
                step = g * x
                if self.optimizer == "adagrad":
                    node.sums[feature] = node.sums.get(feature, F(0)) + step * step
                    change = self.rate * step / np.sqrt(node.sums[feature] + F(1e-12))
                else:
                    change = self.rate * step
                node.weights[feature] = node.weights.get(feature, F(0)) - change
        return self.score(node, row)

    def way(self, row):
        nodes = [self.root]
        while not nodes[-1].is_leaf:
            at = nodes[-1]
            nodes.append(at.left if self.score(at, row) < 0 else at.right)
        return nodes

    def update_c(self, node):
        while node.parent is not None:
            node = node.parent
            node.C = min(node.left.C, node.right.C)

    def recycle(self):
        s = self.root
        while not s.is_leaf:
            s = s.left if s.left.C < s.right.C else s.right
        above = s.parent
        sibling = above.right if above.left is s else above.left
        sibling.parent = above.parent
        if above is self.root:
            self.root = sibling
        else:
            if above.parent.left is above:
                above.parent.left = sibling
            else:
                above.parent.right = sibling
            self.update_c(sibling)
        for node in (s, above):
            node.set_node()
            node.n_recycled += 1
        self.n_recyclings += 1
        return s, above

    def split_if_due(self, j):
        if len(j.l) < 2:
            return
        if self.t < self.T:
            a, b = Node(), Node()
            self.t += 1
        elif self.t > 0 and j.C - max(j.l.values()) > self.RS * (self.root.C + 1):
            a, b = self.recycle()
        else:
            return
        j.left, j.right = a, b
        a.parent = b.parent = j
        a.C = j.C // 2
        b.C = j.C - a.C
        self.update_c(a)

    def observe(self, x, y):
        row = self.prepared(x)
        self.measure_trust(row, y)
        self.totals[y] = self.totals.get(y, 0) + 1
        way = self.way(row)
        for node in way:
            node.histogram[y] = node.histogram.get(y, 0) + 1
        j = self.root
        while True:
            j.reached[y] = j.reached.get(y, 0) + 1
            if way and way[0] is j:
                way.pop(0)
            else:  # taught, it leaves the way it would have gone
                way = []
                j.histogram[y] = j.histogram.get(y, 0) + 1
            if j.is_leaf:
                j.l[y] = j.l.get(y, 0) + 1
                self.split_if_due(j)
                if j.is_leaf:
                    j.C += 1
                    self.update_c(j)
                    return
                j.l[y] -= 1  # it goes on as an inner node's example
            c = F(-1) if j.e.get(y, F(0)) < j.E else F(1)
            score = self.train(j, row, c)
            j.n[y] = j.n.get(y, F(0)) + F(1)
            j.e[y] = j.e.get(y, F(0)) + (score - j.e.get(y, F(0))) / j.n[y]
            j.N = j.N + F(1)
            j.E = j.E + (score - j.E) / j.N
            j = j.left if score < 0 else j.right

    def trust_class(self, node):
        n, n_labels = sum(node.histogram.values()), len(node.histogram)
        size, repeats = (math.frexp(v)[1] - 1 for v in (n, 2 * n / n_labels))
        return node.is_leaf, min(size, 19), min(repeats, 7)

    def trust(self, node):
        kind = self.trust_class(node)
        return (1 + self.drawn.get(kind, 0)) / (2 + self.asked.get(kind, 0))

    def measure_trust(self, row, y):
        """Divide the row among the nodes that may have drawn its label, all by the old trusts."""
        if y not in self.totals:
            return
        way = [node for node in self.way(row) if node.histogram]
        chances, left = [], 1.0
        for node in reversed(way):
            trust, n = self.trust(node), sum(node.histogram.values())
            chances.append(left * trust * node.histogram.get(y, 0) / n)
            left *= 1 - trust
        chances.append(left * self.totals[y] / sum(self.totals.values()))
        for i, node in enumerate(reversed(way)):
            kind = self.trust_class(node)
            self.asked[kind] = self.asked.get(kind, 0) + sum(chances[i:]) / sum(chances)
            self.drawn[kind] = self.drawn.get(kind, 0) + chances[i] / sum(chances)

    def probability(self, x, y):
        p = base = self.totals.get(y, 0) / sum(self.totals.values())
        for node in self.way(self.prepared(x)):
            if node.histogram:
                n, trust = sum(node.histogram.values()), self.trust(node)
                kappa = self.back_off * n * (1 - trust) / trust
                p = (node.histogram.get(y, 0) + kappa * p) / (n + kappa)
        return (1 - 1e-6) * p + 1e-6 * base

    def leaf_labels(self, x):
        """The labels that the paper may give: those with the highest frequency at the leaf.

        Section 3: "the label with the highest frequency amongst the examples reaching that leaf".
        It does not say which of several, nor what a leaf says that no example has reached: here
        what its nearest ancestor says that has been reached.
        """
        counts = next(v.reached for v in reversed(self.way(self.prepared(x))) if v.reached)
        return {y for y, count in counts.items() if count == max(counts.values())}

    def shape(self, node=None):
        """The tree as nested tuples: C, E, histogram and children of every node."""
        node = node or self.root
        children = () if node.is_leaf else (self.shape(node.left), self.shape(node.right))
        return (node.C, float(node.E), dict(sorted(node.histogram.items())), children)


class ReferenceHeaviestTree(ReferenceLomTree):
    """The construction that Theorem 1 analyses: split the leaf with the highest weight.

    "We recursively find the leaf node with the highest weight, and choose to split it into two
    children." A leaf of one label has no entropy to lose and is left alone. Its hypothesis is
    found by the rule of Algorithm 1, over the leaf's own examples; if it sends all of them to one
    side, the leaf stays one.
    """

    def fit(self, X, y, n_passes):
        leaves = [(self.root, list(range(len(y))))]
        while leaves and self.t < self.T:
            j, rows = max(leaves, key=lambda leaf: len(leaf[1]))  # the oldest of equal ones
            leaves = [leaf for leaf in leaves if leaf[0] is not j]
            if len({y[r] for r in rows}) < 2:
                continue
            j.left, j.right = Node(), Node()
            j.left.parent = j.right.parent = j
            self.t += 1
            for _ in range(n_passes):
                for r in rows:
                    self.teach(j, self.prepared(X[r]), y[r])
            left = [r for r in rows if self.score(j, self.prepared(X[r])) < 0]
            right = [r for r in rows if r not in left]
            if left and right:
                leaves += [(j.left, left), (j.right, right)]
            else:  # that was no split
                j.set_node()
                self.t -= 1
        for x, label in zip(X, y, strict=True):
            row = self.prepared(x)
            self.measure_trust(row, label)
            self.totals[label] = self.totals.get(label, 0) + 1
            way = self.way(row)
            for node in way:
                node.histogram[label] = node.histogram.get(label, 0) + 1
            way[-1].C += 1
            self.update_c(way[-1])
        return self

    def teach(self, j, row, y):
        c = F(-1) if j.e.get(y, F(0)) < j.E else F(1)
        score = self.train(j, row, c)
        j.n[y] = j.n.get(y, F(0)) + F(1)
        j.e[y] = j.e.get(y, F(0)) + (score - j.e.get(y, F(0))) / j.n[y]
        j.N = j.N + F(1)
        j.E = j.E + (score - j.E) / j.N
