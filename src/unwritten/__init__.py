"""Read the word that a hand writes with a dry pen: from video, from the scratch of the pen, or from both.

Subpackages import one way: media -> benchmark -> tracking -> handwriting -> simulation -> features -> models ->
decoding -> readers -> scoring -> report. Importing ``unwritten`` itself loads none of them.
"""

__version__ = "0.2.0"
