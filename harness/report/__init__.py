"""Results for people: tables and progress in a terminal, figures, the HTML page.

`harness.report(runs, "report.html")` is a public function, and Python gives a package's attribute of that name to this
folder as soon as a part of it is imported; so the folder itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from importlib import import_module

        return import_module("harness.reports").report(*arguments, **options)


sys.modules[__name__].__class__ = _Room
