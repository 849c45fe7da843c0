"""The beginnings of many traces in MLflow: in a database as one transaction, on a server a call each.

MLflow has a call for the spans of many traces and none for the traces themselves: `start_trace` looks up the
experiment, writes a trace with its tags and assessments statement by statement, and commits, which for 10,000 traces is
minutes. Here the store's own `start_trace` is called for each, on a copy of the store whose sessions are all one
session, which writes everything at its end. What is written is MLflow's business, as before.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

log = logging.getLogger(__name__)


def start(client: Any, infos: Sequence[Any]) -> None:
    """Begins these traces, none of which is there."""
    from mlflow.exceptions import MlflowException

    tracing = client._tracing_client
    if len(infos) > 1 and hasattr(tracing.store, "ManagedSessionMaker"):  # a database, not a server
        try:
            with _one_transaction(tracing.store) as store:
                for info in infos:
                    store.start_trace(info)
        except (MlflowException, TypeError, AttributeError) as error:
            # another process began one of them, or the store is built otherwise: nothing of it was written
            log.debug("%d traces could not be begun at once: %s", len(infos), error)
        else:
            return
    for info in infos:
        tracing.start_trace(info)


@contextmanager
def _one_transaction(store: Any) -> Iterator[Any]:
    """A store that writes what it is told at the end, all of it or nothing; others in the process keep theirs."""
    own = copy.copy(store)
    with store.ManagedSessionMaker(read_only=False) as session, session.no_autoflush:

        @contextmanager
        def same_session(read_only: bool = True) -> Iterator[Any]:
            yield session

        own.ManagedSessionMaker = same_session
        own.get_experiment = cache(store.get_experiment)
        session.flush = lambda *_: None  # MLflow flushes each trace; together they are few statements
        try:
            yield own
        finally:
            del session.flush
