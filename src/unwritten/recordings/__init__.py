"""From a file, or from memory, to a recording: the track, the sound, or both; single shots; what the store keeps."""
