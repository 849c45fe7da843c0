"""`harness completion SHELL`: commands, options, choices and names of runs on the Tab key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

MARK = "# harness: completion"
SCRIPTS = {
    "bash": """_harness() {
  local line="${COMP_LINE:0:COMP_POINT}" word head IFS=$'\\n'
  word="${line##*[[:space:]]}"
  head="${word%"${word##*[=:]}"}"  # bash takes what stands behind = or : for a word of its own
  COMPREPLY=($(harness completion bash --line "$line" 2>/dev/null))
  COMPREPLY=("${COMPREPLY[@]#"$head"}")
  if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" != *[=.] && "$word" != *'['* ]]; then COMPREPLY=("${COMPREPLY[0]} "); fi
}
complete -o nospace -o bashdefault -o default -F _harness harness
""",
    "zsh": """#compdef harness
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
_harness() {
  local -a offered
  offered=("${(@f)$(harness completion zsh --line "$LBUFFER" 2>/dev/null)}")
  offered=(${offered:#})
  (( $#offered )) && compadd -Q -S '' -- $offered || _files
}
compdef _harness harness
""",
    "fish": """complete -c harness -a '(harness completion fish --line (commandline -cp) 2>/dev/null)'
""",
}


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="complete commands, overrides and names of runs on the Tab key (bash, zsh, fish)",
        description="Prints the script that completes harness's commands in a shell; --install puts it in place.",
    )
    parser.add_argument("shell", choices=list(SCRIPTS))
    parser.add_argument("--install", action="store_true", help="for new shells of yours, from now on")
    parser.add_argument("--line", metavar="TEXT", help="what a line up to the cursor can become: for the scripts")
    parser.set_defaults(call=call, commands=commands.choices)


def call(options: Any) -> None:
    from harness.cli.output import tell

    if options.line is not None:
        from harness.cli.completing import candidates

        tell("\n".join(candidates(options.line, options.commands)))
    elif options.install:
        tell(f"{install(options.shell, Path.home())}  (open a new shell)")
    else:
        tell(SCRIPTS[options.shell].rstrip())


def install(shell: str, home: Path) -> Path:
    """Writes the script to where the shell reads it; doing it again changes nothing else."""
    from harness.cli.output import write_text

    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    script = (
        config / "fish" / "completions" / "harness.fish"
        if shell == "fish"
        else data / "harness" / f"completion.{shell}"
    )
    script.parent.mkdir(parents=True, exist_ok=True)
    write_text(script, SCRIPTS[shell])
    if shell != "fish":  # which looks there by itself
        profile = home / f".{shell}rc"
        before = profile.read_text(encoding="utf-8") if profile.exists() else ""
        if MARK not in before:
            line = f'[ -r "{script}" ] && . "{script}"  {MARK}\n'
            write_text(profile, line if not before or before.endswith("\n") else f"\n{line}", "a")
    return script
