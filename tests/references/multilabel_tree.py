"""An online label tree for rows with many labels in plain Python, told its whole tree in advance.

The library grows its tree label by label; this one knows from the beginning where every label will
be, and teaches every node from the first row on. That both agree is what OPLT proves of its own
tree: learning with labels that are not known is learning with the final tree.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from tests.references.conditional import rounded_sum

WIDTH = 7


class ReferencePlace:
    """One of a node's seven places: a dense regressor, whether it is taken or not."""

    def __init__(self, width):
        self.weights = np.zeros(width, dtype=np.float32)
        self.sums = np.zeros(width, dtype=np.float32)
        self.mass = 0.0


class ReferenceExpert:
    """One label's own regressor."""

    def __init__(self, width):
        self.weights = np.zeros(width, dtype=np.float32)
        self.sums = np.zeros(width, dtype=np.float32)


class ReferenceLabelTree:
    """P(label) = product of eta over its path, refined for the likeliest labels.

    Parameters
    ----------
    n_features : int
    parents, slots, labels
        The whole tree: of each node its parent, its place there, and its label if it is a leaf.
    """

    def __init__(
        self, n_features, parents, slots, labels, *,
        n_candidates=0, least_share=0.01, learning_rate=1.0, mixing=True, sharpness=1.0, bias=0.25,
    ):  # fmt: skip
        self.n_features, self.bias = n_features, bias
        self.parents, self.slots = list(parents), list(slots)
        self.leaf_of = {label: node for node, label in enumerate(labels) if label >= 0}
        self.label_of = {node: label for label, node in self.leaf_of.items()}
        self.root = self.parents.index(-1)
        self.rate, self.mixing = np.float32(learning_rate), mixing
        self.sharpness = np.float32(sharpness)
        width = n_features + 1
        inner = [node for node in range(len(self.parents)) if node not in self.label_of]
        self.places = {node: [ReferencePlace(width) for _ in range(WIDTH)] for node in inner}
        self.top, self.mass, self.mass_of_rows = ReferencePlace(width), 0.0, 0.0
        self.mixtures = [np.array([1.0, 0.2], np.float32) for _ in range(24)]
        self.experts = {label: ReferenceExpert(width) for label in self.leaf_of}
        self.expert_mixtures = [np.array([0.5, 1.0], np.float32) for _ in range(24)]
        self.n_candidates, self.least_share = n_candidates, least_share
        self.seen = set()
        self.close_call = False

    def prepare(self, x):
        x = np.asarray(x, dtype=np.float32)
        length = math.sqrt(sum(float(v) ** 2 for v in x))
        if length > 0:
            x = x * np.float32(1 / length)
        return np.append(x, np.float32(self.bias))

    def path(self, label):
        """The nodes from the final root down to a label's leaf."""
        nodes = [self.leaf_of[label]]
        while self.parents[nodes[-1]] >= 0:
            nodes.append(self.parents[nodes[-1]])
        return nodes[::-1]

    def current_root(self):
        """The lowest inner node that all labels seen so far are below."""
        shared = None
        for label in self.seen:
            inner = self.path(label)[:-1]
            shared = inner if shared is None else [n for n in shared if n in inner]
        return shared[-1]

    def ask(self, place, x, n_rows, mass):
        """(margin, inputs, unsharpened log-odds, eta) of a place that had a label so often."""
        margin = np.float32(0)
        for value, weight in zip(x, place.weights, strict=True):
            margin += value * weight
        if not self.mixing:
            inputs, log_odds, sharp = None, margin, margin
        else:
            balance = math.log((mass + 0.4) / (max(0.0, n_rows - mass) + 0.4))
            inputs = np.array([margin, balance], dtype=np.float32)
            log_odds = np.float32(0)
            for weight, value in zip(self.mixture(mass), inputs, strict=True):
                log_odds += weight * value
            sharp = self.sharpness * log_odds
        eta = 1 / (1 + math.exp(-float(sharp)))
        return margin, inputs, log_odds, min(max(eta, 1e-6), 1 - 1e-6)

    def mixture(self, mass):
        return self.mixtures[min(23, int(math.log2(mass + 1)))]

    def ask_node(self, node, x):
        n_rows = self.mass_below(node)
        return [self.ask(place, x, n_rows, place.mass) for place in self.places[node]]

    def mass_below(self, node):
        parent = self.parents[node]
        return self.mass if parent < 0 else self.places[parent][self.slots[node]].mass

    def p_any(self, x):
        return self.ask(self.top, x, self.mass_of_rows, self.mass)[3]

    def p_tree(self, x, label):
        """The product from the current root down; above it, a label is where all others are."""
        nodes = self.path(label)
        nodes = nodes[nodes.index(self.current_root()) :]
        p = self.p_any(x)
        for above, below in pairwise(nodes):
            p *= self.ask_node(above, x)[self.slots[below]][3]
        return p

    def candidates(self, x):
        """{label: p_tree} of the likeliest labels that a beam finds."""
        if not self.n_candidates or not self.seen:
            return {}
        level, leaves = [(self.p_any(x), self.current_root())], []
        while level:
            below = []
            for p_path, node in level:
                said = self.ask_node(node, x)
                for child, parent in enumerate(self.parents):
                    if parent != node or not self.has_seen_below(child):
                        continue
                    p = p_path * said[self.slots[child]][3]
                    (leaves if child in self.label_of else below).append((p, child))
            bar = self.least_share * max((p for p, _ in leaves), default=0.0)
            leaves = self.kept([each for each in leaves if self.at_least(each[0], bar)])
            if len(leaves) == self.n_candidates:
                bar = max(bar, min(p for p, _ in leaves))
            level = self.kept([each for each in below if self.at_least(each[0], bar)])
        return {self.label_of[node]: p for p, node in sorted(leaves, key=lambda e: (-e[0], e[1]))}

    def at_least(self, p, bar):
        self.close_call |= p != bar and math.isclose(p, bar, rel_tol=1e-4)
        return p >= bar

    def kept(self, nodes):
        ranked = sorted(nodes, key=lambda each: (-each[0], each[1]))
        n = self.n_candidates
        if len(ranked) > n:
            self.close_call |= math.isclose(ranked[n - 1][0], ranked[n][0], rel_tol=1e-4)
        return ranked[:n]

    def has_seen_below(self, node):
        return any(node in self.path(label) for label in self.seen)

    def ask_expert(self, label, x, p):
        expert = self.experts[label]
        kept = min(max(p, 1e-9), 1 - 1e-9)
        margin = float(x.astype(float) @ expert.weights)
        inputs = np.array([margin, math.log(kept / (1 - kept))], dtype=np.float32)
        log_odds = float(self.expert_mixture(label).astype(float) @ inputs)
        return inputs, min(max(1 / (1 + math.exp(-log_odds)), 1e-6), 1 - 1e-6)

    def label_mass(self, label):
        leaf = self.leaf_of[label]
        return self.places[self.parents[leaf]][self.slots[leaf]].mass

    def expert_mixture(self, label):
        return self.expert_mixtures[min(23, int(math.log2(self.label_mass(label) + 1)))]

    def marginals(self, x):
        """{label: probability} of all labels seen so far."""
        x = self.prepare(x)
        found = self.candidates(x)
        p = {label: self.p_tree(x, label) for label in self.seen}
        return p | {label: self.ask_expert(label, x, found[label])[1] for label in found}

    def observe(self, x, labels, weight=1.0):
        """Learn one row with {label: relevance}."""
        x = self.prepare(x)
        found = self.candidates(x)
        before = {label: self.p_tree(x, label) for label in labels if label in self.seen}
        refined = {label: self.ask_expert(label, x, p) for label, p in found.items()}
        mixtures = {label: self.expert_mixture(label) for label in found}
        self.seen |= set(labels)
        self.teach_tree(x, labels, weight)
        for label, (inputs, q) in refined.items():
            error = np.float32(q) - np.float32(labels.get(label, 0.0))
            step = np.float32(0.002) * np.float32(min(weight, 1.0)) * error
            mixtures[label] -= step * np.clip(inputs, -8, 8)
        if self.n_candidates:
            outside = {label: before.get(label, 0.0) for label in labels if label not in found}
            for label, p in (found | outside).items():
                self.teach_expert(label, x, p, labels.get(label, 0.0), weight)

    def teach_tree(self, x, labels, weight):
        most = max(labels.values(), default=0.0)
        relevance = {}
        for label, value in labels.items():
            for node in self.path(label):
                relevance[node] = max(relevance.get(node, 0.0), value)
        within = set()
        if self.seen:
            top = self.current_root()
            within = {n for label in self.seen for n in self.path(label)}
            within -= set(self.path(next(iter(self.seen)))[: self.path_place(top)])
        said_top = self.ask(self.top, x, self.mass_of_rows, self.mass)
        said = {node: self.ask_node(node, x) for node in relevance if node in self.places}
        self.teach(self.top, x, said_top, most, weight, self.mixture(self.mass))
        # From the root down, and of nodes of one height in their order.
        for node in sorted(said, key=lambda n: (-self.height(n), n)):
            targets = [0.0] * WIDTH
            for child, parent in enumerate(self.parents):
                if parent == node and child in relevance:
                    targets[self.slots[child]] = relevance[child] / relevance[node]
            own = np.float32(weight) * np.float32(relevance[node])
            for place, opinion, target in zip(self.places[node], said[node], targets, strict=True):
                mixture = self.mixture(place.mass) if node in within else None
                self.teach(place, x, opinion, target, own, mixture)
        self.mass_of_rows += weight
        for node, value in relevance.items():
            if self.parents[node] < 0:
                self.mass += weight * value
            else:
                self.places[self.parents[node]][self.slots[node]].mass += weight * value

    def path_place(self, node):
        return self.path(next(iter(self.seen))).index(node)

    def height(self, node):
        children = [child for child, parent in enumerate(self.parents) if parent == node]
        return 1 + max(map(self.height, children)) if children else 0

    def teach(self, place, x, said, target, weight, mixture):
        margin, inputs, log_odds, _ = said
        link = np.float32(1 / (1 + math.exp(-float(margin))))
        gradient = np.float32(weight) * (link - np.float32(target)) * x
        sums = place.sums + gradient * gradient
        place.weights -= self.rate * gradient / np.sqrt(sums + np.float32(0.1))
        place.sums = np.array([rounded_sum(each) for each in sums], dtype=np.float32)
        if self.mixing and mixture is not None:
            error = np.float32(1 / (1 + math.exp(-float(log_odds)))) - np.float32(target)
            mixture -= (
                np.float32(0.002) * np.float32(min(weight, 1.0)) * error * np.clip(inputs, -8, 8)
            )

    def teach_expert(self, label, x, p, target, weight):
        expert = self.experts[label]
        kept = min(max(p, 1e-9), 1 - 1e-9)
        half = 0.5 * math.log(kept / (1 - kept))
        margin = float(x.astype(float) @ expert.weights)
        slope = 1 / (1 + math.exp(-(margin + half))) - target
        self.close_call |= math.isclose(abs(slope), 0.1, rel_tol=1e-3)
        if abs(slope) < 0.1:
            return
        gradient = np.float32(weight) * np.float32(slope) * x
        sums = expert.sums + gradient * gradient
        rate = np.float32(0.5) * self.rate
        expert.weights -= rate * gradient / np.sqrt(sums + np.float32(0.3))
        expert.sums = np.array([rounded_sum(each) for each in sums], dtype=np.float32)
