"""What "Conditional probability tree estimation analysis and algorithms" (UAI 2009) proves.

Each test names its statement. Regressors are adversaries: the statements hold for all of them.
Errata: Theorem 7's bound is log n / log(1 / kappa) + 2; Claim 6 is strict to the right only,
because ties go left; the code's recursion doubles its size, C_2m = [[C, C], [C, 1 - C]].
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.conditional import ReferenceConditionalTree

from labeltrees import ConditionalTreeClassifier, LabelTree, _core
from labeltrees.data.rows import as_rows

ALPHAS = [0.05, 0.1, 0.2, 0.3, 0.37, 0.5, 0.6, 0.75, 0.9, 1.0]


def kappa(alpha):
    return 1 / (1 + 2 ** (1 - 1 / alpha))


def entropy(share):
    return -sum(q * math.log(q) for q in (share, 1 - share) if q > 0)


# Section 4.2: how deep the online tree gets.

# With these settings one example sets every regressor on its label's path to exactly 0 or 1.
OBEDIENT = {
    "loss": "squared",
    "optimizer": "sgd",
    "learning_rate": 1.0,
    "normalize": False,
    "bias": 0.0,
}


def victims(rng, tree, adversary):
    """The label beside which the adversary wants the next one."""
    leaves = np.flatnonzero(tree.label >= 0)
    if adversary == "deepest":
        leaf = leaves[np.argmax(tree.depths[leaves])]
    elif adversary == "outermost":
        leaf = 0
        while tree.label[leaf] < 0:
            leaf = tree.first_child[leaf] + 1
    else:
        leaf = rng.choice(leaves)
    return int(tree.label[leaf])


def grow(alpha, balance, adversary, n_labels):
    """Yield the model after each new label; before it, regressors are made to point elsewhere."""
    rng = np.random.default_rng(0)
    model = ConditionalTreeClassifier(alpha=alpha, balance=balance, **OBEDIENT)
    model.partial_fit([[1.0]], [0])
    for label in range(1, n_labels):
        model.partial_fit([[1.0]], [victims(rng, model.tree_, adversary)])
        model.partial_fit([[1.0]], [label])
        yield model


@pytest.mark.parametrize("adversary", ["deepest", "outermost", "random"])
@pytest.mark.parametrize("balance", ["labels", "examples"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_7_depth_is_at_most_log_n_by_log_1_over_kappa_plus_2(alpha, balance, adversary):
    for model in grow(alpha, balance, adversary, 100):
        tree = model.tree_
        bound = math.log(tree.n_labels) / math.log(1 / kappa(alpha)) + 2
        assert tree.depth <= bound + 1e-9
        assert _core.depth_bound(tree.n_labels, alpha) == pytest.approx(bound)


def test_the_adversary_of_theorem_7_has_teeth():
    depths = {}
    for alpha in (0.0, 0.1, 0.3, 1.0):
        *_, model = grow(alpha, "labels", "deepest", 100)
        depths[alpha] = model.tree_.depth
    assert depths[0.0] == 99  # a chain: without balance there is no bound
    assert depths[0.1] > 40
    assert depths[0.3] > 10
    assert depths[1.0] == 7


@pytest.mark.parametrize("adversary", ["deepest", "outermost", "random"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_claim_6_no_side_has_more_than_its_share_after_any_insertion(alpha, adversary):
    for model in grow(alpha, "labels", adversary, 80):
        assert excess_of_claim_6(model.tree_, alpha) <= 1e-9


def excess_of_claim_6(tree, alpha):
    """By how many labels at most a side of a node passes kappa N + (1 - kappa)."""
    share, inner = kappa(alpha), np.flatnonzero(tree.label < 0)
    left = tree.n_leaves[tree.first_child[inner]]
    right = tree.n_leaves[tree.first_child[inner] + 1]
    return (np.maximum(left, right) - share * (left + right) - (1 - share)).max()


def grow_in_batches(alpha, balance):
    """Yield models learned by two threads, in batches with hundreds of new labels each.

    The first is a balanced tree whose regressors were taught that everything goes right, so that
    whoever places a batch's labels by the counts of its start puts them all there.
    """
    rng = np.random.default_rng(0)

    def rows(n):
        return np.c_[np.ones(n), rng.normal(size=(n, 6))]

    options = {"alpha": alpha, "balance": balance, "n_jobs": 2, "scale": None, "refine": 0}
    model = ConditionalTreeClassifier(
        structure=LabelTree.balanced(512), loss="squared", optimizer="sgd", learning_rate=0.5,
        **options,
    )  # fmt: skip
    model.partial_fit(rows(2000), rng.integers(256, 512, size=2000), classes=np.arange(512))
    for first in (512, 812):
        yield model.partial_fit(rows(300), np.arange(first, first + 300))
    mixed = ConditionalTreeClassifier(**options)
    yield mixed.partial_fit(rows(900), np.r_[np.zeros(300, int), np.arange(600)])


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.6, 0.9, 1.0])
def test_claim_6_and_theorem_7_hold_for_threads_too(alpha):
    for model in grow_in_batches(alpha, "labels"):
        assert excess_of_claim_6(model.tree_, alpha) <= 1e-9
        assert model.tree_.depth <= _core.depth_bound(model.tree_.n_labels, alpha) + 1e-9
        total = int(model.tree_.depths[model.tree_.label >= 0].sum())
        assert total <= theorem_9(model.tree_) * (1 + 1e-12)
    for model in grow_in_batches(alpha, "examples"):
        assert model.tree_.depth <= _core.depth_bound(model.tree_.n_labels, alpha) + 1e-9


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_claims_5_and_6_in_whole_numbers_strict_to_the_right(m):
    # alpha = 1 / (1 + m): with p = 1 rule (5) goes right iff 2^m L > R, with p = 0 iff L > 2^m R,
    # and any p between is one of these two turns.
    share = Fraction(2**m, 2**m + 1)
    states, some_left_is_full = {(1, 1)}, False
    for n in range(2, 120):
        for left, right in states:
            if Fraction(right, n) > share:  # Claim 5: no p sends the label right
                assert not 2**m * left > right
            if Fraction(left, n) > share:
                assert left > 2**m * right
            assert right < share * n + (1 - share)
            assert left <= share * n + (1 - share)
            some_left_is_full |= left == share * n + (1 - share) and n > 2
        turns = {
            (left, right, 2**m * left > right if says_right else left > 2**m * right)
            for left, right in states
            for says_right in (False, True)
        }
        states = {(left + (not turn), right + turn) for left, right, turn in turns}
    assert some_left_is_full  # the erratum: equality does occur on the left


class Replay(ReferenceConditionalTree):
    """The reference tree, counting disagreements (Definition 8) as labels are inserted."""

    disagreements = 0

    def find_place(self, x):
        place = super().find_place(x)
        for node, turn in self.path(place):
            self.disagreements += turn != (self.estimate(node, x) > 0.5)
        return place


def adversarial_stream(seed, n_labels):
    """New labels, each after examples that make the regressors expect others."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for label in range(n_labels):
        for old in rng.integers(label, size=min(label, 2)):
            X.append(rng.choice([1.0, 1.0, -1.0], size=2))
            y.append(int(old))
        X.append(rng.choice([1.0, 1.0, -1.0], size=2))
        y.append(label)
    return np.array(X, dtype=np.float32), y


@pytest.mark.parametrize("balance", ["labels", "examples"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.37, 0.6, 1.0])
def test_disagreements_are_at_most_the_total_depth_and_theorem_9_bounds_that(alpha, balance):
    for seed in range(4):
        X, y = adversarial_stream(seed, 40)
        options = {"alpha": alpha, "balance": balance, "learning_rate": 0.5}
        tree = ConditionalTreeClassifier(**options, scale=None).partial_fit(X, y).model_.tree
        replay = Replay(X.shape[1], **options)
        for x, label in zip(X, y, strict=True):
            replay.observe(x, label)
        assert tree.parent.tolist() == replay.parents()
        total = int(tree.depths[tree.label >= 0].sum())
        assert replay.disagreements <= total
        assert total <= theorem_9(tree) * (1 + 1e-12)
        if alpha == 0:
            assert replay.disagreements == 0
        if alpha == 1:
            assert replay.disagreements > 0


def theorem_9(tree):
    """n log n / H(kappa), kappa being the largest share of any side of any node."""
    inner = np.flatnonzero(tree.label < 0)
    left = tree.n_leaves[tree.first_child[inner]]
    shares = np.maximum(left, tree.n_leaves[inner] - left) / tree.n_leaves[inner]
    return tree.n_labels * math.log(tree.n_labels) / entropy(float(shares.max()))


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 60), st.integers(0, 10**6))
def test_theorem_9_total_depth_is_at_most_n_log_n_by_entropy(n_labels, seed):
    tree, _ = random_tree(np.random.default_rng(seed), n_labels)
    total = int(tree.depths[tree.label >= 0].sum())
    assert total <= theorem_9(tree) * (1 + 1e-12)


def test_theorem_9_is_tight_for_perfectly_balanced_trees():
    tree = LabelTree.balanced(64)
    assert tree.depths[tree.label >= 0].sum() == pytest.approx(theorem_9(tree))


def test_theorem_9_on_the_trees_of_an_adversary():
    for alpha in (0.05, 0.3, 0.6, 1.0):
        *_, model = grow(alpha, "labels", "deepest", 120)
        tree = model.tree_
        assert tree.depths[tree.label >= 0].sum() <= theorem_9(tree) * (1 + 1e-12)


# Section 3.1.1: errors of the nodes and the error of the product.


def random_tree(rng, n_labels):
    """A binary tree split at random, and its inner nodes' (labels left, labels right)."""
    splits = []

    def split(labels):
        if len(labels) == 1:
            return int(labels[0])
        cut = int(rng.integers(1, len(labels)))
        splits.append((labels[:cut], labels[cut:]))
        return [split(labels[:cut]), split(labels[cut:])]

    return LabelTree.from_nested(split(rng.permutation(n_labels))), splits


def conditionals(p, splits):
    """P(right given at the node) of every split, and 1/2 where nothing gets there."""
    right = np.array([p[r].sum() for _, r in splits])
    there = np.array([p[left].sum() + p[r].sum() for left, r in splits])
    return np.divide(right, there, out=np.full(len(splits), 0.5), where=there > 0)


def adversarial(rng, p_nodes, how):
    if how == "shifted":
        return np.clip(p_nodes + rng.choice([-1, 1]) * rng.uniform(0, 0.3), 0, 1)
    if how == "certain":
        return rng.integers(2, size=len(p_nodes)).astype(float)
    if how == "opposite":
        return 1 - p_nodes
    return rng.uniform(size=len(p_nodes))


def check_lemma_2_and_theorem_1(p, q):
    """p and q: the probabilities of the turns towards one label, true and estimated."""
    gap = abs(np.prod(q) - np.prod(p))
    largest = np.maximum(p, q)
    slabs = sum(abs(q[i] - p[i]) * np.prod(np.delete(largest, i)) for i in range(len(p)))
    total = np.abs(q - p).sum()
    assert gap <= slabs + 1e-12
    assert slabs <= total + 1e-12
    if len(p):
        assert gap**2 <= len(p) ** 2 * np.mean((q - p) ** 2) + 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 25),
    st.integers(0, 10**6),
    st.sampled_from(["shifted", "certain", "opposite", "random"]),
    st.sampled_from([0.05, 1.0, 20.0]),
)
def test_lemma_2_and_theorem_1_on_random_trees(n_labels, seed, how, concentration):
    rng = np.random.default_rng(seed)
    _, splits = random_tree(rng, n_labels)
    p = rng.dirichlet(np.full(n_labels, concentration))
    p_nodes = conditionals(p, splits)
    q_nodes = adversarial(rng, p_nodes, how)
    for label in range(n_labels):
        on_path = [i for i, (a, b) in enumerate(splits) if label in a or label in b]
        is_right = np.array([label in splits[i][1] for i in on_path])
        p_turns = np.where(is_right, p_nodes[on_path], 1 - p_nodes[on_path])
        q_turns = np.where(is_right, q_nodes[on_path], 1 - q_nodes[on_path])
        assert np.prod(p_turns) == pytest.approx(p[label], abs=1e-12)  # equation (2)
        check_lemma_2_and_theorem_1(p_turns, q_turns)


probabilities = st.floats(0, 1)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(probabilities, probabilities), max_size=12))
def test_lemma_2_and_theorem_1_on_any_path(turns):
    pairs = np.array(turns).reshape(-1, 2)
    check_lemma_2_and_theorem_1(pairs[:, 0], pairs[:, 1])


def test_lemma_2_and_theorem_1_cannot_be_improved():
    # A label that is certain, and every node slightly less so: the errors add.
    p, q = np.ones(10), np.full(10, 1 - 1e-5)
    gap = 1 - np.prod(q)
    assert gap > 0.999 * np.abs(q - p).sum()
    assert gap**2 > 0.999 * 10**2 * np.mean((q - p) ** 2)


def test_lemma_2_and_theorem_1_between_two_models_with_one_tree():
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=400)
    X = rng.normal(size=(30, 8))[y] + rng.normal(size=(400, 8))
    truth = ConditionalTreeClassifier(refine=0).partial_fit(X, y).model_
    core = truth.core
    keys, weights, *rest = core.lines()
    noise = rng.normal(0, 0.5, size=weights.shape).astype(np.float32)
    worse = _core.ConditionalTree(
        core.tree(), core.masses(), keys, weights + noise, *rest, core.mixtures()
    )
    for r in range(5):
        rows = as_rows(X[[r]])
        for label in range(30):
            turns = []
            for model in (core, worse):
                report = _core.report_path(model, *rows.arrays, label, truth.settings.reading)
                right, p_nodes = report[1], report[3]
                turns.append(np.where(right == 1, p_nodes, 1 - p_nodes))
            check_lemma_2_and_theorem_1(*turns)


# Section 3.2: PECOC, alone and at the nodes of a tree.


def hadamard(size):
    """The code for a power of 2: rows are questions, columns are labels."""
    code = np.ones((1, 1), dtype=int)
    while len(code) < size:
        code = np.block([[code, code], [code, 1 - code]])
    return code


def pecoc(code, r):
    """Equation (4) for every label; r[0] belongs to the trivial question and is 1."""
    return 2 * np.mean(code * r[:, None] + (1 - code) * (1 - r[:, None]), axis=0) - 1


def answers(rng, perfect, how):
    """Regressors in [0, 1], some way off the perfect ones, right for the trivial question."""
    if how == "certain":
        r = rng.integers(2, size=len(perfect)).astype(float)
    elif how == "opposite":
        r = 1 - perfect
    else:
        r = rng.uniform(size=len(perfect))
    r[0] = 1.0
    return r


def test_the_code_is_the_papers_and_splits_every_pair_in_half():
    assert hadamard(2).tolist() == [[1, 1], [1, 0]]
    for size in (2, 4, 8, 16):
        code = hadamard(size)
        assert code[0].all()  # the trivial question
        for y in range(size):
            agrees = (code == code[:, [y]]).sum(axis=0)
            assert np.array_equal(agrees, np.where(np.arange(size) == y, size, size // 2))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 33), st.integers(0, 10**6))
def test_pecoc_with_perfect_regressors_is_the_distribution(n_labels, seed):
    size = 1 << (n_labels - 1).bit_length()  # 2^(t-1) < n <= 2^t, the rest are dummies
    p = np.zeros(size)
    p[:n_labels] = np.random.default_rng(seed).dirichlet(np.full(n_labels, 0.3))
    code = hadamard(size)
    assert pecoc(code, code @ p) == pytest.approx(p, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([2, 4, 8, 16]),
    st.integers(0, 10**6),
    st.sampled_from(["certain", "opposite", "random"]),
)
def test_lemma_4_pecoc_regret(size, seed, how):
    rng = np.random.default_rng(seed)
    code, p = hadamard(size), rng.dirichlet(np.full(size, 0.3))
    perfect = code @ p
    r = answers(rng, perfect, how)
    loss = np.mean((r - perfect)[1:] ** 2)  # over the questions that are asked
    bound = 4 * ((size - 1) / size) ** 2 * loss
    estimate = pecoc(code, r)
    assert ((estimate - p) ** 2 <= bound + 1e-12).all()
    assert estimate.sum() == pytest.approx(1)
    if size == 2:  # the tree's node: label 0 is where the only question's answer is 1
        assert estimate == pytest.approx([r[1], 1 - r[1]])


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_lemma_4_is_attained(size):
    code, p = hadamard(size), np.full(size, 1 / size)
    perfect = code @ p
    for y in range(size):
        r = perfect + 0.1 * (2 * code[:, y] - 1)
        r[0] = 1.0
        gap = pecoc(code, r)[y] - p[y]
        assert gap**2 == pytest.approx(4 * ((size - 1) / size) ** 2 * 0.1**2)


def k_way_paths(rng, p, k, how):
    """For every label the turns' probabilities true and estimated, and the squared losses asked.

    Labels are the leaves of the complete k-way tree, in order.
    """
    code, depth = hadamard(k), round(math.log(len(p), k))
    paths = [([], [], []) for _ in p]
    for level in range(depth):
        width = len(p) // k**level
        for start in range(0, len(p), width):
            children = p[start : start + width].reshape(k, -1).sum(axis=1)
            true = children / children.sum() if children.sum() > 0 else np.full(k, 1 / k)
            r = how(code, true) if callable(how) else answers(rng, code @ true, how)
            estimate, losses = pecoc(code, r), (r - code @ true)[1:] ** 2
            for label in range(start, start + width):
                child = (label - start) // (width // k)
                paths[label][0].append(true[child])
                paths[label][1].append(estimate[child])
                paths[label][2].extend(losses)
    return [tuple(map(np.array, path)) for path in paths]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(2, 8), (2, 16), (4, 16), (4, 64), (8, 64), (16, 16)]),
    st.integers(0, 10**6),
    st.sampled_from(["certain", "opposite", "random"]),
    st.booleans(),
)
def test_theorem_3_conditional_pecoc_regret(shape, seed, how, clip):
    k, n = shape
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n, 0.2))
    for label, (true, estimate, losses) in enumerate(k_way_paths(rng, p, k, how)):
        assert len(losses) == (k - 1) * round(math.log(n, k))
        assert np.prod(true) == pytest.approx(p[label], abs=1e-12)
        q = np.prod(np.clip(estimate, 0, 1) if clip else estimate)
        bound = 4 * math.log(n, k) ** 2 * ((k - 1) / k) ** 2 * losses.mean()
        assert (q - p[label]) ** 2 <= bound + 1e-12


@pytest.mark.parametrize(("k", "n"), [(2, 16), (4, 16), (4, 64), (8, 64)])
def test_theorem_3_cannot_be_improved(k, n):
    p = np.zeros(n)
    p[0] = 1.0

    def slightly_off(code, true):
        r = code @ true + 1e-6 * (1 - 2 * code[:, 0])  # label 0 answers 1 to every question
        r[0] = 1.0
        return r

    true, estimate, losses = k_way_paths(None, p, k, slightly_off)[0]
    assert np.prod(true) == 1
    bound = 4 * math.log(n, k) ** 2 * ((k - 1) / k) ** 2 * losses.mean()
    assert (1 - np.prod(estimate)) ** 2 > 0.999 * bound


def test_theorem_3_for_k_2_is_theorem_1():
    # 4 (log_2 n)^2 ((2 - 1) / 2)^2 = d^2
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(8))
    for true, estimate, _ in k_way_paths(rng, p, 2, "random"):
        check_lemma_2_and_theorem_1(true, estimate)
