"""A prompt as the messages of a chat.

>>> messages("It rains.", "Translate into German.")
[{'role': 'system', 'content': 'Translate into German.'}, {'role': 'user', 'content': 'It rains.'}]
"""

from __future__ import annotations


def messages(prompt: str, system_message: str | None) -> list[dict[str, str]]:
    """The prompt as the user's message, behind the system message where there is one."""
    first = [] if system_message is None else [{"role": "system", "content": system_message}]
    return [*first, {"role": "user", "content": prompt}]
