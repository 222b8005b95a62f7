"""From a clip to the track of the pen's tip: nib, flow shots by OpenCV, the hand by MediaPipe where needed."""

from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.tracker import track, track_frames

__all__ = ["TrackerSettings", "track", "track_frames"]
