"""`harness score RUN OVERRIDE…`: a stored run scored again."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, as_json, trusting_to_run


def add(commands: Any) -> None:
    score = commands.add_parser(
        "score",
        help="score a stored run again: more metrics, other postprocessing or intervals; nothing is generated",
        description="Scores a stored run by its config with OVERRIDES on top, into a new run folder. Chosen metrics "
        "are added to those of the run; ~metrics.NAME removes one. Nothing but the run folder is needed.",
    )
    score.add_argument("run", metavar="RUN", help=RUN)
    score.add_argument(
        "overrides",
        nargs="*",
        default=[],
        metavar="OVERRIDE",
        help="metrics=[chrf,ter] metrics.bleu.tokenize=zh postprocess=chat",
    )
    trusting_to_run(score)
    as_json(score)
    score.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.cli.hydra import score
    from harness.cli.hydra.rescoring import Options

    score(options.run, options.overrides, Options(options.config_dir, options.json, options.trust))
