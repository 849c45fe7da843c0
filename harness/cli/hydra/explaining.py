"""Hydra reports errors with tracebacks of its own making; here what a user can fix becomes one message.

A misspelt name is shown with the nearest valid one.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.cli.choices_of_groups import Configs
from harness.cli.hydra.calling import command, typed
from harness.cli.hydra.multirun import Sweep
from harness.cli.output import complain
from harness.cli.signals import exit_code
from harness.inputs.nested import nodes
from harness.types import HarnessError, nearest

DISK = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOTDIR, errno.EEXIST}
"""What is wrong with a disk, or with a place on it."""
PART = re.compile(r"""("[^"]*"|'[^']*'|\[[^][]*\]|\{[^}{]*\}|[^,]+)(?=,|$),?""")
"""Of values with commas between them: in quotes, a list, a mapping, or what stands before the next comma."""


def report(func: Callable[[], Any], arguments: list[str]) -> Any:
    """Calls; an error that a user can fix becomes one message and exit code 1."""
    try:
        return func()
    except KeyboardInterrupt as error:
        with suppress(OSError):  # the terminal may be gone
            print(file=sys.stderr)
            how = f" ({Sweep.current.interrupted()})" if Sweep.current is not None else ""
            complain(f"interrupted{how}; every finished batch is kept. To go on from here:\n  {command()}")
        sys.exit(exit_code(error))
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        if isinstance(error, HarnessError):
            complain(error)
        elif isinstance(error, OSError) and _of_disk(error):
            place = error.filename or "a file"
            complain(f"{place} cannot be written ({error.strerror}); expected a folder that can be written, with room")
        elif isinstance(error, ValueError | TypeError) and _in_hydra(error):
            many = "an override has a number of thousands of digits; expected at most 18"
            complain(_no_choice(arguments) or (many if "integer string conversion" in str(error) else error))
        elif isinstance(error, HydraException | OmegaConfBaseException):
            complain(_explained(error, arguments))
            sys.exit(2 if isinstance(error, OverrideParseException) else 1)
        elif Sweep.current is not None and Sweep.current.failed:  # another's sweeper, which a failed cell confused
            complain(f"the sweeper ended with {type(error).__name__}: {error}")
            sys.exit(Sweep.end())
        else:
            raise
        sys.exit(1)


def _of_disk(error: OSError) -> bool:
    """Whether a file or a folder of ours could not be written, whoever wrote it; Hydra makes some of its own."""
    return error.errno in DISK and error is not getattr(sys.stdout, "error", None)


def _in_hydra(error: Exception) -> bool:
    """Whether Hydra itself fell over what it was given."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and str(place.tb_frame.f_globals.get("__name__")).startswith(("hydra.", "omegaconf."))


def _no_choice(arguments: list[str]) -> str | None:
    """Says for which group neither a name nor a list of names was given."""
    groups = _loader().list_groups("")
    overrides = [argument for argument in arguments if not argument.startswith("-") and "=" in argument]
    for text in overrides:
        with suppress(ValueError):  # a number of thousands of digits
            override = OverridesParser.create().parse_override(text)
            group, value = override.key_or_group, override.value()
            names = value if isinstance(value, list) else [value]
            if (
                group in groups
                and not override.is_sweep_override()
                and not all(isinstance(name, str) for name in names)
            ):
                return f"{text} is not a choice; {group} has: {', '.join(_choices(group))}"
    return None


def _loader() -> Any:
    return GlobalHydra.instance().config_loader()


def _choices(group: str) -> list[str]:
    """Those of a stored run, see score(), apart."""
    return [option for option in _loader().get_group_options(group) if not option.startswith("_")]


def _explained(error: Exception, arguments: list[str]) -> str:
    """Hydra's error in a line or two, with the nearest valid name where a name is wrong."""
    text = re.split(r"\n\s*(?:Config s|S)earch path", str(error).strip())[0].strip()
    if isinstance(error, OverrideParseException):
        problem = [line for line in text.splitlines() if line.strip(" ^") and "See https" not in line][-1]
        problem = "it has characters that need quotes" if "Exception" in problem else problem
        problem = "it has no =" if problem.startswith("missing EQUAL") else problem
        hint = _with_quotes(error.override)
        expected = f"name=value, what is special in quotes{f', as {hint}' if hint else ''}"
        return f"{error.override} is not an override ({problem}); expected {expected}"
    wrong = re.search(r"Could not override '([^'@]+)", text)
    if wrong and (message := _no_choice(arguments)):
        return message
    if wrong:
        name = wrong[1]
        valid = _valid_names(name, arguments)
        parent = name.rpartition(".")[0]
        beside = sorted({n.removeprefix(f"{parent}.") for n in valid if n.rpartition(".")[0] == parent})
        inside = [other for other in valid if other.endswith(f".{name}")]
        hint = f" (did you mean {' or '.join(map(repr, inside))}?)" if 0 < len(inside) < 4 else nearest(name, valid)
        listed = f"; {parent or 'the top level'} has: {', '.join(beside)}" if beside else ""
        if having := _elsewhere(name, arguments):
            return f"{name} is not an option of what is chosen; expected with it one of {', '.join(having)}"
        if parent.endswith(".options") and parent in valid and not beside:  # of the user's own function
            return f"{name} is not in the config, where {parent} names none; expected +{name}=… for one of your own"
        return f"{name} is not in the config{hint}{listed}"
    choice = re.search(r"(?:Could not find|Could not load) '([^']+)/([^'/]+)'", text)
    if choice:
        group, name = choice.groups()
        options = _choices(group)
        if options:
            return f"{group}={name} is not a choice{nearest(name, options)}; {group} has: {', '.join(options)}"
    if several := re.match(r"Ambiguous value for argument '(.*?)'\n", text, re.DOTALL):
        name, _, values = several[1].partition("=")
        listed = f", or for a list {shlex.quote(f'{name}=[{values}]')}" if "." in name or name == "metrics" else ""
        return f"{several[1]} has several values; expected --multirun, which runs each of them{listed}"
    if "INTERVAL_SWEEP" in text:
        return (
            "a grid tries every value, and an interval has no end of them; expected values (0.1,0.5) or range(…), or a "
            "sweeper that searches (hydra/sweeper=harness objective=…)"
        )
    cause = f"\n{error.__cause__}" if error.__cause__ is not None else ""
    noise = ("full_key", "object_type", "reference_type", "See https")
    lines = [line for line in (text + cause).splitlines() if line.strip() and not line.strip().startswith(noise)]
    return "\n".join(lines)


def _with_quotes(override: str) -> str | None:
    """The override as a shell takes it, with each text of its value in quotes; None where that is no help."""
    name, equals, value = override.partition("=")
    listed = value.startswith("[") and value.endswith("]")
    if not equals or value.startswith("{") or re.search(r"\s[\w.@+~]+=", value):  # two overrides in one word
        return None
    parts = PART.findall(value[1:-1] if listed else value) if ", " not in value else [value]
    quoted = ",".join(part if _is_no_text(part) else _quoted(part) for part in parts)
    word = f"{name}=[{quoted}]" if listed else f"{name}={quoted}"
    try:
        OverridesParser.create().parse_override(word)
    except HydraException:
        return None
    return shlex.quote(word)


def _is_no_text(part: str) -> bool:
    """Whether it is something else than a text as it stands, or in quotes already."""
    with suppress(HydraException, ValueError):
        return not isinstance(OverridesParser.create().parse_override(f"x={part}").value(), str) or part[:1] in "\"'"
    return False


def _quoted(part: str) -> str:
    return '"{}"'.format(part.replace("\\", "\\\\").replace('"', '\\"'))


def _elsewhere(name: str, arguments: list[str]) -> list[str]:
    """Which choices of its group have an option of this name, where the chosen one has none."""
    configs, group = Configs.of(arguments), name.partition(".")[0]
    choices = configs.choices(group) if group in configs.groups() else []
    return [f"{group}={choice}" for choice in choices if name in configs.keys(group, [choice])]


def _valid_names(wrong: str, arguments: list[str]) -> list[str]:
    """Names that can be overridden, in the config composed without the wrong override."""
    loader = GlobalHydra.instance().hydra
    assert loader is not None
    groups = [g for g in loader.config_loader.list_groups("") if not g.startswith("hydra")]
    overrides = [a for a in arguments if not a.startswith("-") and "=" in a]
    kept = [a for a in overrides if not a.lstrip("+~").startswith((wrong + "=", wrong + "@"))]
    parser = OverridesParser.create()
    primary = "stored" if typed[:1] == ["score"] else "config"
    single: list[str] = []
    with suppress(HydraException):
        single = [a for a, o in zip(kept, parser.parse_overrides(kept), strict=True) if not o.is_sweep_override()]
    chosen = [a for a in single if a.partition("=")[0] in groups]  # where another option is wrong as well
    for words in (single, chosen, []):
        with suppress(HydraException, OmegaConfBaseException):
            composed = loader.compose_config(primary, words, run_mode=RunMode.RUN, with_log_configuration=False)
            break
    tree = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(tree, dict)
    tree.pop("hydra", None)
    return [*groups, *(name for name, _ in nodes(tree) if name.rpartition(".")[2] != "_target_")]
