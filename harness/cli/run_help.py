"""`harness run --help`: examples, the choices of each group, and the options of what is chosen with their comments;
`harness run --help system=openai`: those of a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.cli.choices_of_groups import Configs, options_of

HEAD = "harness run: evaluate systems on data sets, with intervals, into a run folder and MLflow"
EXAMPLES = """Examples
  harness run                                                          the embedded data set and a baseline
  harness run dataset=file dataset.path=dev.jsonl system=predictions system.path=sysA.jsonl
  harness run dataset=file dataset.path=dev.csv dataset.columns.references=ref system=column 'system.field=[sysA,sysB]'
  harness run dataset=file dataset.path=dev.jsonl dataset.sample=500 'dataset.filter="domain == \\"news\\""' system=lead
  harness run dataset=text 'dataset.references=[ref.txt]' system=predictions system.path=out.txt metrics=lexical
  harness run dataset=embedded system=huggingface system.model=models/ckpt 'system.prompt="Sum up: {{ source }}"'
  harness run --multirun dataset=embedded system=lead,lexrank 'metrics=[bleu,rouge]'
  harness run ... metrics.bleu.tokenize=zh stats.resamples=2000 stats.level=0.99 tracking=none name=trial
  harness run --multirun system=lead,lexrank --json                    one JSON document with all runs, nothing else
  harness run --cfg job dataset=file system=predictions                show the composed config, run nothing
  harness run --config-dir my/conf system=mine                         your own YAML files beside ours"""
FLAGS = """Flags: --multirun (a run of every combination of values), --dry-run (what would be generated), --json,
--from RUN --trust (a stored run once more, by its recorded choices and overrides; yours go on top).
Hydra's own flags: harness run --hydra-help. Other commands: harness --help."""


def help_text(words: Sequence[str]) -> str:
    """`words`: of the command line, without the flag."""
    configs = Configs.of(words)
    chosen = configs.chosen(words)
    return "\n\n".join(_of_choices(configs, chosen) if chosen else _of_all(configs)) + "\n"


def _of_all(configs: Configs) -> Iterator[str]:
    yield HEAD
    yield EXAMPLES
    groups = [f"  {group}: {', '.join(configs.choices(group))}" for group in configs.groups()]
    yield "\n".join(["Choose one of each group (override as group=choice; metrics takes a list as well)", *groups])
    yield "Options of a choice: harness run --help system=openai. Below: the options of the defaults."
    yield _indented("Set any of these (override as name=value)", options_of(configs.text("config")))
    yield from _of_choices(configs, configs.defaults())
    yield _indented("Of every data set (override as dataset.OPTION=value)", options_of(configs.text("selection")))
    yield FLAGS


def _of_choices(configs: Configs, chosen: dict[str, list[str]]) -> Iterator[str]:
    for group, choices in chosen.items():
        for choice in choices:
            for name, text in configs.parts(group, choice):
                built = "" if name == choice else f", which {group}={choice} is built on"
                yield _indented(f"{group}={name}{built} (override as {group}.OPTION=value)", text)


def _indented(title: str, text: str) -> str:
    return "\n".join([title, *(f"  {line}".rstrip() for line in text.splitlines())])
