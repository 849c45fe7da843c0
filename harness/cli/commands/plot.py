"""`harness plot RUN…`: figures of stored runs as PDF, PNG, SVG, Vega-Lite JSON or HTML."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, comparison_options, grouping, loaded, progress, resampling, testing, trusting
from harness.cli.output import show_warnings

FIGURES = ("forest", "effects", "matrix", "differences", "curve", "sweep", "parameters", "front", "buckets")
FORMATS = ("pdf", "png", "svg", "json", "html")


def add(commands: Any) -> None:
    plot = commands.add_parser(
        "plot",
        help="figures of stored runs for papers and pages: PDF, PNG, SVG, HTML",
        description="Draws the figures that make sense for the runs, or the one named by --figure: forest (scores with "
        "intervals), effects (differences from a baseline), matrix (verdicts of all pairs), differences (of single "
        "examples), curve (scores by training step), sweep (scores by parameter), parameters (what each level of them "
        "scores), front (a score against what an output takes), buckets (scores by length or field).",
    )
    plot.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    plot.add_argument("--figure", choices=FIGURES, metavar="NAME", help=f"one of {', '.join(FIGURES)}; without it, all")
    plot.add_argument(
        "--by",
        metavar="FIELD",
        action="append",
        default=[],
        help="buckets by this field of the data, or source_length, reference_length, output_length; may be repeated",
    )
    plot.add_argument("--baseline", metavar="RUN", help="the run that the others are measured against")
    plot.add_argument("-o", "--output", metavar="PATH", default="figures", help="a file, written as its "
                      "suffix says (.pdf .png .svg .json .html), or a folder (default: %(default)s)")  # fmt: skip
    plot.add_argument(
        "--format",
        choices=FORMATS,
        action="append",
        help="of the files in a folder; may be repeated (default: pdf, png)",
    )
    plot.add_argument(
        "--width", type=float, metavar="PIXELS", help="of the figure (default: 640; 320 suits a column of a paper)"
    )
    dark = "for a dark background (an .html is light or dark as its reader likes)"
    plot.add_argument("--dark", action="store_true", help=dark)
    testing(plot)
    grouping(plot)
    resampling(plot)
    trusting(plot)
    plot.set_defaults(call=call, parser=plot)


def call(options: Any) -> None:
    from pathlib import Path

    from harness.analysis.figures import Wanted, wanted_figures
    from harness.report.charts.rendering import page, rendered
    from harness.report.terminal.summary import console
    from harness.store import atomic
    from harness.types import HarnessError

    if options.width is not None and not 100 <= options.width <= 10_000:
        options.parser.error(f"--width {options.width:g}: expected pixels, 100 to 10000")
    place = Path(options.output)
    suffix = place.suffix.lower() if place.suffix.lower().lstrip(".") in FORMATS else ""
    if place.suffix and not suffix and not place.is_dir():
        raise HarnessError(f"-o {place}: no figure can be written as {place.suffix}; expected .{' .'.join(FORMATS)}")
    if suffix and options.format:
        options.parser.error(f"--format with -o {place}: expected one of them, or a folder")
    show_warnings()
    wanted = Wanted(options.figure, tuple(options.by), options.width)
    figures = wanted_figures(*loaded(options), wanted, comparison_options(options), progress(options))
    if suffix and suffix != ".html" and len(figures) > 1:
        raise HarnessError(
            f"-o {place} holds one figure, and there are {len(figures)}: "
            f"{', '.join(figure.name for figure in figures)}; "
            "expected --figure NAME (and --by FIELD), a folder, or an .html"
        )
    if suffix:
        files = [(place, page(figures) if suffix == ".html" else rendered(figures[0], suffix, options.dark))]
    else:
        kinds = options.format or ["pdf", "png"]
        files = [
            (place / f"{figure.name}.{kind}", rendered(figure, f".{kind}", options.dark))
            for figure in figures
            for kind in kinds
        ]
    try:
        for path, content in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(path, content)
    except OSError as error:
        raise HarnessError(f"{place} cannot be written ({error.strerror or error}); expected a writable path") from None
    out = console()
    for figure in figures:
        written = [str(path) for path, _ in files if suffix or path.stem == figure.name]
        out.print(" ".join(written), soft_wrap=True, style="bold")
        out.print(f"  {figure.title}. {figure.caption}", soft_wrap=True)
