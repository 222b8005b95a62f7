"""Any file to frames with time and square pixels, any file to a mono waveform."""
