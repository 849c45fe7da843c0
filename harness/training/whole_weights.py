"""All weights of a model on every rank, so that each rank can generate by itself.

DDP, ZeRO-1 and ZeRO-2 leave them whole. FSDP2 (`fully_shard`, which the Trainer's `fsdp=True` is) keeps a part on each
rank: they are gathered for an evaluation and are parts again after it. Each rank needs room for all of them, and none
waits for another from token to token. Any other way to share weights is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.types import HarnessError

INSTEAD = (
    "expected whole weights on each rank (DDP, ZeRO-1 or ZeRO-2) or FSDP2, or the saved checkpoints evaluated with "
    "harness run system=checkpoints"
)


@contextmanager
def whole_weights(model: Any) -> Iterator[None]:
    """Called on all ranks at once. What the model was told of when to drop its gathered weights is as before."""
    _check_known(model)
    parts = [module for module in model.modules() if _is_fsdp2(module)]
    states = [part._get_fsdp_state() for part in parts]
    groups = [group for state in states for group in state._fsdp_param_groups]
    told = [state._auto_reshard_after_forward for state in states], [group.post_forward_mesh_info for group in groups]
    try:
        for part in parts:
            part.set_reshard_after_forward(False, recurse=False)
        _gather(model, parts)
        yield
    finally:
        for part in parts:
            part.reshard()
        for state, automatic in zip(states, told[0], strict=True):
            state._auto_reshard_after_forward = automatic
        for group, mesh in zip(groups, told[1], strict=True):
            group.post_forward_mesh_info = mesh


def check_whole(model: Any) -> None:
    """Refuses, before training begins, a model that a rank could not generate with by itself."""
    with whole_weights(model):
        pass


def _gather(model: Any, parts: list[Any]) -> None:
    try:
        for part in parts:
            part.unshard()
    except RuntimeError as error:  # no room for them
        reason = " ".join(str(error).split())[:300]
        raise HarnessError(
            f"the weights of {type(model).__name__}, sharded by FSDP, cannot be gathered on each rank ({reason}); "
            f"{INSTEAD}"
        ) from error
    if any(hasattr(weight, "placements") for weight in model.parameters()):  # a DTensor
        raise _refused("tensor parallelism")


def _check_known(model: Any) -> None:
    if any(hasattr(weight, "ds_id") for weight in model.parameters()):
        raise _refused("DeepSpeed ZeRO-3")
    if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
        raise _refused("FSDP1; fsdp_config={'version': 2} is FSDP2")
    fsdp2 = [module for module in model.modules() if hasattr(module, "_get_fsdp_state")]
    if not all(map(_is_fsdp2, fsdp2)):
        raise _refused("FSDP2 of this version of PyTorch; known to work: 2.13")


def _is_fsdp2(module: Any) -> bool:
    """With all that is needed to gather its weights and to leave no trace of it."""
    known = ("unshard", "reshard", "set_reshard_after_forward", "_get_fsdp_state")
    return all(hasattr(module, name) for name in known) and hasattr(module._get_fsdp_state(), "_fsdp_param_groups")


def _refused(way: str) -> HarnessError:
    return HarnessError(
        f"the model's weights are sharded over ranks ({way}), and a rank cannot generate by itself; {INSTEAD}"
    )
