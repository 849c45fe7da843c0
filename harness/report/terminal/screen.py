"""The consoles that results are printed to: rich's, with control characters of names and texts made visible."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.inputs.visible import visible


class Screen(Console):
    """Its own styles and bars are the only escape codes that come out of it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
