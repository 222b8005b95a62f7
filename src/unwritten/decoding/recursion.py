"""The recursions of connectionist temporal classification (Graves et al. 2006), one string's last letter at a time.

Notation: after t of T frames, a string s has the mass ``label[t]`` of all paths that spell s and stand in its last
letter, and ``blank[t]`` of those that stand in a blank after it; ``through = label + blank``. A letter c appended to s
begins in frame t with the mass ``arrival[t]`` of the paths that may go on with it: ``through[t]`` of s, or ``blank[t]``
where c repeats the last letter of s. So a row of T + 1 numbers per string is all that its extensions need, and read
from the last frame to the first the same recursion gives the rows of suffixes.

Linear rows are fast and may underflow (who calls them checks); log rows never do. All of it is in one file because
numba's cache on disk knows when a function's own file has changed, but not the files of what it calls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Row = NDArray[np.float64]

# Sums may be reordered and fused; infinities and NaN keep their meaning, for they are what the guards look for.
_FAST = {"reassoc", "contract", "nsz"}
MINUS_INFINITY = -math.inf
NEGLIGIBLE = 50.0
"""Nats below the largest term at which another vanishes in float64 even when all frames have one."""


class Layout(NamedTuple):
    """The arrays of a lexicon that the recursions walk over; see ``Lexicon`` and ``Trie``."""

    head_label: NDArray[np.int32]
    head_parent: NDArray[np.int32]
    head_depth: NDArray[np.int32]
    tail_label: NDArray[np.int32]
    tail_depth: NDArray[np.int32]
    tail_node: NDArray[np.int32]
    first_word: NDArray[np.int32]
    tail_of_word: NDArray[np.int32]
    repeats: NDArray[np.bool_]


@njit(cache=True, fastmath=_FAST)
def extend(letter: Row, rest: Row, arrival: Row, depth: int, label: Row, blank: Row, through: Row) -> None:
    """Fill the linear rows of a string whose last letter is appended to another.

    Args:
        letter, rest: ``[T]`` probability of the letter and of the blank in each frame.
        arrival: ``[T + 1]`` mass that may begin the letter in each frame.
        depth: letters of the string; its mass is zero before that many frames.
        label, blank, through: ``[T + 1]`` rows to fill.
    """
    frames = len(letter)
    for t in range(min(depth, frames + 1)):
        label[t] = blank[t] = through[t] = 0.0
    in_letter, in_blank = 0.0, 0.0
    # Graves et al. 2006, one letter at a time, p(c, t) being the network's probability of c in frame t:
    #   label[t + 1] = p(letter, t) (label[t] + arrival[t])
    #   blank[t + 1] = p(blank, t) (blank[t] + label[t])
    for t in range(depth - 1, frames):
        in_blank = rest[t] * in_blank + rest[t] * in_letter
        in_letter = letter[t] * in_letter + letter[t] * arrival[t]
        label[t + 1] = in_letter
        blank[t + 1] = in_blank
        through[t + 1] = in_letter + in_blank


@njit(cache=True, fastmath=_FAST)
def meet(arrival: Row, tail: Row) -> float:
    """Mass of all paths that arrive in a frame and go on from there with a tail: the sum of products over ``[T]``."""
    total = 0.0
    for t in range(len(tail)):
        total += arrival[t] * tail[t]
    return total


@njit(cache=True)
def log_add(first: float, second: float) -> float:
    """log(exp(first) + exp(second)) without overflow; minus infinity is an empty sum."""
    if first < second:
        first, second = second, first
    if second < first - NEGLIGIBLE or second == MINUS_INFINITY:
        return first
    return first + math.log1p(math.exp(second - first))


@njit(cache=True)
def extend_log(letter: Row, rest: Row, arrival: Row, label: Row, blank: Row, through: Row) -> None:
    """The rows of ``extend``, all of them natural logarithms."""
    in_letter, in_either = MINUS_INFINITY, MINUS_INFINITY
    label[0] = blank[0] = through[0] = MINUS_INFINITY
    for t in range(len(letter)):
        in_blank = rest[t] + in_either
        in_letter = letter[t] + log_add(in_letter, arrival[t])
        in_either = log_add(in_letter, in_blank)
        label[t + 1] = in_letter
        blank[t + 1] = in_blank
        through[t + 1] = in_either


@njit(cache=True, fastmath=_FAST | {"nnan"})
def meet_log(arrival: Row, tail: Row) -> float:
    """The logarithm of ``meet`` for rows that are logarithms, none of them plus infinity."""
    # log sum exp: the largest term is taken out first, so that nothing overflows.
    peak = MINUS_INFINITY
    for t in range(len(tail)):
        term = arrival[t] + tail[t]
        if term > peak:
            peak = term
    if peak == MINUS_INFINITY:
        return MINUS_INFINITY
    total = 0.0
    for t in range(len(tail)):
        term = arrival[t] + tail[t] - peak
        if term > -NEGLIGIBLE:
            total += math.exp(term)
    return peak + math.log(total)


@njit(cache=True)
def silence_log(rest: Row) -> Row:
    """Log row ``[T + 1]`` of the empty string: nothing but blanks."""
    row = np.zeros(len(rest) + 1)
    for t in range(len(rest)):
        row[t + 1] = row[t] + rest[t]
    return row


@njit(cache=True)
def masses_of_extensions(
    through: NDArray[np.float64], blank: NDArray[np.float64], last: int, tails: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log mass ``[C]`` of all strings that go on with each letter; ``tails [C, T]`` is what follows from a frame on."""
    masses = np.full(len(tails), MINUS_INFINITY)
    for letter in range(1, len(tails)):
        arrival = blank if letter == last else through
        masses[letter] = meet_log(arrival, tails[letter])
    return masses


@njit(cache=True)
def word_masses(
    scaled: NDArray[np.float64],
    start: float,
    layout: Layout,
    masses: NDArray[np.float64],
) -> None:
    """Fill ``masses [W]``, in the lexicon's order, from scaled probabilities ``[C, T]``; all are times ``start``²."""
    head_label, head_parent, head_depth, tail_label, tail_depth, tail_node, first_word, tail_of_word, repeats = layout
    frames = scaled.shape[1]
    backwards = np.ascontiguousarray(scaled[:, ::-1])
    deepest = max(head_depth.max(), tail_depth.max())
    label = np.zeros(frames + 1)
    blank = np.zeros((deepest + 1, frames + 1))
    through = np.zeros((deepest + 1, frames + 1))

    # A path that spells head + tail enters the tail's first letter in exactly one frame t, so the word's mass is the
    # sum over t of arrival[t] of the head times the mass of the tail from t on. Tails first, by the recursion that
    # reads time backwards; nodes stand in depth-first order, so one row per depth holds all ancestors of the node at
    # hand.
    last = np.zeros(deepest + 1, np.int32)  # label of the latest node of each depth
    tails = np.empty((len(tail_node), frames))
    number = 0
    for node in range(len(tail_label)):
        depth, letter = tail_depth[node], tail_label[node]
        if depth == 0:
            blank[0, 0] = through[0, 0] = start
            for t in range(frames):
                blank[0, t + 1] = through[0, t + 1] = blank[0, t] * backwards[0, t]
            continue
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend(backwards[letter], backwards[0], arrival, depth, label, blank[depth], through[depth])
        if number < len(tail_node) and tail_node[number] == node:
            for t in range(frames):
                tails[number, t] = label[frames - t]
            number += 1

    for node in range(len(head_label)):
        depth, letter = head_depth[node], head_label[node]
        if depth == 0:
            blank[0, 0] = through[0, 0] = start
            for t in range(frames):
                blank[0, t + 1] = through[0, t + 1] = blank[0, t] * scaled[0, t]
        else:
            arrival = blank[depth - 1] if head_label[head_parent[node]] == letter else through[depth - 1]
            extend(scaled[letter], scaled[0], arrival, depth, label, blank[depth], through[depth])
        for word in range(first_word[node], first_word[node + 1]):
            arrival = blank[depth] if repeats[word] else through[depth]
            masses[word] = meet(arrival[:frames], tails[tail_of_word[word]])


@njit(cache=True)
def word_log_masses(
    emissions: NDArray[np.float64],
    layout: Layout,
    wanted: NDArray[np.bool_],
    masses: NDArray[np.float64],
) -> None:
    """Fill the ``wanted`` log masses ``[W]``, in the lexicon's order, from log probabilities ``[C, T]``."""
    head_label, head_parent, head_depth, tail_label, tail_depth, tail_node, first_word, tail_of_word, repeats = layout
    frames = emissions.shape[1]
    backwards = np.ascontiguousarray(emissions[:, ::-1])
    deepest = max(head_depth.max(), tail_depth.max())
    label = np.zeros(frames + 1)
    blank = np.zeros((deepest + 1, frames + 1))
    through = np.zeros((deepest + 1, frames + 1))

    last = np.zeros(deepest + 1, np.int32)
    tails = np.empty((len(tail_node), frames))
    blank[0] = through[0] = silence_log(backwards[0])
    number = 0
    for node in range(1, len(tail_label)):
        depth, letter = tail_depth[node], tail_label[node]
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend_log(backwards[letter], backwards[0], arrival, label, blank[depth], through[depth])
        if number < len(tail_node) and tail_node[number] == node:
            tails[number] = label[:0:-1]
            number += 1

    needed = np.zeros(len(head_label), np.bool_)
    for node in range(len(head_label) - 1, -1, -1):  # children stand after their parents
        needed[node] |= wanted[first_word[node] : first_word[node + 1]].any()
        if needed[node] and node:
            needed[head_parent[node]] = True
    blank[0] = through[0] = silence_log(emissions[0])
    for node in range(len(head_label)):
        if not needed[node]:
            continue
        depth, letter = head_depth[node], head_label[node]
        if depth:
            arrival = blank[depth - 1] if head_label[head_parent[node]] == letter else through[depth - 1]
            extend_log(emissions[letter], emissions[0], arrival, label, blank[depth], through[depth])
        for word in range(first_word[node], first_word[node + 1]):
            if wanted[word]:
                arrival = blank[depth] if repeats[word] else through[depth]
                masses[word] = meet_log(arrival[:frames], tails[tail_of_word[word]])


@njit(cache=True)
def masses_on_the_way(
    emissions: NDArray[np.float64],
    node_label: NDArray[np.int32],
    node_depth: NDArray[np.int32],
    word_of_node: NDArray[np.int64],
    after: NDArray[np.int64],
    masses: NDArray[np.float64],
) -> None:
    """Fill ``masses [K, W]``: log mass of the paths that spell a prefix of the word; ``emissions [C, T]``."""
    frames = emissions.shape[1]
    deepest = node_depth.max()
    label = np.empty(frames + 1)
    blank = np.empty((deepest + 1, frames + 1))
    through = np.empty((deepest + 1, frames + 1))
    so_far = np.full((deepest + 1, len(after)), MINUS_INFINITY)
    last = np.zeros(deepest + 1, np.int32)
    blank[0] = through[0] = silence_log(emissions[0])
    for k in range(len(after)):
        so_far[0, k] = through[0, after[k]]
    for node in range(1, len(node_label)):
        depth, letter = node_depth[node], node_label[node]
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend_log(emissions[letter], emissions[0], arrival, label, blank[depth], through[depth])
        for k in range(len(after)):
            so_far[depth, k] = log_add(so_far[depth - 1, k], through[depth, after[k]])
        if word_of_node[node] >= 0:
            masses[:, word_of_node[node]] = so_far[depth]


@njit(cache=True)
def any_string_log(emissions: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log mass of all strings together, by their number of letters and their last letter.

    Args:
        emissions: ``[T, C]`` log probabilities.
        most: the largest number of letters N.

    Returns:
        ``label [T + 1, N + 1, C]``: after t frames, j letters begun, in letter c (column 0 is minus infinity);
        ``blank [T + 1, N + 1]``: in a blank after j letters.
    """
    frames, classes = emissions.shape
    label = np.full((frames + 1, most + 1, classes), MINUS_INFINITY)
    blank = np.full((frames + 1, most + 1), MINUS_INFINITY)
    blank[0, 0] = 0.0
    weight = np.empty(classes)
    for t in range(frames):
        for j in range(min(most, t) + 1):
            peak = blank[t, j]
            for c in range(1, classes):
                peak = max(peak, label[t, j, c])
            if peak == MINUS_INFINITY:
                continue
            rested = math.exp(blank[t, j] - peak)
            total = rested
            for c in range(1, classes):
                weight[c] = math.exp(label[t, j, c] - peak)
                total += weight[c]
            blank[t + 1, j] = emissions[t, 0] + peak + math.log(total)
            for c in range(1, classes):  # stay in the letter
                label[t + 1, j, c] = log_add(label[t + 1, j, c], emissions[t, c] + label[t, j, c])
            if j == most:
                continue
            # Begin letter j + 1 from the blank or from any other letter. Sums from both ends leave out one letter
            # without subtracting it, which would cancel where that letter holds nearly all of the mass.
            before = rested
            for c in range(1, classes):
                label[t + 1, j + 1, c] = before
                before += weight[c]
            after = 0.0
            for c in range(classes - 1, 0, -1):
                others = label[t + 1, j + 1, c] + after
                after += weight[c]
                label[t + 1, j + 1, c] = emissions[t, c] + peak + math.log(others) if others > 0 else MINUS_INFINITY
    return label, blank
