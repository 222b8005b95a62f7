"""Scenes: a hand with a pen on a table, rendered so that the tip lies exactly where a track says."""

from unwritten.simulation.scene.clip import clip_with_files, render_clip, render_once
from unwritten.simulation.scene.render import render
from unwritten.simulation.scene.settings import SceneSettings

__all__ = ["SceneSettings", "clip_with_files", "render", "render_clip", "render_once"]
