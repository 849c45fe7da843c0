"""OmegaConf 2.3 reads YAML with a parser in Python, and makes its class anew for each file; libyaml's takes a tenth of
the time, of which a command has some sixty files to read. OmegaConf 2.4 (with Hydra 1.4) takes libyaml's itself."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import omegaconf._utils
import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_slow_loader: Any = getattr(omegaconf._utils, "get_yaml_loader", None)
"""OmegaConf's own; None of 2.4, which needs no help."""


@cache
def _loader() -> Any:
    """OmegaConf's loader on libyaml's parser, where there is one; what that refuses is read again by OmegaConf's own,
    whose messages show the line."""
    slow = _slow_loader()
    try:
        from yaml._yaml import CParser
    except ImportError:
        return slow

    class Loader(CParser, slow):  # type: ignore[misc, valid-type]  # classes of no types
        def __init__(self, stream: Any) -> None:
            self._name = getattr(stream, "name", None)
            self._content = stream.read() if hasattr(stream, "read") else stream
            CParser.__init__(self, self._content)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)

        def get_single_data(self) -> Any:
            try:
                return super().get_single_data()
            except yaml.YAMLError:
                again: Any = self._content
                if self._name is not None:
                    again = io.StringIO(again) if isinstance(again, str) else io.BytesIO(again)
                    again.name = self._name
                return slow(again).get_single_data()

    return Loader


def install() -> None:
    """Lets OmegaConf read with it."""
    if _slow_loader is not None:
        omegaconf._utils.get_yaml_loader = _loader
