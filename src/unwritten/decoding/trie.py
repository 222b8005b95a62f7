"""A trie in flat arrays: node 0 is the empty string, every parent stands before its children (preorder)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = tuple[int, ...]


@dataclass(frozen=True)
class Trie:
    """Strings of labels that share their prefixes.

    In preorder the parent of a node of depth d is the last node of depth d - 1 before it, so a walk over the arrays
    needs to keep one row per depth only.

    Attributes:
        label: ``[N]`` last label of the node's string, 0 at the root.
        parent: ``[N]`` node of the string without its last label, -1 at the root.
        depth: ``[N]`` labels of the string.
        node: the node of each string that the trie was built from.
    """

    label: NDArray[np.int32]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    node: dict[Labels, int]

    @classmethod
    def of(cls, strings: Sequence[Labels]) -> Trie:
        """The trie of ``strings``; equal strings share a node."""
        label, parent, depth, node = [0], [-1], [0], {}
        spelled: list[int] = []  # the string of the last node
        nodes = [0]  # the nodes of its prefixes
        for string in sorted(set(strings)):
            shared = 0
            while shared < min(len(spelled), len(string)) and spelled[shared] == string[shared]:
                shared += 1
            del spelled[shared:], nodes[shared + 1 :]
            for letter in string[shared:]:
                label.append(letter)
                parent.append(nodes[-1])
                depth.append(len(nodes))
                nodes.append(len(label) - 1)
                spelled.append(letter)
            node[string] = nodes[-1]
        return cls(np.array(label, np.int32), np.array(parent, np.int32), np.array(depth, np.int32), node)

    def __len__(self) -> int:
        return len(self.label)
