"""The HTTP side of `system=openai`: many requests at once to one address, by the rules that a shared server expects.

A request is sent when the limits leave room for it. What may pass by itself is tried again, after waits that double and
are drawn at random around that (so that requests that failed together do not come back together), and never before the
moment that the server's Retry-After names; on 429 and 503 the other requests wait for that moment too. What fails for
this request only is a failed example. What would fail for every request, such as a wrong key, ends the run.

| answer | what follows |
| --- | --- |
| 408, 409, 425, 429, 5xx, a reset, no answer in time, one that is cut off, no JSON or ended by an error | tried again |
| 400, 413, 422 and the like | a failed example with the server's message |
| an answer without end | a failed example, once it is longer than `answer_bytes` |
| 401, 402, 403, 404, 405, a redirect, an unknown model, a spent quota, a bad certificate, no server | `HarnessError` |
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from harness.types import HarnessError

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
LONGEST_BACKOFF = 60.0
FAULT_BYTES = 2**16
"""Read of an answer that says what is wrong."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""No proxy leads to this machine."""
RETRIED = (408, 409, 425, 429)
ENDING = (401, 402, 403, 404, 405)
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|\bmodel\b.{0,60}\bnot (exist|found)\b|no such model", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class Limits:
    concurrency: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    retries: int
    backoff: float
    connect_timeout: float
    read_timeout: float
    time_limit: float
    answer_bytes: float


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What became of a request: a value or an error, never both."""

    value: T | None
    error: str | None
    tries: int
    seconds: float
    """How long the last try took."""


class _Again(Exception):
    """Worth another try, not before `after` seconds where the server said so."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class _Unreachable(_Again):
    """No connection: if that lasts, no other request can succeed either."""


class _Refused(Exception):
    """This request fails; others may not."""


class Pace:
    """Lets so many units pass a minute, evenly spaced."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._free = 0.0

    def take(self, units: float) -> float:
        """The moment at which these units may pass; the next ones come after them."""
        at = max(time.monotonic(), self._free)
        self._free = at + units * self._interval
        return at

    def correct(self, units: float) -> None:
        """Units that were taken too few, or too many where negative."""
        self._free += units * self._interval


class Endpoint:
    def __init__(self, url: str, key_variable: str, limits: Limits) -> None:
        """The key is read from the environment here and goes into the request's header and nowhere else."""
        self.url, self.key_variable, self.limits = url, key_variable, limits
        self._key = os.environ.get(key_variable, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise HarnessError(f"the environment variable {key_variable} holds no key; expected printable ASCII")
        self._requests, self.tokens = Pace(limits.requests_per_minute), Pace(limits.tokens_per_minute)
        self._held = 0.0
        self._answered = False
        self._session: aiohttp.ClientSession

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Endpoint]:
        import aiohttp

        address = urlsplit(self.url)
        proxy = None
        if address.hostname not in LOOPBACK and not urllib.request.proxy_bypass(address.hostname or ""):
            proxy = urllib.request.getproxies().get(address.scheme)
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.limits.concurrency),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            proxy=proxy,
        )
        async with self._session:
            yield self

    async def post(self, body: bytes, read: Callable[[bytes], T], tokens: int = 0) -> Reply[T]:
        """Sends until there is an answer that `read` takes (it raises ValueError otherwise) or the limits are spent.

        `tokens`: what the request is expected to cost of `tokens_per_minute`.
        """
        deadline = 0.0
        for tries in range(1, self.limits.retries + 2):
            await self._turn(tokens)
            started = time.monotonic()
            deadline = deadline or started + self.limits.time_limit
            try:
                value = read(await self._try(body, max(deadline - started, 0.001)))
                return Reply(value, None, tries, time.monotonic() - started)
            except _Refused as error:
                return Reply(None, str(error), tries, time.monotonic() - started)
            except (ValueError, RecursionError) as error:
                fault = _Again(f"the answer cannot be read: {self._clean(str(error))[:300]}")
            except _Again as error:
                fault = error
            pause = min(self.limits.backoff * 2 ** (tries - 1), LONGEST_BACKOFF) * random.uniform(0.5, 1.5)
            wait = fault.after + pause
            if tries > self.limits.retries or time.monotonic() + wait > deadline:
                break
            await asyncio.sleep(wait)
        ended = time.monotonic()
        took = ended - deadline + self.limits.time_limit
        message = f"{fault}; given up after {tries} {'try' if tries == 1 else 'tries'} in {took:.1f} s"
        if isinstance(fault, _Unreachable):
            raise HarnessError(f"{message}. What was answered before is kept; the same command continues from there")
        return Reply(None, message, tries, ended - started)

    async def _turn(self, tokens: int) -> None:
        """Waits until the limits, and the server where it asked to wait, leave room for a request."""
        while True:
            while (wait := self._held - time.monotonic()) > 0:
                await asyncio.sleep(wait + random.uniform(0, self.limits.backoff))
            if (wait := max(self._requests.take(1), self.tokens.take(tokens)) - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            if self._held <= time.monotonic():
                return

    async def _try(self, body: bytes, seconds: float) -> bytes:
        """The body of a good answer."""
        import aiohttp

        limits = self.limits
        whole = min(seconds, limits.read_timeout)
        timeout = aiohttp.ClientTimeout(whole, sock_connect=limits.connect_timeout)
        try:
            async with self._session.post(self.url, data=body, timeout=timeout, allow_redirects=False) as response:
                content = await self._content(response)
        except aiohttp.ClientSSLError as error:
            raise HarnessError(f"{self.url} offers no secure connection ({error}); expected valid TLS") from None
        except aiohttp.ClientConnectorError as error:
            why = f"{self.url} cannot be reached ({error.strerror or error.os_error})"
            if not self._answered:
                raise HarnessError(f"{why}; expected a server at system.base_url") from None
            raise _Unreachable(why) from None
        except aiohttp.ConnectionTimeoutError:
            raise _Unreachable(f"{self.url} cannot be reached within {limits.connect_timeout:g} s") from None
        except TimeoutError:
            raise _Again(f"no answer within {whole:g} s") from None
        except aiohttp.ClientPayloadError:
            raise _Again("the answer broke off") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _Again(self._clean(f"the connection broke ({str(error) or type(error).__name__})")) from None
        self._answered = True
        if 200 <= response.status < 300:
            return content
        said = _message(self._clean(content.decode(errors="replace")))
        raise self._fault(response.status, said, response.headers)

    async def _content(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, unpacked, as long as it is no longer than it may be; of a fault, its beginning."""
        good = 200 <= response.status < 300
        most = self.limits.answer_bytes if good else FAULT_BYTES
        parts, length = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            length += len(part)
            if length > most:
                response.close()  # what is still to come is not waited for
                if good:
                    raise _Refused(f"the answer is longer than system.answer_mb={most / 2**20:g}")
                break
        return b"".join(parts)

    def _fault(self, status: int, said: str, headers: Any) -> Exception:
        """What an answer other than a good one means."""
        answer = f"{self.url} answered {status}: {said}"
        if 300 <= status < 400:
            return HarnessError(f"{answer}, a redirect; expected system.base_url to be the address that it leads to")
        if status in (401, 403):
            state = "its key was refused" if self._key else "which is not set"
            return HarnessError(f"{answer}; expected a key in the environment variable {self.key_variable}, {state}")
        if status in ENDING or (status < 500 and _NO_MODEL.search(said)):
            return HarnessError(f"{answer}; expected a server's system.base_url and a system.model that it has")
        if status == 429 and "insufficient_quota" in said:
            return HarnessError(f"{answer}; expected an account with credit. The same command continues from here")
        if status not in RETRIED and status < 500:
            return _Refused(f"HTTP {status}: {said}")
        after = retry_after(headers.get("Retry-After"))
        if after > self.limits.time_limit:
            return HarnessError(
                f"{answer}, and to come back in {after:.0f} s, more than system.time_limit={self.limits.time_limit:g}. "
                "What was answered before is kept; the same command continues from there"
            )
        if status in (429, 503):
            self._held = max(self._held, time.monotonic() + after)
        return _Again(f"HTTP {status}: {said}", after)

    def _clean(self, text: str) -> str:
        """A text for a message without the key, should a server repeat it; clean before you cut."""
        return text.replace(self._key, "***") if self._key else text


def retry_after(value: str | None) -> float:
    """Seconds to wait, of a Retry-After header in seconds or as a date; 0 without one.

    >>> retry_after("1.5"), retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), retry_after("soon"), retry_after(None)
    (1.5, 0.0, 0.0, 0.0)
    """
    if value is None:
        return 0.0
    with suppress(ValueError):
        seconds = float(value)
        return seconds if seconds > 0 else 0.0
    try:
        date = parsedate_to_datetime(value)
        wait = date.replace(tzinfo=date.tzinfo or timezone.utc) - datetime.now(timezone.utc)
    except (ValueError, OverflowError):  # no date, or one whose offset no calendar holds
        return 0.0
    return max(wait.total_seconds(), 0.0)


def _message(content: str) -> str:
    """What a server says is wrong: the message in its JSON, with the code where it has one, or its text.

    >>> _message('{"error": {"message": "too long", "code": "context_length_exceeded"}}')
    'too long (context_length_exceeded)'
    """
    answer: Any = content.strip()
    with suppress(ValueError, RecursionError):
        answer = json.loads(answer)
    code = None
    while isinstance(answer, dict):
        code = answer.get("code") or answer.get("type") or code
        inner = next((answer[name] for name in ("error", "message", "detail") if answer.get(name)), None)
        answer = str(answer) if inner is None else inner
    said = answer if isinstance(answer, str) else json.dumps(answer)
    return f"{said[:500] or 'nothing'}{f' ({code})' if isinstance(code, str) and code not in said else ''}"
