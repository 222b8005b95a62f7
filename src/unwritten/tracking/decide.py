"""Which path through a shot is the tip's: that of a dark nib, of the learned detector or of a fingertip, or none.

Each path is a claim. What the detector saw along it, how much its frames look like a dark nib, whether it moves and
whether a finger is stretched out make its odds; the likeliest claim is taken, with its odds as confidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.follow import Followed

_TOLD = 6.0  # log odds that somebody's word adds
_STILL = (
    (0.003, 0.2),
    (0.012, 1.0),
    (0.025, 4.0),
)  # what keeps within this share of the diagonal for so many seconds writes nothing
_SHOWN = 0.15  # confidence below which a frame shows no tip
_LIKELY = -1.0  # log odds below which nothing is said to be a tip


class Claim(NamedTuple):
    """A path that may be the tip's.

    Attributes:
        kind: ``nib``, ``learned`` or ``finger``.
        path: through the shot.
        page: ``[T, 2]`` its places on the page, None where the camera stands still.
        support: mean weight that the detector gives to the path's places in the frames that it was shown; NaN if none.
        extent: of its places on the page, as a share of the diagonal.
        share: of the shot's frames in which it shows a tip.
        lasts_s: from its first place to its last.
        prior: log odds that whoever saw it gives it.
        told: it passes the place where somebody says that the tip is.
    """

    kind: str
    path: Followed
    page: NDArray[np.float64] | None
    support: float
    extent: float
    share: float
    lasts_s: float
    prior: float
    told: bool

    @classmethod
    def of(
        cls,
        kind: str,
        path: Followed,
        page: NDArray[np.float64] | None,
        time_s: NDArray[np.float64],
        weight: NDArray[np.float64],
        diagonal_px: float,
        prior: float,
        told: bool,
    ) -> Claim:
        """The claim of a path through a shot of T frames.

        Args:
            kind, path, page, prior, told: see ``Claim``.
            time_s: ``[T]``.
            weight: ``[T]`` that the detector gives to its places, NaN for frames that it was not shown.
            diagonal_px: of the plane in whose pixels the path lies.
        """
        shown = weight[path.visible & np.isfinite(weight)]
        at = np.flatnonzero(path.visible)
        places = (path.tip if page is None else page)[at]
        extent = float(np.hypot(*np.ptp(places, axis=0))) / diagonal_px if len(at) else 0.0
        lasts_s = float(time_s[at[-1]] - time_s[at[0]]) if len(at) else 0.0
        return cls(
            kind,
            path,
            page,
            float(shown.mean()) if len(shown) else float("nan"),
            extent,
            len(at) / max(len(path.tip), 1),
            lasts_s,
            prior,
            told,
        )


def odds_of(claim: Claim) -> float:
    """Log odds that the path is the tip's: by logistic regression on rendered scenes and, where it is said, by hand."""
    support = float(np.log((np.nan_to_num(claim.support) + 0.02) / 0.12))
    if claim.kind == "learned":
        odds = -1.0 + 2.2 * support
    elif claim.kind == "nib":
        # Among clutter the evidence of dark cones says nothing that the detector does not; by hand, it does where the
        # detector is not used.
        odds = -0.7 + 2.0 * support + 0.8 * (claim.path.evidence - 1.5)
    else:
        odds = claim.prior + support
    # By hand: a path in few frames is none, what stands still does not write, and somebody's word weighs most.
    odds += 2.0 * float(np.log(max(claim.share, 0.02))) + (_TOLD if claim.told else 0.0)
    still = any(claim.extent < extent and claim.lasts_s > lasts_s for extent, lasts_s in _STILL)
    if still and not claim.told:
        odds -= 3.0 * float(np.clip(claim.lasts_s, 1.0, 3.0))
    return odds


def likeliest(claims: list[Claim]) -> Claim | None:
    """The claim with the best odds, which weigh on its confidence; None where none is likely."""
    best = max(claims, key=odds_of, default=None)
    if best is None or odds_of(best) < _LIKELY:
        return None
    confidence = best.path.confidence / (1 + np.exp(-odds_of(best)))
    shown = best.path.visible & (confidence >= _SHOWN)
    path = best.path._replace(
        visible=shown, bridged=best.path.bridged & shown, confidence=np.where(shown, confidence, 0.0)
    )
    return best._replace(path=path) if shown.any() else None
