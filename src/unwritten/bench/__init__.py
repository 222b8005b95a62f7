"""Measurements: of speed and memory, and of how near what is simulated comes to what is real.

``python -m unwritten.bench`` on a CPU, ``gpu_check.sh`` where a GPU is at hand; ``track_realism``, ``sound_realism``.
"""
