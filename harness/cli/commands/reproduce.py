"""`harness reproduce RUN|BUNDLE`: executed again, is it the same?"""

from __future__ import annotations

import re
import sys
from typing import Any

from harness.cli.arguments import as_json
from harness.cli.output import complain, print_json, reserved, show_warnings

WRONG, CANNOT = 2, 3


def add(commands: Any) -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="execute a stored run again and say whether it is the same",
        description="Scores the stored outputs of a run, or of all runs of a bundle, again, and compares every score, "
        "bound, example and row; --from system reads the data and generates the outputs again; --environment does it "
        "with the very packages that were recorded. Exit code 0: the same, 1: different, 3: cannot be tried.",
    )
    reproduce.add_argument("run", metavar="RUN|BUNDLE", help="a run folder, a run's name or MLflow run id, or a .zip")
    reproduce.add_argument(
        "overrides",
        nargs="*",
        default=[],
        metavar="OVERRIDE",
        help="with --from system: where things are here, dataset.path=…",
    )
    reproduce.add_argument(
        "--from",
        dest="level",
        choices=("outputs", "system"),
        default="outputs",
        help="score stored outputs again, or generate them again (default: %(default)s)",
    )
    reproduce.add_argument(
        "--environment", action="store_true", help="in a new virtual environment with the packages that were recorded"
    )
    reproduce.add_argument(
        "--tolerance",
        type=float,
        default=1e-9,
        metavar="SHARE",
        help="how far numbers may be apart, as a share of their size (default: %(default)s)",
    )
    reproduce.add_argument(
        "--trust",
        action="store_true",
        help="run the functions, programs and models that the run names, and install its packages, after showing them",
    )
    reproduce.add_argument(
        "--expect", metavar="SHA256", help="of the .zip, as its authors published it; of any other nothing is unpacked"
    )
    reproduce.add_argument("--no-progress", action="store_true", help="no progress bar")
    as_json(reproduce)
    reproduce.set_defaults(call=call, parser=reproduce, error_code=WRONG)


def call(options: Any) -> None:
    from harness.cli.hydra.levels import reproduce
    from harness.types.reproductions import CannotBeTried

    if options.level == "outputs" and options.overrides:
        options.parser.error(f"{options.overrides[0]}: expected overrides with --from system only")
    if not 0 <= options.tolerance < 1:
        options.parser.error(f"--tolerance {options.tolerance:g}: expected a share, 0 or more and below 1")
    if options.expect and not re.fullmatch(r"[0-9a-fA-F]{64}", options.expect):
        options.parser.error(f"--expect {options.expect}: expected a SHA-256, 64 hexadecimal digits")
    show_warnings()
    try:
        with reserved(options.json):
            result = reproduce(options)
    except CannotBeTried as error:
        message = complain(f"cannot be tried: {error}")
        if options.json:
            print_json(verdict="cannot be tried", runs=[], error=message)
        sys.exit(CANNOT)
    if options.json:
        print_json(**result.document())
    else:
        from harness.report.terminal.executed_again import print_reproductions

        print_reproductions(result)
    sys.exit(result.code)
