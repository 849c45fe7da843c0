"""`harness verify FILE…`: the numbers of a paper against their runs."""

from __future__ import annotations

import sys
from typing import Any

from harness.cli.arguments import as_json, trust_of, trusting
from harness.cli.output import print_json, show_warnings, tell


def add(commands: Any) -> None:
    verify = commands.add_parser(
        "verify",
        help="the numbers of a paper against their runs; exit 1 where one is wrong",
        description="Makes every table of harness table again from the stored rows and compares it digit by digit, "
        "marks too; so are macros, and numbers of prose that name their run. Exit code 0: all right, 1: something is "
        "wrong, 2: an error.",
    )
    verify.add_argument("files", nargs="+", metavar="FILE", help="Markdown, LaTeX, HTML or CSV")
    verify.add_argument(
        "--runs", metavar="DIR", help="where the run folders are (default: runs/, and beside each file)"
    )
    trusting(verify)
    as_json(verify)
    verify.set_defaults(call=call, error_code=2)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.papers.verifying import verify
    from harness.types.shown import counted

    show_warnings()
    verified = verify(options.files, options.runs, trust_of(options))
    wrong = len(verified.findings)
    if options.json:
        findings = [asdict(finding) for finding in verified.findings]
        print_json(ok=not wrong, tables=verified.tables, numbers=verified.numbers, findings=findings)
    else:
        for finding in verified.findings:
            tell(str(finding))
        checked = f"{counted(verified.numbers, 'number')} in {counted(verified.tables, 'table')}"
        tell(f"{checked}: {f'{wrong:,} wrong' if wrong else 'all are those of their runs'}")
    sys.exit(1 if wrong else 0)
