"""A prompt as the messages of a chat, and those as the text that a model's own template makes of them.

>>> messages("It rains.", "Translate into German.")
[{'role': 'system', 'content': 'Translate into German.'}, {'role': 'user', 'content': 'It rains.'}]
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from harness.types import HarnessError

log = logging.getLogger(__name__)


def messages(prompt: str, system_message: str | None) -> list[dict[str, str]]:
    """The prompt as the user's message, behind the system message where there is one."""
    first = [] if system_message is None else [{"role": "system", "content": system_message}]
    return [*first, {"role": "user", "content": prompt}]


def templated(tokenizer: Any, prompts: Sequence[str], system_message: str | None, name: str) -> list[str]:
    """What the model `name` is given for each prompt."""
    if "strftime_now" in str(tokenizer.chat_template):
        _say_that_days_matter(name)
    try:
        return [
            tokenizer.apply_chat_template(messages(prompt, system_message), tokenize=False, add_generation_prompt=True)
            for prompt in prompts
        ]
    except Exception as error:  # a template raises what its author wrote, such as that it knows no system message
        asked, expected = "the prompt", "a template for one user's message"
        if system_message is not None:
            asked, expected = "the prompt with system.system_message", "none"
        reason = " ".join(str(error).split())[:300]
        raise HarnessError(
            f"the chat template of {name} does not take {asked} ({reason}); expected {expected}, or system.chat=false"
        ) from error


@cache
def _say_that_days_matter(name: str) -> None:
    """Once per process."""
    log.warning("the chat template of %s puts today's date into each prompt: outputs can differ from day to day", name)
