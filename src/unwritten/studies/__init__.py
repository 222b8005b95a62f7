"""Measurements: of speed and memory, and of how near what is simulated comes to what is real.

Only the authors run these: how accurate, fast and calibrated the parts are, and what the tracker's detector learns.
``python -m unwritten.studies.speed`` measures on a CPU, ``gpu_check.sh`` where a GPU is at hand.
"""
