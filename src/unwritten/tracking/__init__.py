"""From a clip to the track of the tip: nib, flow and shots by OpenCV, the hand by MediaPipe where it is needed."""

from unwritten.tracking.contact import contact_from_sound
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.table import read_track_csv, write_track_csv
from unwritten.tracking.tracker import track, track_frames

__all__ = ["TrackerSettings", "contact_from_sound", "read_track_csv", "track", "track_frames", "write_track_csv"]
