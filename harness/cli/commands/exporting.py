"""`harness export RUN --format eee|lm-eval|csv`: a run as other tools' logs."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json

FORMATS = ("eee", "lm-eval", "csv")


def add(commands: Any) -> None:
    command = commands.add_parser(
        "export",
        help="a run as a log of another tool: Every Eval Ever, lm-evaluation-harness, or one CSV file",
        description="Writes the examples and the headline scores of a stored run in the format of another tool.",
    )
    command.add_argument("run", metavar="RUN", help="a run folder, a run's name (the newest) or MLflow run id")
    command.add_argument(
        "--format", choices=FORMATS, required=True, help="Every Eval Ever, lm-evaluation-harness, or CSV"
    )
    command.add_argument("-o", "--output", metavar="DIR", default=".", help="the folder to write below (default: here)")
    as_json(command)
    command.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.analysis.importing import exported
    from harness.cli.output import print_json, tell

    files = exported(options.run, options.format, options.output)
    if options.json:
        print_json(files=[str(file) for file in files])
        return
    for file in files:
        tell(str(file))
