"""Stems of words by language: Snowball (Porter 2001) as NLTK has it, each word once a process.

NLTK's stemmer is made anew for each word: its Arabic one remembers the words before.

>>> stem = stemmer("portuguese")
>>> stem("prevenções"), stem("prevenção"), stem("é")
('prevençõ', 'prevençã', 'é')
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from harness.inputs.model_files import package_folder

LANGUAGES = (
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian",
    "portuguese", "romanian", "russian", "spanish", "swedish",
)  # fmt: skip
"""Those of NLTK, none of which needs its data."""
WORDS = 1 << 18
"""Whose stems are kept: ten microseconds each."""


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """The stem of a word in small letters. To be called first where no other thread may be importing NLTK."""
    SnowballStemmer = _nltk_module("nltk.stem.snowball").SnowballStemmer

    @lru_cache(maxsize=WORDS)
    def stem(word: str) -> str:
        return str(SnowballStemmer(language).stem(word))

    return stem


def _nltk_module(name: str) -> Any:
    """A module of NLTK without the rest of it, which brings scikit-learn and takes seconds to import. Whoever imports
    NLTK later gets it as ever."""
    folder = package_folder("nltk")
    if "nltk" in sys.modules or folder is None:
        return import_module(name)
    for package in ("nltk", "nltk.stem", "nltk.corpus"):  # of the last only names that nothing here uses
        stand_in = sys.modules[package] = ModuleType(package)
        stand_in.__path__ = [str(folder.joinpath(*package.split(".")[1:]))]
    sys.modules["nltk.corpus"].__dict__["stopwords"] = None
    try:
        return import_module(name)
    except ImportError:
        pass
    finally:
        _forget("nltk")
    return import_module(name)  # another version of NLTK, which needs more of itself


def _forget(package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
