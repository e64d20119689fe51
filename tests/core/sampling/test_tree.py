"""A tree's shape: ancestors, earlier siblings, positions and tree mask of a pass, and the shapes that --tree accepts."""
from __future__ import annotations

import pytest
import torch

from core.errors import UserError
from core.methods.static_tree import StaticTree
from core.sampling.tree import Tree, parse_shape

#        root
#      0      1
#    2   3    4
#    5
PARENTS = [-1, -1, 0, 0, 1, 2]
ABOVE = {0: {0}, 1: {1}, 2: {0, 2}, 3: {0, 3}, 4: {1, 4}, 5: {0, 2, 5}}


@pytest.fixture
def tree() -> Tree:
    return Tree.of(torch.tensor(PARENTS), 3)


def test_ancestors_are_the_path_to_the_root(tree):
    assert {i: set(row.nonzero()[:, 0].tolist()) for i, row in enumerate(tree.ancestors)} == ABOVE
    assert tree.depth.tolist() == [1, 1, 2, 2, 2, 3]


def test_earlier_are_the_siblings_tested_before(tree):
    assert tree.earlier.nonzero().tolist() == [[1, 0], [3, 2]]


def test_levels_is_an_upper_bound(tree):
    more = Tree.of(torch.tensor(PARENTS), 9)
    assert torch.equal(more.ancestors, tree.ancestors)


def test_a_node_attends_to_the_context_and_its_own_path(tree):
    shape = tree.pass_shape(2)
    assert shape.depth.tolist() == [0, 1, *(1 + d for d in [1, 1, 2, 2, 2, 3])]
    assert shape.tree_mask[:2].tolist() == [[True] + [False] * 7, [True, True] + [False] * 6]
    for node, path in ABOVE.items():
        assert shape.tree_mask[2 + node].nonzero()[:, 0].tolist() == [0, 1, *(2 + i for i in sorted(path))]


def test_a_chain_is_a_tree_without_siblings():
    chain = Tree.of(torch.arange(-1, 3), 4)
    assert torch.equal(chain.ancestors, torch.ones(4, 4).tril().bool()) and not chain.earlier.any()


@pytest.mark.parametrize(("text", "parents"), [("3", [-1, -1, -1]), ("2x2", [-1, -1, 0, 0, 1, 1]), ("2X1x2", [-1, -1, 0, 1, 2, 2, 3, 3])])
def test_a_shape_is_candidates_per_depth(text, parents):
    assert list(StaticTree.full(parse_shape(text)).parents) == parents


@pytest.mark.parametrize("text", ["", "x", "3x", "0", "-1", "3x0", "1.5", "chain", "3 x 2", "9" * 9])
def test_other_texts_are_refused(text):
    with pytest.raises(UserError, match="candidates per depth like 3x2x1"):
        parse_shape(text)


def test_a_shape_larger_than_a_pass_is_refused():
    with pytest.raises(UserError, match=r"155 nodes; at most 128"):
        parse_shape("5x5x5")
    assert len(StaticTree.full(parse_shape("128")).parents) == 128
