"""`system=openai system.base_url=http://localhost:8000/v1 system.model=NAME`: a model behind an HTTP endpoint.

vLLM, llama.cpp, TGI, `transformers serve` and hosted services answer to the same two requests of OpenAI's, chat
completions and plain completions. The prompt is a Jinja template over the example's fields. Up to `concurrency`
requests are under way at any time, and each output is handed over as it comes, so that none waits for the slowest;
`endpoint.py` beside this file has the limits, the retries and the table of what is tried again, what fails and what
ends the run.

The key is read from the environment when requests are made, and goes into the request's header and nowhere else.

What a server runs can change behind its name: without a stated `revision`, outputs are reused in the run folder only.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar
from urllib.parse import urlsplit

from harness.inputs.files import digest
from harness.inputs.prompts import Prompt
from harness.systems.background import in_background
from harness.systems.chat import messages
from harness.systems.endpoint import Endpoint, Limits, Reply
from harness.types import Example, Gate, HarnessError, Output, System, check_choice

VERSION = 1
PATHS = {"chat": "/chat/completions", "completions": "/completions"}
OWN = ("model", "messages", "prompt", "temperature", "top_p", "max_tokens", "stop", "seed")
PRICES = ("input", "output")
Completion = tuple[str | None, dict[str, Any]]
"""(the text, what the server says of it)."""


class OpenAI(System):
    incidental: ClassVar[tuple[str, ...]] = (
        "api_key_env", "concurrency", "requests_per_minute", "tokens_per_minute", "retries", "backoff",
        "connect_timeout", "read_timeout", "time_limit", "answer_mb", "price",
    )  # fmt: skip
    apart = True

    def __init__(
        self,
        base_url: str,
        model: str,
        name: str | None = None,
        revision: str | None = None,
        endpoint: str = "chat",
        prompt: str = "{{ source }}",
        few_shot: Mapping[str, Any] | None = None,
        system_message: str | None = None,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 512,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        extra: Mapping[str, Any] | None = None,
        repeats: int = 1,
        api_key_env: str = "OPENAI_API_KEY",
        concurrency: int = 32,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        retries: int = 6,
        backoff: float = 0.5,
        connect_timeout: float = 10,
        read_timeout: float = 300,
        time_limit: float = 900,
        answer_mb: float = 16,
        price: Mapping[str, float | None] | None = None,
    ) -> None:
        self.base_url, self.model, self.revision = _address(base_url), model, revision
        self.name = name or model.rstrip("/").rsplit("/", 1)[-1]
        check_choice("system.endpoint", endpoint, PATHS)
        if system_message is not None and endpoint != "chat":
            raise HarnessError("system.system_message is set; expected system.endpoint=chat, the only one that has it")
        self.endpoint, self.prompt, self.system_message = endpoint, Prompt(prompt, few_shot), system_message
        parameters = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "stop": stop, "seed": seed}
        self.parameters: dict[str, Any] = {option: value for option, value in parameters.items() if value is not None}
        for option in {"temperature", "top_p"} & self.parameters.keys():
            self.parameters[option] = float(self.parameters[option])  # 0 and 0.0 are the same to the key
        taken = [option for option in extra or {} if option in (*OWN, "n", "stream")]
        if taken:
            own = f"system.{taken[0]}" if taken[0] in OWN else "system.repeats and whole answers"
            raise HarnessError(f"system.extra.{taken[0]} is set; expected {own} instead")
        self.extra = dict(extra or {})
        self.repeats, self.seed, self.most_tokens = repeats, seed, max_tokens
        self.sampled = seed is None and temperature != 0
        if not re.fullmatch(r"[A-Za-z_]\w*", api_key_env):  # a key given by mistake is not repeated
            raise HarnessError("system.api_key_env is not the name of a variable; expected one such as OPENAI_API_KEY")
        self.api_key_env = api_key_env
        wrong = [option for option in price or {} if option not in PRICES]
        if wrong:
            raise HarnessError(f"system.price.{wrong[0]} is not an option; system.price has: {', '.join(PRICES)}")
        prices = {option: value for option, value in (price or {}).items() if value is not None}
        if len(prices) == 1:
            raise HarnessError(f"system.price={prices}; expected both prices or none")
        self.price = prices or None
        self._gate = Gate(self.base_url)
        self.limits = Limits(
            concurrency, requests_per_minute, tokens_per_minute, retries, backoff,
            connect_timeout, read_timeout, time_limit, answer_mb * 2**20,
        )  # fmt: skip
        _check({"retries": retries, "backoff": backoff, **{f"price.{k}": v for k, v in prices.items()}}, zero=True)
        positive = ("concurrency", "requests_per_minute", "tokens_per_minute", *_TIMES)
        _check({option: getattr(self.limits, option) for option in positive})
        _check({"repeats": repeats, "answer_mb": answer_mb})

    def key(self) -> str | None:
        if self.revision is None:
            return None
        asked = [self.prompt.template, self.system_message, self.parameters, self.extra]
        return digest(["openai", VERSION, self.endpoint, self.base_url, self.model, self.revision, asked])

    def about(self) -> dict[str, str]:
        """The model's own identity, whatever it is asked."""
        known = self.revision is not None
        return {"model_key": digest(["endpoint", self.base_url, self.model, self.revision])} if known else {}

    def seen(self, example: Example) -> str:
        return self.prompt(example)

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        """All at once: `stream` hands over each output as it comes."""
        return [list(range(len(examples)))]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        made: dict[int, Output] = {}
        for group in self.stream(batch):
            made.update(group)
        return [made[i] for i in range(len(batch))]

    def stream(self, batch: Sequence[Example]) -> Iterator[Mapping[int, Output]]:
        if importlib.util.find_spec("aiohttp") is None:
            raise HarnessError(
                "system=openai needs aiohttp, which is not installed; "
                "expected this package with its extra: pip install '.[openai]' in a checkout"
            )

        def work(hand: Callable[[tuple[int, Output]], None]) -> Coroutine[Any, Any, None]:
            return self._ask_all(batch, hand)

        yield from map(dict, in_background(work))

    def addresses(self) -> list[str]:
        """Of the servers that share the requests."""
        return [self.base_url]

    async def _ask_all(self, batch: Sequence[Example], hand: Callable[[tuple[int, Output]], None]) -> None:
        todo = iter(enumerate(batch))

        async def worker(endpoint: Endpoint) -> None:
            for i, example in todo:
                hand((i, await self._ask(endpoint, example)))

        servers = [
            Endpoint(address + PATHS[self.endpoint], self.api_key_env, self.limits) for address in self.addresses()
        ]
        try:
            async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
                endpoints = [await stack.enter_async_context(server.opened()) for server in servers]
                for i in range(min(self.limits.concurrency * len(endpoints), len(batch))):
                    group.create_task(worker(endpoints[i % len(endpoints)]))
                    await asyncio.sleep(0)  # the first request leaves before the last connection is opened
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _ask(self, endpoint: Endpoint, example: Example) -> Output:
        body = self.body(example)
        expected = 0
        if self.limits.tokens_per_minute is not None:  # four bytes a token, and an answer as long as it may be
            expected = len(body) // 4 + self.parameters.get("max_tokens", 0)
        reply = await endpoint.post(body, self._read, expected)
        output = self._output(reply)
        if self.limits.tokens_per_minute is not None and "output_tokens" in output.info:
            endpoint.tokens.correct(output.info.get("input_tokens", 0) + output.info["output_tokens"] - expected)
        return output

    def body(self, example: Example) -> bytes:
        """The request for an example."""
        prompt = self.prompt(example)
        asked: dict[str, Any] = {"model": self.model}
        if self.endpoint == "chat":
            asked["messages"] = messages(prompt, self.system_message)
        else:
            asked["prompt"] = prompt
        seed = {} if self.seed is None else {"seed": self.seed + example.repeat}
        return json.dumps({**asked, **self.parameters, **seed, **self.extra}).encode()

    def _read(self, content: bytes) -> Completion:
        """The completion in an answer; ValueError where there is none."""
        answer = json.loads(content)
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"] if self.endpoint == "chat" else choice["text"]
            usage = answer.get("usage") if isinstance(answer.get("usage"), dict) else {}
            info = {
                "input_tokens": usage.get("prompt_tokens"),
                "output_tokens": usage.get("completion_tokens"),
                "finish": choice.get("finish_reason"),
                "refusal": choice["message"].get("refusal") if self.endpoint == "chat" else None,
            }
        except (LookupError, TypeError, AttributeError):
            raise ValueError(f"expected a completion, found {content.decode(errors='replace')}") from None
        if not isinstance(text, str | None):
            raise ValueError(f"expected a text, found {text}")
        if info["finish"] == "error":  # what a gateway says where the server behind it broke off
            raise ValueError(f"expected a whole completion, found the finish reason error after {text!r}")
        return text, info

    def _output(self, reply: Reply[Completion]) -> Output:
        text, said = reply.value or (None, {})
        info = self._gate.info(said)
        read, written = info.get("input_tokens"), info.get("output_tokens")
        if self.price is not None and read is not None and written is not None:
            info["cost"] = (read * self.price["input"] + written * self.price["output"]) / 1e6
        info |= {"seconds": round(reply.seconds, 4), "tries": reply.tries}
        withheld = text is None or (not text and info.get("finish") == "content_filter")
        if not withheld:
            return Output(text, None, info)
        refusal = f", its refusal: {info['refusal']}" if info.get("refusal") else ""
        error = reply.error or f"the answer has no text, its finish reason is {info.get('finish')}{refusal}"
        return Output(None, error, info)


_TIMES = ("connect_timeout", "read_timeout", "time_limit")


def _address(base_url: str) -> str:
    """The address without its last slash, if it is one; what may hold a secret is not repeated."""
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise HarnessError("system.base_url is not an address; expected one such as http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise HarnessError(
            f"system.base_url to {parts.hostname} holds more than an address; expected no name, password, ? or # in "
            "it, and the key in the environment variable that system.api_key_env names"
        )
    for path in PATHS.values():
        if parts.path.rstrip("/").endswith(path):
            raise HarnessError(f"system.base_url={base_url} ends in {path}; expected the part before, such as …/v1")
    return base_url.rstrip("/")


def _check(options: Mapping[str, float | None], zero: bool = False) -> None:
    for option, value in options.items():
        if value is not None and not (value >= 0 if zero else value > 0):
            raise HarnessError(f"system.{option}={value}; expected {'0 or more' if zero else 'more than 0'}")
