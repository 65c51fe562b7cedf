"""The tree over labels: every builder makes a tree that holds each label once, every way of
writing a tree down can be read back, and nothing that is not a tree gets in.
"""

from __future__ import annotations

import copy
import heapq
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees.errors import ArgumentError, TooLargeError, TreeStructureError
from labeltrees.tree import MAX_LABEL, LabelTree
from labeltrees.tree import _builders as builders

ARITY = st.integers(2, 6)


@st.composite
def trees(draw: st.DrawFn) -> LabelTree:
    """Any tree with up to 40 nodes, numbered breadth first, labels in any order."""
    n_nodes = draw(st.integers(1, 40))
    parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, n_nodes)]
    leaves = sorted(set(range(n_nodes)) - set(parent))
    label = np.full(n_nodes, -1)
    label[leaves] = draw(st.permutations(range(len(leaves))))
    return LabelTree.from_parents(parent, label)


@st.composite
def built(draw: st.DrawFn) -> LabelTree:
    """What each builder makes of up to 60 labels."""
    n_labels, arity = draw(st.integers(0, 60)), draw(ARITY)
    kind = draw(st.sampled_from(["balanced", "random", "huffman"]))
    if kind == "balanced":
        return LabelTree.balanced(n_labels, arity=arity)
    if kind == "random":
        return LabelTree.random(n_labels, arity=arity, seed=draw(st.integers(0, 2**64 - 1)))
    weights = draw(st.lists(st.floats(0, 1e9), min_size=n_labels, max_size=n_labels))
    return LabelTree.huffman(weights, arity=arity)


def least_mean_depth(weights: list[float], arity: int) -> float:
    """Huffman's mean depth times the total weight: the sum over merges of the merged weight."""
    heap = list(weights)
    while len(heap) > 1 and (len(heap) - 1) % (arity - 1):
        heap.append(0.0)  # a label that nobody asks for fills the one merge that is not full
    heapq.heapify(heap)
    total = 0.0
    while len(heap) > 1:
        merged = sum(heapq.heappop(heap) for _ in range(arity))
        total += merged
        heapq.heappush(heap, merged)
    return total


def weighted_depth(tree: LabelTree, weights: list[float]) -> float:
    return sum(weight * tree.leaf_depth(label) for label, weight in enumerate(weights))


# Worked example: ((2 0) 1), that is root 0, inner node 1, leaves 2 (label 1), 3 and 4.


@pytest.fixture
def small() -> LabelTree:
    return LabelTree.from_nested([[2, 0], 1])


def test_worked_example_by_hand(small: LabelTree) -> None:
    assert (small.n_nodes, small.n_labels, small.depth) == (5, 3, 2)
    assert small.parent.tolist() == [-1, 0, 0, 1, 1]
    assert small.label.tolist() == [-1, -1, 1, 2, 0]
    assert small.first_child.tolist() == [1, 3, -1, -1, -1]
    assert small.n_children.tolist() == [2, 2, 0, 0, 0]
    assert small.n_leaves.tolist() == [3, 2, 1, 1, 1]
    assert small.sizes.tolist() == [5, 3, 1, 1, 1]
    assert small.depths.tolist() == [0, 1, 1, 2, 2]
    assert small.path(0).tolist() == [0, 1, 4]
    assert [small.leaf_depth(label) for label in range(3)] == [2, 1, 2]
    assert [small.leaf_of(label) for label in range(3)] == [4, 2, 3]
    assert repr(small) == "LabelTree(n_labels=3, n_nodes=5, depth=2)"


def test_the_same_tree_in_every_notation(small: LabelTree) -> None:
    edges = [("root", "left"), ("left", "two"), ("root", "one"), ("left", "zero")]
    assert LabelTree.from_edges(edges, labels={"zero": 0, "one": 1, "two": 2}) == small
    assert LabelTree.from_parents([4, 0, 4, 0, -1], [-1, 2, 1, 0, -1]) == small
    assert LabelTree.from_nested(([2, 0], 1)) == small
    assert LabelTree.from_nested([[0, 2], 1]) != small
    assert small != "a tree"


def test_huffman_of_textbook_weights() -> None:
    tree = LabelTree.huffman([45, 13, 12, 16, 9, 5])
    assert [tree.leaf_depth(label) for label in range(6)] == [1, 3, 3, 3, 4, 4]


# Against a slow reference.


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), ARITY)
def test_huffman_has_the_least_mean_depth(weights: list[int], arity: int) -> None:
    huffman = weighted_depth(LabelTree.huffman(weights, arity=arity), weights)
    assert huffman == least_mean_depth(weights, arity)
    assert huffman <= weighted_depth(LabelTree.balanced(len(weights), arity=arity), weights)


# Invariants.


@given(st.one_of(trees(), built()))
def test_every_tree_satisfies_its_invariants(tree: LabelTree) -> None:
    tree.validate()
    nodes = np.arange(tree.n_nodes)
    leaves = tree.label >= 0
    assert sorted(tree.label[leaves]) == list(range(tree.n_labels))
    assert (tree.parent < nodes).all()
    assert (leaves == (tree.n_children == 0)).all()
    for node in nodes[~leaves]:
        children = tree.first_child[node] + np.arange(tree.n_children[node])
        assert (tree.parent[children] == node).all()
        assert tree.n_leaves[node] == tree.n_leaves[children].sum()
        assert tree.sizes[node] == 1 + tree.sizes[children].sum()
        assert (tree.depths[children] == tree.depths[node] + 1).all()
    for label in range(tree.n_labels):
        path = tree.path(label)
        assert path[0] == 0
        assert tree.label[path[-1]] == label
        assert (tree.parent[path[1:]] == path[:-1]).all()
        assert tree.leaf_depth(label) == len(path) - 1 == tree.depths[path[-1]]


@given(st.integers(1, 2000), ARITY)
def test_balanced_depth_is_the_logarithm_rounded_up(n_labels: int, arity: int) -> None:
    expected = next(depth for depth in range(12) if arity**depth >= n_labels)
    assert LabelTree.balanced(n_labels, arity=arity).depth == expected
    assert LabelTree.random(n_labels, arity=arity).depth == expected


@given(st.one_of(trees(), built()))
def test_what_is_written_is_read_back(tree: LabelTree) -> None:
    edges, labels = tree.to_edges()
    assert LabelTree.from_edges(edges, labels=labels) == tree
    assert LabelTree.from_json(tree.to_json()) == tree
    assert LabelTree.from_parents(tree.parent, tree.label) == tree
    assert LabelTree.restore(tree.parent, tree.label) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree


@given(trees(), st.randoms(use_true_random=False))
def test_node_names_and_edge_order_between_families_do_not_matter(tree: LabelTree, random) -> None:
    edges, labels = tree.to_edges()
    families: dict[int, list[tuple[str, str]]] = {}
    for parent, child in edges:
        families.setdefault(parent, []).append((f"node {parent}", f"node {child}"))
    shuffled = list(families.values())
    random.shuffle(shuffled)
    named = {f"node {node}": label for node, label in labels.items()}
    assert LabelTree.from_edges([e for family in shuffled for e in family], labels=named) == tree


@given(trees(), st.randoms(use_true_random=False))
def test_relabelling_moves_paths_with_their_labels(tree: LabelTree, random) -> None:
    new_label = list(range(tree.n_labels))
    random.shuffle(new_label)
    relabelled = LabelTree.restore(
        tree.parent, [-1 if label == -1 else new_label[label] for label in tree.label]
    )
    for label in range(tree.n_labels):
        assert relabelled.path(new_label[label]).tolist() == tree.path(label).tolist()


def test_restore_keeps_ids_that_are_not_breadth_first() -> None:
    parent, label = [-1, 0, 0, 2, 2, 1, 1], [-1, -1, -1, 0, 1, 2, 3]
    assert LabelTree.restore(parent, label).parent.tolist() == parent
    assert LabelTree.from_json(LabelTree.restore(parent, label).to_json()).label.tolist() == label
    assert LabelTree.from_parents(parent, label).label.tolist() == [-1, -1, -1, 2, 3, 0, 1]


def test_random_trees_follow_their_seed() -> None:
    assert LabelTree.random(1000, seed=5) == LabelTree.random(1000, seed=5)
    assert LabelTree.random(1000, seed=5) != LabelTree.random(1000, seed=6)


def test_arrays_cannot_be_written() -> None:
    tree = LabelTree.balanced(4)
    names = ["parent", "label", "first_child", "n_children", "n_leaves", "depths", "sizes"]
    for name in names:
        array = getattr(tree, name)
        assert array.dtype == np.int32
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


# DOT.


def strings_and_rest(dot: str) -> tuple[list[str], str]:
    """Read DOT's quoted strings as its lexer does: only a backslash protects a quote."""
    strings, rest, i = [], "", 0
    while i < len(dot):
        if dot[i] != '"':
            rest += dot[i]
            i += 1
            continue
        start = i = i + 1
        while dot[i] != '"':
            i += 2 if dot[i] == "\\" else 1
        strings.append(dot[start:i])
        i += 1
    return strings, rest


@given(st.lists(st.text(max_size=8), min_size=1, max_size=8, unique=True))
def test_dot_survives_any_label_name(names: list[str]) -> None:
    tree = LabelTree.balanced(len(names))
    strings, rest = strings_and_rest(tree.to_dot(names=names))
    assert len(strings) == tree.n_nodes
    assert len({s for s in strings if s}) == len({n for n in names if n})
    assert all(s.isprintable() for s in strings)
    assert rest.count("{") == rest.count("}") == 1
    assert rest.count("[") == rest.count("]")
    assert rest.count("->") == tree.n_nodes - 1


def test_dot_escapes_by_hand() -> None:
    names = {0: 'a"b', 1: "c\\n", 2: "d\ne", 3: "&amp;", 4: "\x00", 5: 12}
    strings, _ = strings_and_rest(LabelTree.from_nested(list(range(6))).to_dot(names=names))
    assert strings[1:] == ['a\\"b', "c\\\\n", "d\\ne", "&amp;amp;", "\\\\x00", "12"]


def test_dot_says_how_many_labels_it_leaves_out() -> None:
    dot = LabelTree.balanced(8).to_dot(max_nodes=4)
    assert "n1 -> n3;" in dot
    assert "n4" not in dot
    assert 'more1 [label="2 more labels"' in dot
    assert 'more2 [label="4 more labels"' in dot
    assert 'more3 [label="2 more labels"' in dot
    assert "more0" not in dot


# Boundaries.


@pytest.mark.parametrize(
    "make",
    [
        lambda: LabelTree.balanced(0),
        lambda: LabelTree.random(0),
        lambda: LabelTree.huffman([]),
        lambda: LabelTree.from_nested([]),
        lambda: LabelTree.from_edges([], labels={}),
        lambda: LabelTree.from_parents([], []),
    ],
)
def test_the_empty_tree(make) -> None:
    tree = make()
    assert (tree.n_nodes, tree.n_labels, tree.depth) == (0, 0, 0)
    assert tree == LabelTree.from_json(tree.to_json())
    assert tree.to_edges() == ([], {})
    assert tree.sizes.tolist() == tree.depths.tolist() == []
    assert tree.to_dot() == "digraph labeltree {\n  node [shape=box];\n}"
    with pytest.raises(ArgumentError, match="one of the tree's 0 labels, got 0"):
        tree.path(0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LabelTree.balanced(1),
        lambda: LabelTree.random(1),
        lambda: LabelTree.huffman([0.0]),
        lambda: LabelTree.from_nested(0),
        lambda: LabelTree.from_edges([], labels={"only": 0}),
        lambda: LabelTree.from_parents([-1], [0]),
    ],
)
def test_one_label_is_a_tree(make) -> None:
    tree = make()
    assert (tree.n_nodes, tree.n_labels, tree.depth) == (1, 1, 0)
    assert tree.path(0).tolist() == [0]


def test_an_inner_node_may_have_one_child() -> None:
    assert LabelTree.from_nested([[7]]).path(7).tolist() == [0, 1, 2]


def test_a_chain_nested_100_000_deep() -> None:
    lists: list[object] = [0]
    for label in range(1, 100_000):
        lists = [label, lists]
    tree = LabelTree.from_nested(lists)
    assert tree.depth == tree.leaf_depth(0) == 100_000
    assert tree.sizes[0] == tree.n_nodes == 200_000
    edges, labels = tree.to_edges()
    assert LabelTree.from_edges(edges, labels=labels) == tree == LabelTree.from_json(tree.to_json())


def test_label_ids_past_2_to_the_24_stay_exact() -> None:
    big = 2**24 + 1
    tree = LabelTree.from_parents([-1, 0, 0], np.array([-1, big, big + 2]))
    assert tree.label.tolist() == [-1, big, big + 2]
    assert tree.leaf_of(big + 2) == 2
    with pytest.raises(ArgumentError):
        tree.leaf_of(big + 1)


def test_arity_at_least_the_number_of_labels_is_a_star() -> None:
    assert LabelTree.balanced(9, arity=100).n_children.tolist() == [9] + [0] * 9


def test_a_tree_larger_than_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "_memory_limit", lambda: 10_000)
    assert LabelTree.balanced(50).n_labels == 50
    for make in (LabelTree.balanced, LabelTree.random):
        with pytest.raises(TooLargeError, match=r"needs .* bytes"):
            make(5000)
    with pytest.raises(TooLargeError):
        LabelTree.huffman(np.ones(5000))
    with pytest.raises(TooLargeError):  # three nodes, but a table of 2^31 leaves
        LabelTree.from_nested([0, MAX_LABEL])


def test_trees_of_labels_and_of_dense_rows_do_not_import_scipy() -> None:
    code = (
        "from labeltrees.tree import LabelTree\n"
        "LabelTree.kmeans([[1, 0], [0, 1]], [0, 1]).to_dot()\n"
        "import sys\n"
        "assert not {'scipy', 'sklearn'} & sys.modules.keys(), 'imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Errors.

itself: list[object] = [0]
itself.append(itself)
shared = (0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelTree.balanced(-1), r"n_labels must be an integer in \[0, .*\], got -1"),
        (lambda: LabelTree.balanced(2**30 + 1), "n_labels must be"),
        (lambda: LabelTree.balanced(2.0), "n_labels must be an integer .* got 2.0"),
        (lambda: LabelTree.balanced(True), "n_labels must be an integer"),
        (lambda: LabelTree.balanced(3, arity=1), r"arity must be an integer in \[2, .*\], got 1"),
        (lambda: LabelTree.balanced(3, arity=2**31), "arity must be"),
        (lambda: LabelTree.random(3, seed=-1), "seed must be"),
        (lambda: LabelTree.random(3, seed=2**64), "seed must be"),
        (lambda: LabelTree.random(2**31), "n_labels must be"),
        (lambda: LabelTree.huffman([1, -1]), r"weights\[1\] must be finite and >= 0, got -1.0"),
        (lambda: LabelTree.huffman([np.nan]), r"weights\[0\] must be"),
        (lambda: LabelTree.huffman([1e308, 1e308]), "the sum of weights must be finite"),
        (lambda: LabelTree.huffman([[1, 2]]), "the shape of weights"),
        (lambda: LabelTree.huffman(3.0), "the shape of weights"),
        (lambda: LabelTree.huffman(["a"]), "weights must be a list of numbers"),
        (lambda: LabelTree.huffman([1], arity=0), "arity must be"),
        (lambda: LabelTree.balanced(3).path(3), "label must be one of the tree's 3 labels, got 3"),
        (lambda: LabelTree.balanced(3).leaf_depth(2**40), "label must be one of"),
        (lambda: LabelTree.balanced(3).leaf_of("0"), "label must be one of"),
        (lambda: LabelTree.balanced(3).to_dot(max_nodes=0), "max_nodes must be"),
        (lambda: LabelTree.balanced(3).to_dot(names=["a"]), "names must have a name for label 1"),
    ],
)
def test_arguments_outside_their_range_are_named(make, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelTree.from_nested([0, 0]), "label 0 has two leaves"),
        (lambda: LabelTree.from_nested([0, []]), "must not hold an empty list"),
        (lambda: LabelTree.from_nested([0, "a"]), "a label in lists must be an integer"),
        (lambda: LabelTree.from_nested([0, -1]), r"must be an integer in \[0, 2\^31 - 3\]"),
        (lambda: LabelTree.from_nested([0, 2**31 - 2]), "got 2147483646"),
        (lambda: LabelTree.from_nested([0, 2**31]), "got 2147483648"),
        (lambda: LabelTree.from_nested([0, 2**32 + 1]), "got 4294967297"),
        (lambda: LabelTree.from_nested(None), "a label in lists must be"),
        (lambda: LabelTree.from_nested(itself), "the same list object twice"),
        (lambda: LabelTree.from_nested([shared, shared]), "the same list object twice"),
        (lambda: LabelTree.from_edges([("a", "b"), ("c", "b")], labels={"b": 0}), "'b' has two"),
        (lambda: LabelTree.from_edges([("a", "b"), ("c", "d")], labels={}), "'a', 'c'"),
        (lambda: LabelTree.from_edges([("a", "b"), ("b", "a")], labels={}), "a cycle"),
        (
            lambda: LabelTree.from_edges([("r", "l"), ("a", "b"), ("b", "a")], labels={"l": 0}),
            "a cycle",
        ),
        (lambda: LabelTree.from_edges([("a", "b")], labels={}), "'b' is a leaf without a label"),
        (lambda: LabelTree.from_edges([("a", "b")], labels={"a": 0, "b": 1}), "'a' is an inner"),
        (lambda: LabelTree.from_edges([("a", "b")], labels={"b": 0, "z": 1}), "one root, got 2"),
        (lambda: LabelTree.from_edges([("a", "b")], labels={"b": 2**31}), r"labels\['b'\] must"),
        (lambda: LabelTree.from_edges([("a",)], labels={}), "a .parent, child. pair"),
        (lambda: LabelTree.from_edges([([], "b")], labels={}), "a .parent, child. pair"),
        (lambda: LabelTree.from_parents([-1, 0], [-1]), "differ in length"),
        (lambda: LabelTree.from_parents([-1, -1], [0, 1]), "both roots"),
        (lambda: LabelTree.from_parents([1, 0], [0, 1]), "no node is the root"),
        (lambda: LabelTree.from_parents([-1, 5], [-1, 0]), "has parent 5"),
        (lambda: LabelTree.from_parents([-1, 0], [3, 0]), "an inner node's is -1"),
        (lambda: LabelTree.from_parents([-1, 0], [-1, -1]), "a leaf's label is >= 0"),
        (lambda: LabelTree.from_parents([-1], [2**31 - 2]), "each label must be in .* 2147483646"),
        (lambda: LabelTree.from_parents([-1], [2**32]), "each label must be in .* 4294967296"),
        (lambda: LabelTree.from_parents([-1], np.array([2**63], dtype=np.uint64)), "each label"),
        (lambda: LabelTree.from_parents([-1, 2**32], [-1, 0]), "each parent must be in"),
        (lambda: LabelTree.from_parents([-2], [0]), "each parent must be in"),
        (lambda: LabelTree.from_parents([-1.0], [0]), "the type of parent must be an integer"),
        (lambda: LabelTree.from_parents([-1], [True]), "the type of label"),
        (lambda: LabelTree.from_parents([[-1]], [0]), "the shape of parent"),
        (lambda: LabelTree.from_parents([-1, [0]], [0, 1]), "parent must be a list of integers"),
        (lambda: LabelTree.restore([-1, 0, 1, 0], [-1, -1, 0, 1]), "not consecutive"),
        (lambda: LabelTree.restore([-1, 2, 0], [-1, 0, -1]), "a parent comes before its child"),
        (lambda: LabelTree.from_json("{"), "text must be JSON"),
        (lambda: LabelTree.from_json("[" * 100_000), "text must be JSON"),
        (lambda: LabelTree.from_json("[]"), "a JSON object with format"),
        (lambda: LabelTree.from_json(b"{}"), "text must be a string"),
        (lambda: LabelTree.from_json('{"format": "labeltrees.tree"}'), "version must be 1"),
        (
            lambda: LabelTree.from_json('{"format": "labeltrees.tree", "version": 1}'),
            "a list of integers named 'parent'",
        ),
        (
            lambda: LabelTree.from_json(LabelTree.balanced(2).to_json().replace("-1", "1e9")),
            "the type of parent",
        ),
    ],
)
def test_what_is_not_a_tree_is_refused(make, message: str) -> None:
    with pytest.raises(TreeStructureError, match=message):
        make()


@settings(max_examples=200)
@given(
    st.lists(st.integers(-3, 8), max_size=8),
    st.lists(st.integers(-3, 8), max_size=8),
)
def test_arbitrary_arrays_give_a_valid_tree_or_a_typed_error(parent, label) -> None:
    for make in (LabelTree.from_parents, LabelTree.restore):
        try:
            tree = make(parent, label)
        except TreeStructureError:
            continue
        tree.validate()


def test_the_core_takes_no_memory_for_labels_that_it_was_not_told_of() -> None:
    parent = np.array([-1, 0, 0], dtype=np.int32)
    label = np.array([-1, 0, 1_500_000_000], dtype=np.int32)
    for bounds in ({}, {"max_labels": 2}, {"max_labels": 1_500_000_000}):
        with pytest.raises(_core.TreeError, match="label 1500000000"):
            _core.LabelTree.restore(parent, label, **bounds)
    label[2] = 7
    assert _core.LabelTree.restore(parent, label, max_labels=8).leaf_of(7) == 2
