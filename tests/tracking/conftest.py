"""One real server for all tests of tracking: `mlflow server` on PostgreSQL, on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tracking.servers import mlflow_server, postgresql


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    with postgresql() as uri:
        yield uri


@pytest.fixture(scope="session")
def server(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mlflow_server(tmp_path_factory.mktemp("server"), database) as uri:
        yield uri
