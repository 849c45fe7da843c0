"""`system=server 'system.command=[serve,"{model}",--port,"{port}"]' system.model=DIR`: a server started for the run.

Any server that speaks OpenAI's requests: `system=vllm`, `sglang`, `llama.cpp` and `transformers` are this system with
their commands. It is started on a free port of this machine when the first output is needed, so that a run that has all
of its outputs starts nothing. It is asked as `system=openai` asks, and ended with the run whatever ends that. Where it
dies it is started once more and asked for what it had not answered. What it says is in server.log in the run folder.

`replicas` servers, each on a device of its own, share the requests. `adapter` is a LoRA adapter that is loaded into the
running server by vLLM's routes; `system=adapters` does so for the checkpoints of a training run, one after the other.

The identity is the hash of the model's files, with the command as it is written, without port and path: the same model
under the same command is the same system wherever it is served.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.inputs import plugins, programs
from harness.inputs.files import digest
from harness.inputs.pretrained import Pretrained
from harness.masking import masked
from harness.systems.lora import check_base
from harness.systems.openai import OpenAI
from harness.systems.serving import LOOK, Fleet, Running, Start
from harness.types import Example, HarnessError, Output, check_least

log = logging.getLogger(__name__)
VERSION = 1
NOWHERE = "http://127.0.0.1/v1"
"""Until a server has a port."""
KEY = "SERVER_API_KEY"
"""Not that of a hosted service: a key goes to whom it belongs."""
LORA = ("arguments", "load", "unload")
LOADING = 300.0
"""Seconds for an adapter to be loaded."""


class Server(OpenAI):
    incidental = (*OpenAI.incidental, "replicas", "devices", "health", "start_timeout")

    def __init__(
        self,
        command: Sequence[str | int | float],
        model: str,
        name: str | None = None,
        revision: str | None = None,
        arguments: Sequence[str | int | float] = (),
        environment: Mapping[str, str | int | float] | None = None,
        health: str = "/health",
        start_timeout: float = 600,
        replicas: int = 1,
        devices: Sequence[str | int] | None = None,
        adapter: str | None = None,
        base: str | None = None,
        lora: Mapping[str, Any] | None = None,
        step: int | None = None,
        series: str | None = None,
        **options: Any,
    ) -> None:
        """The options are explained in conf/system/server.yaml; `options`: those of system=openai."""
        own = {name: value for name, value in locals().items() if name in OWN}
        plugins.typed(Server, own, "system")
        self.pretrained = Pretrained(model, "system.model", revision=revision, any_weights=True, adapter=adapter)
        known = self.pretrained.name  # says at once that there is no such model
        served = str(self.pretrained.location or model)
        if options.pop("base_url", None) is not None:
            raise HarnessError("system.base_url is set; expected system=openai, for a server that runs already")
        asking = {"base_url": NOWHERE, "model": served, "name": name or known, "api_key_env": KEY, **options}
        super().__init__(**plugins.checked(OpenAI, asking, "system", OWN))
        self.step, self.series, self.adapter = step, series, adapter
        lora = dict(lora or {})
        if wrong := [option for option in lora if option not in LORA]:
            raise HarnessError(f"system.lora.{wrong[0]} is not an option; system.lora has: {', '.join(LORA)}")
        if adapter is not None and not (lora.get("load") and lora.get("unload")):
            raise HarnessError(
                "system.adapter with a server that loads none (system.lora.load is null); expected system=vllm, or "
                "system=huggingface system.adapter=DIR"
            )
        self.lora, more = lora, [*(lora.get("arguments") or ()), *arguments] if adapter is not None else arguments
        self.command = programs.parts([*command, *more], None, "system.command")
        if not any("{port}" in word for word in self.command):
            raise HarnessError(
                f'system.command={self.command} has no {{port}}; expected a part "{{port}}" in it, for the free port '
                "that the server is to listen on"
            )
        if revision is not None and not any(revision in word for word in self.command):
            raise HarnessError(
                f"system.revision={revision} is not in the command; expected system.arguments with the server's own "
                f"option for it, such as [--revision,{revision}]"
            )
        check_least("system.replicas", replicas)
        if devices is not None and len(devices) != replicas:
            raise HarnessError(f"system.devices has {len(devices)} parts; expected system.replicas={replicas} of them")
        if not 0 < start_timeout < 1e9:
            raise HarnessError(f"system.start_timeout={start_timeout}; expected seconds, more than 0")
        if adapter is not None:
            check_base(self._adapter_folder, model, base)
        self.environment = {variable: str(value) for variable, value in (environment or {}).items()}
        self.start = Start(
            tuple(self.command),
            served,
            self.name,
            "/" + health.lstrip("/"),
            start_timeout,
            self.environment,
            replicas,
            None if devices is None else [str(device) for device in devices],
        )
        self.fleet, self.borrowed = Fleet(self.start), False
        """`borrowed`: others use the servers too, and somebody else ends them."""
        self._servers: list[Running] = []
        self._loaded = False

    def key(self) -> str | None:
        identity = self.pretrained.identity()
        if identity is None:
            return None
        asked = [self.prompt.template, self.system_message, self.parameters, self.extra]
        started = [programs.content(self.command), masked(self.environment)]
        return digest(["server", VERSION, identity, started, self.endpoint, asked])

    @property
    def _adapter_folder(self) -> Path:
        return Path(self.adapter or "").expanduser().absolute()

    @cached_property
    def _adapter_name(self) -> str:
        """By which the server knows the adapter: no other has it."""
        return f"{self._adapter_folder.name}-{digest(str(self._adapter_folder))[:8]}"

    # ------------------------------------------------------------ asking

    def addresses(self) -> list[str]:
        return [f"{server.root}/v1" for server in self._servers]

    def stream(self, batch: Sequence[Example]) -> Iterator[Mapping[int, Output]]:
        left = dict(enumerate(batch))
        while left:
            self._get_ready()
            places = list(left)
            try:
                for group in super().stream([left[place] for place in places]):
                    outputs = {places[i]: output for i, output in group.items()}
                    yield outputs
                    for place in outputs:
                        del left[place]
            except HarnessError:
                ended = self.fleet.ended(patience=1.0)
                if ended is None:
                    raise
                log.warning(
                    "%s: the server ended with code %s; it is started again and asked for what is left%s",
                    self.name, ended.process.returncode, f" (its log: {ended.path})" if ended.path else "",
                )  # fmt: skip

    async def _ask_all(self, batch: Sequence[Example], hand: Callable[[tuple[int, Output]], None]) -> None:
        """As long as all servers run."""
        asking = asyncio.ensure_future(super()._ask_all(batch, hand))
        try:
            while not asking.done():
                await asyncio.wait([asking], timeout=LOOK)
                if not asking.done() and self.fleet.ended():
                    raise HarnessError("a server ended")
            asking.result()
        finally:
            asking.cancel()
            with suppress(asyncio.CancelledError, HarnessError):
                await asking

    def _get_ready(self) -> None:
        """Healthy servers, with the adapter where there is one."""
        if self.fleet.folder is None or not self.fleet.up:
            self.fleet.folder = self.folder
        self._servers, started = self.fleet.ready()
        if self.adapter is None:
            return
        for server in self._servers if not self._loaded else started:
            content = {"lora_name": self._adapter_name, "lora_path": str(self._adapter_folder)}
            if fault := server.post(self.lora["load"], content, LOADING):
                raise HarnessError(
                    f"system.adapter={self.adapter}: the server does not load it ({self.lora['load']}: {fault}); "
                    f"expected an adapter of {self.start.model}, and a server that may load adapters while it runs"
                )
        self._loaded, self.model = True, self._adapter_name

    def close(self) -> None:
        if self._loaded:
            for server in self.fleet.up if self.borrowed else ():  # else they end, and the adapter with them
                server.post(self.lora["unload"], {"lora_name": self._adapter_name}, LOADING)
            self._loaded = False
        if not self.borrowed:
            self.fleet.end()


OWN = tuple(name for name in inspect.signature(Server).parameters if name not in ("self", "options"))
"""The options beside those of system=openai."""
