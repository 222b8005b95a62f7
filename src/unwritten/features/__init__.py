"""Kinematics in numba, log-mel spectrograms in torchaudio, on one clock."""
