"""A small server with vLLM's routes, as a program: `python standin.py MODEL --port N [--FLAG VALUE …]`.

It answers with the name of the model that was asked and the prompt; below the folder that it is started in it leaves
asked.jsonl (every request), started.txt (its process, and one that it started). It needs nothing but Python.

--die-after N   ends at the N-th request, the first time it is started (`died` is there afterwards)
--always 1      and every time
--sick 1        never becomes healthy
--broken 1      ends at once
--slow SECONDS  for each answer
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("model")
for name in ("--port", "--die-after", "--always", "--sick", "--broken"):
    parser.add_argument(name, type=int, default=0)
parser.add_argument("--slow", type=float, default=0.0)
parser.add_argument("--enable-lora", action="store_true")
options = argparse.Namespace()
"""What the program was started with."""
lock = threading.Lock()
adapters: dict[str, str] = {}
requests = 0


def first_to_die() -> bool:
    """Whether this is the first of all that were started here: two at once are not both."""
    try:
        Path("died").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def note(file: str, line: str) -> None:
    with lock, open(file, "a") as out:
        print(line, file=out)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(503 if options.sick else 200, {})

    def do_POST(self) -> None:
        global requests
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note("asked.jsonl", json.dumps({
            "path": self.path, "pid": os.getpid(), "device": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "key": self.headers.get("Authorization"), **content,
        }))  # fmt: skip
        if self.path.endswith("load_lora_adapter"):
            return self.adapter(content)
        with lock:
            requests += 1
            dying = options.die_after == requests and (first_to_die() or options.always)
        if dying:
            os._exit(3)
        time.sleep(options.slow)
        if content["model"] not in (options.model, *adapters):
            return self.answer(404, {"error": {"message": f"The model `{content['model']}` does not exist."}})
        text = f"{content['model'].rpartition('/')[2]}: {content['messages'][-1]['content']}"
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return self.answer(200, {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})

    def adapter(self, content: dict[str, Any]) -> None:
        if not options.enable_lora:
            return self.answer(404, {"error": {"message": "Not Found"}})
        if "unload" in self.path:
            adapters.pop(content["lora_name"])
        elif not Path(content["lora_path"], "adapter_config.json").exists():
            return self.answer(400, {"error": {"message": "No adapter found"}})
        else:
            adapters[content["lora_name"]] = content["lora_path"]
        return self.answer(200, {})

    def answer(self, code: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    parser.parse_args(namespace=options)
    print("loading", options.model, flush=True)
    if options.broken:
        sys.exit("out of memory: the model does not fit")
    child = subprocess.Popen(["sleep", "600"])
    note("started.txt", f"{os.getpid()} {child.pid}")
    print("ready", flush=True)
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
