"""A page in headless Chromium: a script is put at its end, and what it finds comes back."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def run_in_page(page: Path, script: str, width_px: int = 1000, milliseconds: int = 4000) -> Any:
    """What the body of an async function gives back when it runs in the page, as JSON; skips without a Chromium.

    The page is laid out in a frame of ``width_px``, as windows of a headless browser cannot be as narrow as a phone.
    """
    browser = next((found for name in NAMES if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no Chromium is installed: none of {', '.join(NAMES)} is on the path")
    driven, frame = page.with_name("driven.html"), page.with_name("frame.html")
    driver = (
        "<script>(async () => { let found; try { found = await (async () => {" + script + "})(); }"
        " catch (error) { found = { error: String(error) }; }"
        " parent.postMessage(JSON.stringify(found), '*'); })();</script>"
    )
    driven.write_text(page.read_text(encoding="utf-8") + driver, encoding="utf-8")
    frame.write_text(
        "<!doctype html><meta charset=utf-8><script>addEventListener('message', event => {"
        " document.documentElement.dataset.found = event.data; });</script>"
        f"<iframe src='driven.html' style='width:{width_px}px;height:900px;border:0'></iframe>",
        encoding="utf-8",
    )
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        f"--user-data-dir={page.parent / 'profile'}", f"--virtual-time-budget={milliseconds}", "--dump-dom",
        frame.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    match = re.search(r'data-found="([^"]*)"', dom)
    assert match is not None, dom[:2000]
    return json.loads(html.unescape(match.group(1)))
