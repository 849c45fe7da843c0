"""A server on loopback that answers as a script says: rightly, wrongly, late, half or not at all."""

from __future__ import annotations

import asyncio
import json
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Status:
    """An answer that says what is wrong; `{key}` in it is the request's key."""

    code: int
    message: str = "some fault"
    retry_after: str | None = None
    error: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A good status with this body, of which `cut` bytes are left out and the connection closed."""

    body: bytes
    cut: int = 0


@dataclass(frozen=True)
class Late:
    """The right answer after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Endless:
    """A body that goes on, in chunks, up to 256 MiB; `packed`: by gzip, a thousandth of that on the line."""

    code: int = 200
    packed: bool = False


HANG, RESET, RESET_WITHIN = "hang", "reset", "reset within"
Act = Status | Raw | Late | Endless | str


def completion(text: str | None, finish: str = "stop") -> dict[str, Any]:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "text": text, "finish_reason": finish}
    return {"choices": [choice], "usage": usage}


@dataclass
class Asked:
    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        return str(self.body["prompt"] if "prompt" in self.body else self.body["messages"][-1]["content"])


class Faulty:
    """`script[prompt]`: what is done on the first, second, … request with that prompt; afterwards it is echoed."""

    def __init__(self) -> None:
        self.script: dict[str, list[Act]] = {}
        self.asked: list[Asked] = []
        self.seconds = 0.0
        self.under_way = self.most_under_way = 0
        self.port = self.sent = 0
        """`sent`: MiB of endless bodies, unpacked."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def tries(self, prompt: str) -> list[float]:
        return [asked.at for asked in self.asked if asked.prompt == prompt]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:])}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                asked = Asked(time.monotonic(), head[0].split()[1], headers, body)
                self.asked.append(asked)
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                try:
                    await self._answer(asked, writer)
                finally:
                    self.under_way -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        acts = self.script.get(asked.prompt, [])
        right = Raw(json.dumps(completion(f"echo {asked.prompt}")).encode())
        act = acts.pop(0) if acts else right
        if isinstance(act, Late):
            await asyncio.sleep(act.seconds)
            act = right
        await asyncio.sleep(3600 if act == HANG else self.seconds)
        if isinstance(act, str):
            if act == RESET_WITHIN:
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices"')
                await writer.drain()
            writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionError
        if isinstance(act, Endless):
            await self._go_on(act, writer)
            return
        if isinstance(act, Status):
            message = act.message.replace("{key}", asked.headers.get("authorization", "none"))
            content = json.dumps({"error": {"message": message, **act.error}}).encode()
            more = f"Retry-After: {act.retry_after}\r\n" if act.retry_after is not None else ""
            code, length, sent = act.code, len(content), content
        else:
            code, more, length, sent = 200, "", len(act.body), act.body[: len(act.body) - act.cut]
        writer.write(f"HTTP/1.1 {code} X\r\nContent-Length: {length}\r\n{more}\r\n".encode() + sent)
        await writer.drain()
        if len(sent) < length:
            raise ConnectionError

    async def _go_on(self, act: Endless, writer: asyncio.StreamWriter) -> None:
        packing = zlib.compressobj(wbits=31) if act.packed else None
        encoding = b"Content-Encoding: gzip\r\n" if packing else b""
        writer.write(b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n%b\r\n" % (act.code, encoding))
        for _ in range(256):
            part = b" " * 2**20
            part = packing.compress(part) + packing.flush(zlib.Z_SYNC_FLUSH) if packing else part
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
            await asyncio.sleep(0.002)  # the other side may close meanwhile
            self.sent += 1
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@contextmanager
def faulty() -> Iterator[Faulty]:
    server = Faulty()
    loop = asyncio.new_event_loop()

    async def start() -> asyncio.Server:
        started = await asyncio.start_server(server._serve, "127.0.0.1", 0)
        server.port = started.sockets[0].getsockname()[1]
        return started

    async def stop() -> None:
        listening.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    listening = loop.run_until_complete(start())
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
