"""`harness bundle RUN… -o paper.zip`: everything a reader needs, in one file."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, as_json
from harness.cli.output import print_json, reserved, show_warnings, tell


def add(commands: Any) -> None:
    bundle = commands.add_parser(
        "bundle",
        help="runs with their tables, figures and tests in one file that a reader can check",
        description="Packs run folders, tables, figures and comparisons made from them, a README with the commands "
        "that check it, a data card, CITATION.cff and a SHA-256 list. The same runs give the same bytes. Secrets are "
        "looked for before anything is packed.",
    )
    bundle.add_argument("runs", nargs="+", metavar="RUN", help=RUN.partition(";")[0])
    bundle.add_argument("-o", "--output", metavar="FILE", required=True, help="the .zip")
    bundle.add_argument(
        "--no-text", action="store_true", help="rows, keys and hashes only, where a licence forbids to give texts away"
    )
    bundle.add_argument("--title", help="of README.md and CITATION.cff")
    bundle.add_argument(
        "--author", metavar="NAME", action="append", default=[], help="'Family, Given' or a group; may be repeated"
    )
    bundle.add_argument(
        "--licence", metavar="DATASET=TEXT", action="append", default=[], help="of a data set; may be repeated"
    )
    bundle.add_argument("--allow-secrets", action="store_true", help="pack what looks like a secret all the same")
    bundle.add_argument("--no-progress", action="store_true", help="no progress bar")
    as_json(bundle)
    bundle.set_defaults(call=call, parser=bundle)


def call(options: Any) -> None:
    import tempfile
    from pathlib import Path

    from harness.analysis.papers.bundling import contents
    from harness.analysis.stored.loading import find_run
    from harness.cli.arguments import progress
    from harness.inputs.files import bytes_digest
    from harness.report.bundle_texts import About, commands
    from harness.store import atomic, zipped
    from harness.types import HarnessError
    from harness.types.shown import counted

    show_warnings()
    file = Path(options.output)
    if file.suffix.lower() != ".zip":
        options.parser.error(f"-o {file}: expected a .zip")
    licences = dict(licence.partition("=")[::2] for licence in options.licence)
    about = About(file.name, options.title, options.author, licences, not options.no_text)
    folders = list(dict.fromkeys(find_run(run) for run in options.runs))
    with reserved(options.json), tempfile.TemporaryDirectory(prefix="harness-bundle-") as empty:
        files = contents(folders, Path(empty), about, options.allow_secrets, progress(options))
        content = zipped.packed(files)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(file, content)
    except OSError as error:
        raise HarnessError(f"{file} cannot be written ({error.strerror or error}); expected a writable path") from None
    if options.json:
        print_json(file=str(file), bytes=len(content), sha256=bytes_digest(content), files=sorted(files))
    else:
        tell(f"{file}  {counted(len(folders), 'run')}, {len(files) + 1} files, {len(content) / 1e6:.1f} MB")
        tell(f"{commands(str(file))[0]} --expect {bytes_digest(content)}")
