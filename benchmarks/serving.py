"""Requests a second of `system=openai` beside other clients, against a server that answers after 100 ms.

Every rate is the server's: requests over the seconds from the first request to the last answer. With 200 requests
always under way the ideal is 2,000 a second.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS, REQUESTS, CONCURRENCY, TIMES = 0.1, 2000, 200, 5
PROMPT = "What did the committee decide, and why? " * 10
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": PROMPT}],
    "temperature": 0,
    "max_tokens": 512,
}
Call = Callable[[], Awaitable[object]]


def tables() -> Iterator[str]:
    ideal = CONCURRENCY / SECONDS
    what = f"{REQUESTS:,} requests, {CONCURRENCY} at once, answered in {SECONDS * 1000:.0f} ms"
    yield f"| {what} | a second | of the ideal |"
    yield "| --- | ---: | ---: |"
    clients: dict[str, Callable[[int], None]] = {
        "`harness run system=openai`, outputs on disk": harness_run,
        "`aiohttp` alone": lambda port: asyncio.run(with_aiohttp(port)),
        "`httpx2` alone": lambda port: asyncio.run(with_httpx(port)),
        "`openai.AsyncOpenAI`": lambda port: asyncio.run(with_openai(port)),
    }
    for name, client in clients.items():
        rate = max(measured(client) for _ in range(TIMES))
        yield f"| {name} | {rate:,.0f} | {rate / ideal:.1%} |"
    yield f"\nEach is the best of {TIMES}: any other work on the machine delays answers and is no client's fault."


def measured(client: Callable[[int], None]) -> float:
    with server() as port:
        client(port)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/measured", b"")
        counted = json.loads(connection.getresponse().read())
        connection.close()
    assert counted["requests"] == REQUESTS
    return float(counted["requests"] / counted["seconds"])


@contextmanager
def server() -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.endpoint", str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def harness_run(port: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"id": i, "source": f"{PROMPT}{i}", "references": ["the answer"]} for i in range(REQUESTS)]
        (Path(folder) / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        options = [
            "dataset=file", "dataset.path=dev.jsonl", "system=openai", f"system.base_url=http://127.0.0.1:{port}/v1",
            "system.model=m", "system.revision=1", f"system.concurrency={CONCURRENCY}", "metrics=exact_match",
            "tracking=none", "stats.resamples=100",
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        command = [sys.executable, "-m", "harness", "run", *options]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)


async def with_aiohttp(port: int) -> None:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:

        async def call() -> object:
            async with session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=BODY) as response:
                return await response.json()

        await all_of(call)


async def with_httpx(port: int) -> None:
    import httpx2

    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as session:

        async def call() -> object:
            return (await session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=BODY)).json()

        await all_of(call)


async def with_openai(port: int) -> None:
    import openai

    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as session:
        await all_of(lambda: session.chat.completions.create(**BODY))


async def all_of(call: Call) -> None:
    todo = iter(range(REQUESTS))

    async def worker() -> None:
        for _ in todo:
            await call()

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
