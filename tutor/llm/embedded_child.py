"""The child process of `tutor.llm.embedded`: serves one model until its standard input closes.

Reads one line of JSON, writes one line of JSON (`address` or `error`), then only waits. Everything llama.cpp
prints goes nowhere: its log would land on the terminal that the interview is drawn on.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> int:
    """Serve; 0 after the pipe closed, 3 when the model could not be loaded."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    order = json.loads(sys.stdin.readline() or "null")
    if order is None:
        return 0
    try:
        server = serve(order)
    except Exception as error:  # whatever llama.cpp raises, the parent says it to a person
        answer.write(json.dumps({"error": str(error)}) + "\n")
        answer.flush()
        return 3
    answer.write(json.dumps({"address": server.listening_address}) + "\n")
    answer.flush()
    while sys.stdin.readline():
        pass
    # Unloading tidily can wait for a reply that is being computed; nobody is left to read it.
    os._exit(0)


def serve(order: dict[str, Any]) -> Any:
    """Load the model of an order and start answering; returns the running server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["alias"]}
    params.n_ctx = order["context_tokens"]
    params.n_parallel = order["slots"]
    params.cpuparams.n_threads = order["threads"]
    params.cpuparams_batch.n_threads = order["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = order["port"]
    params.api_keys = [order["api_key"]]
    params.cont_batching = True
    # Between two batches the server sees that a caller left: 512 tokens are some 8 s of a 1.5B model on two cores.
    params.n_batch = 512
    if order["measured"]:
        params.endpoint_metrics = True
        params.cache_prompt = False
        params.cache_ram_mib = 0
    params.verbosity = -1
    params.ui = False
    params.offline = True
    params.cors_origins = "http://127.0.0.1"  # no web page may ask it
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
