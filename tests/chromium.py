"""What tests marked `browser` need: Debian's chromium and the driver beside it.

Run as a program it prints the packages that are missing, one a line.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}
# It runs as root, and asks for nothing but what it is given.
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def missing_packages() -> tuple[str, ...]:
    return tuple(package for tool, package in _PACKAGES.items() if shutil.which(tool) is None)


def start(profile: Path) -> Chrome:
    """A browser with an empty profile in a new folder, which keeps what scripts complain of."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def show_as(browser: Chrome, width: int, height: int, scheme: str = "light") -> None:
    """On a screen of this size, of a reader who prefers `light` or `dark`."""
    screen: dict[str, Any] = {"width": width, "height": height, "deviceScaleFactor": 1}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**screen, "mobile": width < 500})
    preferred = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})


if __name__ == "__main__":
    print(*missing_packages(), sep="\n", end="")
