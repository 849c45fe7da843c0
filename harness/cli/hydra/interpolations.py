"""What interpolations of a config are made of: OmegaConf resolves them, and whatever they read on their way is noted.

`header: Bearer ${.api_key}` is made of a secret, `path: ${oc.env:DATA}/dev.jsonl` of the environment, and so is what
refers to them, by way of any number of others and of resolvers (`${oc.select:judge.api_key}`, `${${which}.api_key}`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from omegaconf import Container, DictConfig, ListConfig, Node
from omegaconf._utils import split_key
from omegaconf.grammar_parser import parse
from omegaconf.grammar_visitor import GrammarVisitor

from harness.masking import Origins, Place, secret_name


def origins(config: Any) -> Origins:
    """Of all values of a composed config."""
    secrets, environment, variables = set(), set(), set()
    for place, read in _values(config, ()):
        variables |= read.variables
        if read.secret:
            secrets.add(place)
        if read.environment:
            environment.add(place)
    return Origins(frozenset(secrets), frozenset(environment), frozenset(variables))


@dataclass
class _Read:
    """What was read on the way to a value."""

    secret: bool = False
    environment: bool = False
    variables: set[str] = field(default_factory=set)


def _values(node: Any, at: Place) -> Iterator[tuple[Place, _Read]]:
    """(place, what was read) of each interpolation; where one stands for a whole part of the config, of those in it."""
    if not isinstance(node, Node):
        return
    if node._is_interpolation():
        read = _Read()
        _note(node, read, frozenset())
        yield at, read
        if read.secret:
            return
        node = node._maybe_dereference_node()
    if isinstance(node, DictConfig) and not node._is_none() and not node._is_missing():
        for name, inner in node.__dict__["_content"].items():  # asking for each by its name takes six times as long
            yield from _values(inner, (*at, str(name)))
    elif isinstance(node, ListConfig) and not node._is_none() and not node._is_missing():
        for i in range(len(node)):
            yield from _values(node._get_node(i), (*at, str(i)))


def _note(node: Node, read: _Read, seen: frozenset[int]) -> None:
    """Resolves an interpolation, noting what it reads."""
    parent = node._get_parent_container()
    if parent is None or id(node) in seen:
        return
    seen = seen | {id(node)}

    def refer(name: str) -> None:
        """A field of the config is read."""
        root, key = parent._resolve_key_and_root(name)
        parts = split_key(key)
        above = split_key(root._get_full_key(None) or "") if root._get_parent() is not None else []
        read.secret |= any(secret_name(str(part)) for part in (*above, *parts))
        target: Any = root
        for part in parts:  # not dereferenced: the way to the value counts too
            target = target._maybe_dereference_node() if isinstance(target, Node) else target
            if not isinstance(target, Container):
                return
            number = isinstance(target, ListConfig) and part.isdecimal()
            target = target._get_node(int(part) if number else part)
            if isinstance(target, Node) and target._is_interpolation():
                _note(target, read, seen)

    def field_read(inter_key: str, memo: Any) -> Any:
        refer(inter_key)
        return parent._resolve_node_interpolation(inter_key=inter_key, memo=memo)

    def resolver_called(name: str, args: tuple[Any, ...], args_str: tuple[str, ...]) -> Any:
        if name == "oc.env" and args:
            read.environment = True
            read.secret |= secret_name(str(args[0]))
            read.variables.add(os.environ.get(str(args[0]), ""))
        elif name in ("oc.select", "oc.dict.keys", "oc.dict.values", "oc.deprecated") and args:
            refer(str(args[0]))
        made = parent._evaluate_custom_resolver(
            key=None, node=node, inter_type=name, inter_args=args, inter_args_str=args_str
        )
        if isinstance(made, Container):  # what it made may refer to more
            for _, inner in _values(made, ()):
                read.secret, read.environment = read.secret or inner.secret, read.environment or inner.environment
                read.variables |= inner.variables
        return made

    try:
        GrammarVisitor(field_read, resolver_called, memo=set()).visit(parse(str(node._value())))
    except Exception:  # a resolver raises what it likes: KeyError where a variable of the environment is not set
        read.secret = True  # what cannot be followed is not shown
