"""`system=python system.function=my.py:summarize`: the user's own Python function as a system.

It is called with an example as a dict (`id`, `source`, metadata by name; `repeat` where `repeats` is more than 1) and
`options` as keywords, and returns the output's text, or `{"output": text, "contexts": […]}` with what it retrieved.
With `batch` it gets a list of dicts and returns a list. It may be `async`: then `concurrency` calls run at once, in one
event loop for the whole run; calls of a plain function run at once in threads where `concurrency` asks for it. What it
raises is the error of that example and of no other; a batch that raised is asked again example by example.

What a function will return cannot be known from its text, so outputs are reused within the run folder only, as long as
the file that holds it is the same. `revision` states that the same file, options and revision give the same outputs.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     _ = Path(folder, "my.py").write_text("def shout(example, mark='!'): return example['source'].upper() + mark")
...     system = Python(f"{folder}/my.py:shout", options={"mark": "?"})
...     system.generate([Example("1", "it rains", ())])[0].text
'IT RAINS?'
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from harness.inputs import files, functions
from harness.types import Example, HarnessError, Output, System, check_least
from harness.types.shown import counted

VERSION = 1


class Python(System):
    incidental = ("concurrency",)

    def __init__(
        self,
        function: str,
        name: str | None = None,
        batch: bool = False,
        batch_size: int = 64,
        concurrency: int | None = None,
        repeats: int = 1,
        options: Mapping[str, Any] | None = None,
        revision: str | None = None,
    ) -> None:
        """`concurrency`: calls at once; by default 16 of an async function, 1 of a plain one."""
        self.function, self.name = function, name or function.rpartition(":")[2]
        self.batch, self.batch_size, self.concurrency = batch, batch_size, concurrency
        self.repeats, self.options, self.revision = repeats, dict(options or {}), revision
        for option, value in (("batch_size", batch_size), ("concurrency", concurrency), ("repeats", repeats)):
            check_least(f"system.{option}", value)
        if batch and concurrency is not None:
            raise HarnessError(
                f"system.batch=true with system.concurrency={concurrency}; expected one of them: a batch is one call"
            )
        self._runner = asyncio.Runner()
        self._failed = functions.Failed(function)

    @cached_property
    def _loaded(self) -> tuple[Callable[..., Any], str]:
        return functions.load(self.function)

    def key(self) -> str | None:
        together = self.batch_size if self.batch else None
        stated = ["python", VERSION, self.options, together, self.revision]
        return None if self.revision is None else files.digest(stated)

    def seen(self, example: Example) -> Any:
        """With the text of the function's file: another text may be another system."""
        return [super().seen(example), self._loaded[1]]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        fields = [e.fields() | ({"repeat": e.repeat} if self.repeats > 1 else {}) for e in batch]
        if self.batch:
            return functions.together(self._whole, fields, self._failed)
        function = self._loaded[0]
        asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        at_once = self.concurrency or (16 if asynchronous else 1)
        if asynchronous:
            return self._runner.run(self._all(fields, at_once))
        if at_once == 1:
            return [self._called(example) for example in fields]
        with ThreadPoolExecutor(at_once) as threads:
            return list(threads.map(self._called, fields))

    def _whole(self, fields: list[dict[str, Any]]) -> list[Output]:
        returned = self._loaded[0](fields, **self.options)
        if inspect.isawaitable(returned):
            returned = self._runner.run(_awaited(returned))
        returned = returned.tolist() if hasattr(returned, "tolist") else returned  # an array, a series
        if not isinstance(returned, Sequence) or isinstance(returned, str) or len(returned) != len(fields):
            shown = f"a list of {len(returned)}" if isinstance(returned, list | tuple) else functions.kind(returned)
            raise HarnessError(
                f"{self.function} returned {shown} for a batch of {counted(len(fields), 'example')}; "
                f"expected a list of {len(fields)}, an output for each"
            )
        return [self._output(value) for value in returned]

    def _called(self, example: dict[str, Any]) -> Output:
        try:
            return self._output(self._loaded[0](example, **self.options))
        except functions.ENDS_THE_RUN:
            raise
        except BaseException as error:
            return self._failed(error)

    async def _all(self, fields: list[dict[str, Any]], at_once: int) -> list[Output]:
        free = asyncio.Semaphore(at_once)

        async def call(example: dict[str, Any]) -> Output:
            async with free:
                try:
                    return self._output(await self._loaded[0](example, **self.options))
                except functions.ENDS_THE_RUN:
                    raise
                except BaseException as error:
                    if (task := asyncio.current_task()) is not None and task.cancelling():
                        raise  # Ctrl-C cancelled it, not the function itself
                    return self._failed(error)

        return await asyncio.gather(*map(call, fields))

    def _output(self, returned: Any) -> Output:
        if isinstance(returned, Output):
            return returned
        if isinstance(returned, str):
            return Output(returned)
        if isinstance(returned, Mapping) and isinstance(returned.get("output"), str):
            return Output(returned["output"], contexts=returned.get("contexts"))
        expected = '{"output": a text, "contexts": […]}' if isinstance(returned, Mapping) else "a text"
        return Output(None, f"{self.function} returned {functions.kind(returned)}; expected {expected}")

    def close(self) -> None:
        self._runner.close()
        self._runner = asyncio.Runner()


async def _awaited(returned: Awaitable[Any]) -> Any:
    return await returned
