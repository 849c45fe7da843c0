"""`harness merge`: the config that the stored runs of all shards share, without the shard, takes the place of
conf/config.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydra import initialize_config_dir

from harness.cli.hydra import calling, explaining
from harness.cli.hydra.rescoring import Options, Origin, scored
from harness.cli.hydra.versions import BASE
from harness.run import config as core


def merge(runs: Sequence[str], settings: Mapping[str, Any], tracking: str | None, options: Options) -> None:
    """`harness merge RUN… -o DIR`; `settings`: the config's name, output_dir and progress; `tracking`: the address of
    the store to log to, `none`, or None: that of the shards."""
    calling.begin(["merge", *runs])
    overrides = [] if tracking is None else ["tracking=none" if tracking == "none" else f"tracking.uri={tracking}"]
    with initialize_config_dir(str(core.conf_dir()), **BASE):
        explaining.report(lambda: _merge(runs, settings, overrides, options), overrides)


def _merge(runs: Sequence[str], settings: Mapping[str, Any], overrides: list[str], options: Options) -> None:
    from harness.analysis.stored.loading import find_run
    from harness.run.merging import merged
    from harness.store.shards import ShardsDataset, ShardsSystem

    shards = merged([find_run(run) for run in runs], received=not options.trust)
    parts = {"dataset": ShardsDataset(shards), "system": ShardsSystem(shards), "shards": shards}
    scored(Origin(shards.manifest, shards.folders[0], parts, settings), overrides, options)
