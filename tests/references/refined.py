"""Refined trees in plain Python: trees propose candidates, label-wise experts refine them."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from scipy import optimize
from tests.references.conditional import ReferenceConditionalTree, rounded_sum, vote_class


class ReferenceExpert:
    """What one label knows of each feature, the constant one last."""

    def __init__(self, width):
        self.weights = np.zeros(width, dtype=np.float32)
        self.sums = np.zeros(width, dtype=np.float32)
        self.others = [0] * width  # examples of other labels with each feature, fading
        self.own = [0] * width

    def count(self, feature, is_own):
        same, other = (self.own, self.others) if is_own else (self.others, self.own)
        if same[feature] >= 60:
            same[feature] //= 2
            other[feature] //= 2
        same[feature] += 1
        if other[feature] > 2:
            other[feature] = 1 + other[feature] // 2


class ReferenceRefinedTrees:
    """q(c) = e^m(c) / Z for candidates c, p(y) / Z for all other labels y, one row at a time.

    p is the mean of what the trees say, m(c) what label c's expert makes of it, and
    Z = sum of e^m over the candidates + p of all others together.

    `close_call` tells that rounding may decide otherwise: which of two equally likely paths is
    kept, or whether a step is large enough to be made.
    """

    def __init__(
        self, n_features, n_candidates, *, n_trees=1, sharpness=0.9, least_share=0.05, **options
    ):
        self.trees = [
            ReferenceConditionalTree(n_features, sharpness=sharpness, **options)
            for _ in range(n_trees)
        ]
        self.n_features, self.n_candidates = n_features, n_candidates
        self.least_share = least_share  # paths with less than that of the likeliest are given up
        self.close_call = False
        self.forget()

    @property
    def tree(self):
        return self.trees[0]

    def forget(self, scale=None):
        """Start with experts that know nothing; ``scale``: how they read rows, if not as trees."""
        self.experts = defaultdict(lambda: ReferenceExpert(self.n_features + 1))
        untaught = np.array([0.05] * 16 + [0.5, 1.0], dtype=np.float32)
        self.mixtures = [untaught.copy() for _ in range(24)]
        self.scale = scale

    def read(self, x):
        """Return a row as experts see it."""
        if self.scale is None:
            return self.tree.prepare(x)
        scaled = np.asarray(x, dtype=np.float32) * np.float32(self.scale)
        return np.append(scaled, np.float32(self.tree.bias))

    def p_trees(self, x, label):
        """Return the mean of the trees' probabilities of a label; 0 if it is new."""
        if label not in self.tree.leaf_of:
            return 0.0
        return sum(t.probability(t.prepare(x), label) for t in self.trees) / len(self.trees)

    def kept(self, n, paths):
        """Return the n likeliest of some (p, number, ...), of equals those of least number."""
        ranked = sorted(paths, key=lambda path: (-path[0], path[1]))
        if len(ranked) > n:
            last, next_one = ranked[n - 1][0], ranked[n][0]
            self.close_call |= last != next_one and math.isclose(last, next_one, rel_tol=1e-4)
        return ranked[:n]

    def beam(self, tree, x):
        """Return the labels of the likeliest leaves that a beam finds."""
        prepared = tree.prepare(x)
        numbers = {id(node): i for i, node in enumerate(tree.nodes)}
        level, leaves = [(1.0, 0, tree.root)], []
        while level:
            below = []
            for p_path, _, node in level:
                log_odds = tree.log_odds(node, prepared)
                if tree.mixing:
                    log_odds = tree.sharpness * log_odds
                right = min(max(tree.link(log_odds), 1e-6), 1 - 1e-6)
                for p_turn, child in ((1 - right, node.left), (right, node.right)):
                    found = leaves if child.is_leaf() else below
                    found.append((p_path * p_turn, numbers[id(child)], child))
            least = self.least_share * max(p for p, *_ in [*leaves, *below])
            for found in (leaves, below):
                self.close_call |= any(math.isclose(p, least, rel_tol=1e-4) for p, *_ in found)
                found[:] = [each for each in found if each[0] >= least]
            level = self.kept(self.n_candidates, below)
        return [leaf.label for *_, leaf in self.kept(self.n_candidates, leaves)]

    def candidates(self, x):
        """Return {label: p_trees} of a row's candidates, likeliest first."""
        if len(self.tree.leaf_of) < 3:
            return {}
        found = {label for tree in self.trees for label in self.beam(tree, x)}
        return {
            label: p
            for p, label in self.kept(
                self.n_candidates, [(self.p_trees(x, label), label) for label in found]
            )
        }

    def rest(self, candidates):
        """Return the trees' probability of all labels that are no candidates."""
        if len(candidates) == len(self.tree.leaf_of):
            return 0.0
        return max(0.0, 1 - sum(candidates.values()))

    def margin(self, label, x):
        return float(x.astype(float) @ self.experts[label].weights)

    def inputs(self, label, x, p):
        """Return what m is mixed of: votes by class of trust, the expert's margin, log p."""
        expert = self.experts[label]
        inputs = np.zeros(18, dtype=np.float32)
        if self.tree.mixing:
            for k in range(self.n_features):
                others, own = expert.others[k], expert.own[k]
                if x[k] != 0 and others + own > 0:
                    vote = np.float32(math.log(own + np.float32(0.3))) - np.float32(
                        math.log(others + np.float32(0.3))
                    )
                    inputs[vote_class(others, own)] += x[k] * vote
        inputs[16] = self.margin(label, x)
        inputs[17] = math.log(p)
        return inputs

    def mixture(self, label):
        return self.mixtures[min(23, int(math.log2(self.tree.leaf_of[label].mass + 1)))]

    def refined(self, x, candidates):
        """Return ({candidate: its inputs}, {candidate: its q}, Z)."""
        read = self.read(x)
        inputs = {label: self.inputs(label, read, p) for label, p in candidates.items()}
        e = {}
        for label, values in inputs.items():
            m = float(self.mixture(label).astype(float) @ values)
            e[label] = math.exp(min(max(m, -40), 40))
        z = sum(e.values()) + self.rest(candidates)
        return inputs, {label: each / z for label, each in e.items()}, z

    def distribution(self, x):
        _, q, z = self.refined(x, self.candidates(x))
        return {
            label: q[label] if label in q else self.p_trees(x, label) / z
            for label in self.tree.leaf_of
        }

    def observe(self, x, label, weight=1.0):
        """Learn one example; return the probability its label had before, None if it was new."""
        candidates = {} if self.tree.root is None else self.candidates(x)
        inputs, q, z = self.refined(x, candidates)
        p = self.p_trees(x, label)
        before = None if label not in self.tree.leaf_of else q.get(label, p / z)
        mixtures = {each: self.mixture(each) for each in candidates}
        for tree in self.trees:
            tree.observe(x, label, weight)
        for each, mixture in mixtures.items():
            error = np.float32(q[each]) - np.float32(each == label)
            step = np.float32(0.002) * np.float32(min(weight, 1.0)) * error
            mixture -= step * np.clip(inputs[each], -8, 8)
        n_labels = len(self.tree.leaf_of) - (before is None)
        rest = 0.0 if len(candidates) == n_labels else max(0.0, 1 - sum(candidates.values()))
        self.teach(x, label, weight, candidates, rest, p)
        return before

    def teach(self, x, label, weight, candidates, rest, p, *, again=False):
        """One step of the experts of all candidates and of the label, by a softmax of their own."""
        read = self.read(x)
        asked = dict(candidates)
        if label not in asked:
            asked[label] = p
            rest = max(0.0, rest - p)
        limited = {each: min(max(self.margin(each, read), -20), 20) for each in asked}
        own = {each: math.sqrt(asked[each]) * math.exp(limited[each]) for each in asked}
        z = sum(own.values()) + rest
        least = 0.001 if again else 0.02
        for each in asked:
            slope = (own[each] / z if z > 0 else 0.0) - (each == label)
            self.close_call |= math.isclose(abs(slope), least, rel_tol=1e-4)
            if abs(slope) >= least:
                self.step(each, read, np.float32(weight) * np.float32(slope), each == label, again)

    def step(self, label, x, slope, is_own, again):
        expert, tree = self.experts[label], self.tree
        rate = np.float32(0.5) * tree.learning_rate
        gradient = slope * x
        if tree.optimizer == "sgd":
            expert.weights -= rate * gradient
        else:
            sums = expert.sums + gradient * gradient
            expert.sums = np.array([rounded_sum(value) for value in sums], dtype=np.float32)
            expert.weights -= rate * gradient / np.sqrt(sums + np.float32(0.01))
        if tree.mixing and not again:
            for k in range(self.n_features):
                if x[k] != 0:
                    expert.count(k, is_own == (x[k] > 0))

    # fit

    def fit(self, X, y, weights, seed, *, go_on=False):
        """Let the trees learn rows in turn, and then the experts what was proposed for each."""
        proposed = []
        for x, label, weight in zip(X, y, weights, strict=True):
            has_any = weight > 0 and self.tree.root is not None
            proposed.append(self.candidates(x) if has_any else {})
            if weight > 0:
                for tree in self.trees:
                    tree.observe(x, label, weight)
        scale = common_scale(X, weights) if self.tree.normalize else None
        rows = list(zip(X, y, weights, proposed, strict=True))
        n_held = len(rows) // 5
        self.forget(scale)
        if n_held == 0:
            return 0
        seen, held = rows[: len(rows) - n_held], rows[len(rows) - n_held :]
        best = None
        for n_passes in range(1, 17):
            self.learn_proposed(seen, seed, n_passes)
            if n_passes not in (1, 2, 4, 8, 16):
                continue
            loss, trust = self.best_trust(held)
            if best is not None and trust[1] == best[1][1] == 0:
                continue  # experts that nobody trusts are all one
            if best is not None and loss != best[0]:
                self.close_call |= abs(loss - best[0]) < 1e-5 * loss
            if best is None or loss < best[0]:
                best = loss, trust, n_passes
            elif loss > 1.01 * best[0]:
                break
        if go_on and n_passes == best[2] >= 4:
            again = range(best[2] + 1, best[2] + best[2] // 4 + 1)
        else:
            self.forget(scale)
            again = range(1, best[2] + 1)
        for n_passes in again:
            self.learn_proposed(rows, seed, n_passes)
        for mixture in self.mixtures:
            mixture[17], mixture[16] = best[1]
        return best[2]

    def learn_proposed(self, rows, seed, number):
        """Go over rows whose candidates are known once more, in place in the order of that pass."""
        if number > 1:
            shuffle(rows, combined_hash(seed, number))
        for x, label, weight, candidates in rows:
            if weight > 0 and label in candidates:
                rest = self.rest(candidates)
                self.teach(x, label, weight, candidates, rest, 0.0, again=True)

    def best_trust(self, held):
        """Return the least mean loss of held-out rows, and the weights of log p and f with it."""
        said = [
            (
                np.log([*candidates.values()]),
                np.array([self.margin(each, self.read(x)) for each in candidates], dtype=float),
                [each == label for each in candidates],
                self.rest(candidates),
                weight,
            )
            for x, label, weight, candidates in held
            if weight > 0 and candidates
        ]

        if not said:
            return 0.0, np.ones(2)

        def loss(trust):
            total = ((np.array(trust) - 1) ** 2).sum() / 2
            for log_p, margins, is_truth, rest, weight in said:
                m = np.clip(trust[0] * log_p + trust[1] * margins, -40, 40)
                total += weight * (np.log(np.exp(m).sum() + rest) - m[is_truth].sum())
            return total / sum(each[-1] for each in said)

        tight = {"gtol": 1e-9}
        best = optimize.minimize(loss, [1.0, 1.0], options=tight)
        trust = best.x
        if trust[1] < 0:
            best = optimize.minimize(lambda v: loss([v[0], 0.0]), [1.0], options=tight)
            trust = np.array([best.x[0], 0.0])
        self.close_call |= abs(trust[1]) < 1e-4 and trust[1] != 0
        return float(best.fun), trust


def common_scale(X, weights):
    """Return what makes rows of length 1 on average."""
    square = sum(float(v) ** 2 for x, w in zip(X, weights, strict=True) if w > 0 for v in x)
    return math.sqrt(sum(w > 0 for w in weights) / square) if square > 0 else None


def combined_hash(first, second):
    """The hash of a pair, as orders of rows are made of it."""
    mask = 2**64 - 1
    bits = (first * 0x9E3779B97F4A7C15 + second) & mask
    for _ in range(2):
        bits = ((bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93) & mask
    return bits ^ (bits >> 32)


def shuffle(rows, seed):
    for i in range(len(rows), 1, -1):
        j = combined_hash(seed, i) % i
        rows[i - 1], rows[j] = rows[j], rows[i - 1]
