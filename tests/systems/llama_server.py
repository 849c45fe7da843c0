"""llama.cpp's own server, which comes inside xllamacpp, as a program: `python llama_server.py MODEL.gguf PORT`."""

from __future__ import annotations

import signal
import sys

import xllamacpp

if __name__ == "__main__":
    params = xllamacpp.CommonParams()
    params.model.path, params.port, params.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
    params.n_ctx, params.n_parallel, params.warmup = 4096, 2, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several wait for each other on a busy machine
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM})
