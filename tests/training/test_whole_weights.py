"""Models of which a rank holds a part only; those that FSDP2 shards for real are in test_shared_ranks.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness import training
from harness.training.whole_weights import whole_weights
from harness.types import HarnessError

BEGIN = (SimpleNamespace(metric_for_best_model=None), SimpleNamespace(global_step=0), None)


def model() -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(2, 2))


def test_a_model_that_is_whole_stays_as_it_is() -> None:
    plain = model()
    with whole_weights(plain):
        assert plain[0].weight.shape == (2, 2)


def test_what_a_rank_cannot_generate_with_is_refused_before_training() -> None:
    import torch

    def with_mark(name: str) -> Any:
        marked = model()
        setattr(marked[0].weight, name, 0)
        return marked

    wrapped = type("FullyShardedDataParallel", (torch.nn.Sequential,), {})(model())
    callback = training.HarnessCallback([{"id": "1", "source": "w1", "references": ["w1"]}])
    for sharded, way in (
        (with_mark("ds_id"), r"DeepSpeed ZeRO-3"),  # what ZeRO-3 leaves on a weight
        (with_mark("placements"), r"tensor parallelism"),  # what a DTensor has
        (wrapped, r"FSDP1; fsdp_config={'version': 2} is FSDP2"),
    ):
        with pytest.raises(
            HarnessError, match=rf"weights are sharded over ranks \({way}\), and a rank cannot generate"
        ):
            callback.on_train_begin(*BEGIN, model=sharded, processing_class=object())


class Shards:
    """A module as FSDP2 makes it, where there is no room for all weights."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.group = SimpleNamespace(post_forward_mesh_info="a mesh")
        self.state = SimpleNamespace(_fsdp_param_groups=[self.group], _auto_reshard_after_forward=True)

    def _get_fsdp_state(self) -> Any:
        return self.state

    def set_reshard_after_forward(self, value: bool, recurse: bool) -> None:
        self.state._auto_reshard_after_forward, self.group.post_forward_mesh_info = False, None

    def unshard(self) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    def reshard(self) -> None:
        self.calls.append("reshard")


def test_no_room_for_all_weights_is_one_message_and_leaves_no_trace() -> None:
    part = Shards()
    sharded = SimpleNamespace(modules=lambda: [part], parameters=lambda: [])
    message = r"sharded by FSDP, cannot be gathered on each rank \(CUDA out of memory. Tried to allocate 2 GiB\); expec"
    with pytest.raises(HarnessError, match=message), whole_weights(sharded):
        pass
    assert (part.state._auto_reshard_after_forward, part.group.post_forward_mesh_info) == (True, "a mesh")
    assert part.calls == ["reshard"]
    del part.state._fsdp_param_groups
    with (
        pytest.raises(HarnessError, match="FSDP2 of this version of PyTorch; known to work: 2.13"),
        whole_weights(sharded),
    ):
        pass
