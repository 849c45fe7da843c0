"""A server for the benchmark of `system=openai`: it answers any request after exactly so many seconds.

`python -m benchmarks.endpoint 0.1` prints its port. It polls without sleeping while an answer is due within two
milliseconds, since a poll that sleeps wakes up to a millisecond late, and it does nothing else, so that it is no
bottleneck. `POST /measured` tells how many requests came and how many seconds passed from the first to the last answer.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections import deque

ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "the answer"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102},
}


def serve(seconds: float) -> None:
    answer = _good(ANSWER)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener.setblocking(False)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    read: dict[int, bytes] = {}
    due: deque[tuple[float, int]] = deque()
    print(listener.getsockname()[1], flush=True)
    first, last, count = 0.0, 0.0, 0
    while True:
        wait = due[0][0] - time.monotonic() if due else 1.0
        for number, _ in poll.poll(0 if wait < 0.002 else wait - 0.001):
            if number == listener.fileno():
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                clients[client.fileno()], read[client.fileno()] = client, b""
                poll.register(client, select.EPOLLIN)
                continue
            part = clients[number].recv(65536)
            read[number] += part
            if not part:
                poll.unregister(number)
                clients.pop(number).close()
            elif read[number].startswith(b"POST /measured"):
                clients[number].send(_good({"requests": count, "seconds": last - first}))
                read[number], count = b"", 0
            elif _whole(read[number]):
                now = time.monotonic()
                first, count = (first if count else now), count + 1
                read[number] = b""
                due.append((now + seconds, number))
        while due and due[0][0] <= time.monotonic():
            _, number = due.popleft()
            if number in clients:
                clients[number].send(answer)
                last = time.monotonic()


def _good(content: object) -> bytes:
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def _whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


if __name__ == "__main__":
    serve(float(sys.argv[1]))
