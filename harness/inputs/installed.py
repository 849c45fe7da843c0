"""Versions of installed packages: looked up once, since finding one reads a folder of a hundred."""

from functools import cache
from importlib import metadata

version = cache(metadata.version)
