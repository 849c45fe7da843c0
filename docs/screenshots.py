"""`make pictures`: the screenshots of docs/report.md, of a report on the embedded data, in Chromium.

Runs, report and pictures are made anew: what the page looks like is what it looks like today.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent / "images"
LAPTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]
WAIT = 300


def harness(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "harness", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def made(folder: Path) -> Path:
    harness(folder, "run", "--multirun", "dataset=embedded", "system=lead,lexrank,copy", "tracking=none")
    runs = ("embedded-lead", "embedded-lexrank", "embedded-copy")
    harness(folder, "report", *runs, "--baseline", "embedded-lead", "--by", "domain", "-o", "report.html")
    return folder / "report.html"


def moved(folder: Path) -> Path:
    """A report on few examples with the metric that moves words, which takes its time."""
    metrics = ("metrics=[bertscore,moverscore]", "limit=6", "tracking=none")
    for system in ("lead", "lexrank"):
        harness(folder, "run", "dataset=embedded", f"system={system}", f"name=moved-{system}", *metrics)
    harness(folder, "report", "moved-lead", "moved-lexrank", "-o", "moved.html")
    return folder / "moved.html"


def section(page: Any, name: str) -> None:
    page.evaluate(f"document.getElementById('{name}').scrollIntoView({{behavior: 'instant'}})")


def pictures(page: Any, place: int) -> None:
    section(page, "pictures")
    page.locator("#tabs button").nth(place).click()
    page.locator("figure:not([hidden]) .chart[data-drawn]").wait_for()


def example(page: Any, key: str) -> None:
    section(page, "examples")
    page.keyboard.press(key)


def aligned(page: Any) -> None:
    example(page, "4")
    page.evaluate("document.getElementById('detail').scrollTop = 260")
    page.locator(".aligned [data-place]", has_text="Quarry").first.click()


def lines(page: Any) -> None:
    example(page, "4")
    page.locator(".legend button", has_text="MoverScore").click()
    page.evaluate("document.getElementById('detail').scrollTop = 260")
    page.locator(".card").first.locator("[data-side=matched] [data-place].s1").first.click()


def opened(page: Any) -> None:
    section(page, "examples")
    page.locator(".item").nth(1).tap()
    page.evaluate("document.getElementById('detail').scrollTop = 420")


def filtered(page: Any) -> None:
    section(page, "examples")
    page.fill("#q", "harbour")


def save(screenshot: bytes, path: Path) -> None:
    """In 256 colours, which is half the size and looks the same."""
    import io

    from PIL import Image

    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


VIEWS: dict[str, tuple[dict[str, Any], str, Callable[[Any], None]]] = {
    "summary": (LAPTOP, "light", lambda page: None),
    "pictures": (LAPTOP, "light", lambda page: pictures(page, 0)),
    "buckets": (LAPTOP, "dark", lambda page: pictures(page, page.locator("#tabs button").count() - 1)),
    "examples": (LAPTOP, "light", lambda page: example(page, "1")),
    "differences": (LAPTOP, "dark", lambda page: example(page, "3")),
    "alignment": (LAPTOP, "light", aligned),
    "moves": (LAPTOP, "light", lines),
    "search": (LAPTOP, "light", filtered),
    "configs": (LAPTOP, "light", lambda page: section(page, "configs")),
    "phone": (PHONE, "light", lambda page: None),
    "phone-example": (PHONE, "dark", opened),
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        reports = {"moves": moved(Path(folder))}
        path = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else made(Path(folder))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for name, (device, scheme, act) in VIEWS.items():
            context = browser.new_context(**device, color_scheme=scheme, reduced_motion="reduce")
            page = context.new_page()
            page.goto(reports.get(name, path).as_uri())
            page.wait_for_selector("#explorer[aria-busy=false]")
            act(page)
            page.wait_for_timeout(WAIT)
            save(page.screenshot(), IMAGES / f"report-{name}.png")
            context.close()
        browser.close()
    for image in sorted(IMAGES.glob("report-*.png")):
        print(f"{image.name}  {image.stat().st_size / 1e3:.0f} KB")


if __name__ == "__main__":
    main()
