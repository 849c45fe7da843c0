"""Bounds on what a user's template may take: the sandbox in which it ends, whatever it says.

Jinja's sandbox keeps a template from running code, and not from `{{ "a" * 10**9 }}`, two loops in each other or a list
that holds itself twice, forty times over. Here each value that a template makes is measured before it is used, or
before it is made where one step makes much of little (`"a".center(10**9)`, `"%999999999d"`, `2**(2**40)`), and all of
them, every turn of a loop and every call are paid from one purse. No clock: the same template over the same fields ends
the same way on any machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import wraps
from string import Formatter
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

LARGEST = 10_000_000
"""Characters of one text, and of all that a template writes. The longest novels have 4 million."""
WORK = 50_000_000
"""Characters that one filling-in may handle in all; the rest is counted as the characters that take as long."""
ITEM, TURN, CALL = 30, 50, 500
"""An item of a list, a turn of a loop, a call or a filter, beside what they handle."""
WIDEST = 100_000
"""Columns of padding, items of a batch."""
DIGITS = 30_000
"""Of a whole number."""
_PERCENT = re.compile(r"%(?:\([^()]{0,200}\))?[-#0 +]{0,10}(\d{1,9}|\*)?(?:\.(\d{1,9}|\*))?")


class OutOfBounds(Exception):
    """The template would take more than it may."""


class _Purse:
    """What one filling-in has handled."""

    def __init__(self) -> None:
        self.spent = self.written = 0

    def pay(self, amount: int) -> None:
        self.spent += amount
        if self.spent > WORK:
            raise OutOfBounds(f"it takes more than {WORK:,} steps")


_purse: ContextVar[_Purse | None] = ContextVar("purse", default=None)


class bounded:
    """What is compiled or filled in meanwhile is paid from one purse."""

    def __enter__(self) -> None:
        self._before = _purse.set(_Purse())

    def __exit__(self, *error: object) -> None:
        _purse.reset(self._before)


def written(value: Any) -> None:
    """A template writes this value."""
    size, purse = measure(value), _current()
    purse.pay(size)
    purse.written += size
    _within(purse.written)


def measure(value: Any) -> int:
    """Characters of a text, digits of a number, of a list, tuple, set or mapping all that is in it, however deep."""
    if isinstance(value, str | bytes):
        return _within(len(value))
    if isinstance(value, int):
        return 1 + value.bit_length() // 3
    if not isinstance(value, list | tuple | set | frozenset | dict):
        return 1
    size, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += inner.keys()
            waiting += inner.values()
        elif isinstance(inner, list | tuple | set | frozenset):
            waiting += inner
        else:
            size += measure(inner)
        size += ITEM
        _within(size + ITEM * len(waiting))
    return size


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with those bounds; `finalize` must call `written`."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals.pop("lipsum")  # random text, as much as one likes
        self.filters = {name: _paid(use, FILTERS.get(name)) for name, use in self.filters.items()}
        self.filters |= {"a turn": _turns, "a value": _value, "a text": _text, "a call": _call}  # none can be typed
        self.tests = {name: _paid(use) for name, use in self.tests.items()}

    def _generate(self, source: nodes.Template, *place: Any, **options: Any) -> str:
        return super()._generate(_Paying(self).visit(source), *place, **options)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        purse = _current()
        purse.pay(measure(left) + measure(right))
        if operator == "**":
            if isinstance(left, int) and isinstance(right, int):
                _within(left.bit_length() * abs(right) // 3, DIGITS, "digits")
        elif operator == "*":
            _within(_product(left, right))
        elif operator == "%" and isinstance(left, str | bytes):
            _percent(left, right)
        made = super().call_binop(context, operator, left, right)
        if isinstance(made, int):
            _within(made.bit_length() // 3, DIGITS, "digits")
        return _value(context, made)

    def call(__self, __context: Any, __called: Any, *args: Any, **kwargs: Any) -> Any:  # as the sandbox names them
        purse = _current()
        purse.pay(CALL)
        if isinstance(__called, LoopContext) and args:  # a recursive loop
            args = (_turns(__context, args[0], TURN), *args[1:])
        own = getattr(getattr(__called, "__wrapped__", __called), "__self__", None)
        purse.pay(measure(own) + sum(map(measure, args)) + sum(map(measure, kwargs.values())))
        check = METHODS.get(getattr(__called, "__name__", "")) if isinstance(own, str | bytes | int) else None
        if check is not None:
            _checked(check, own, *args, **kwargs)
        return _value(__context, super().call(__context, __called, *args, **kwargs))


class _Paying(NodeTransformer):
    """Adds what is paid where a template makes something by itself: loops, macros, literals, texts put together."""

    def __init__(self, environment: BoundedEnvironment) -> None:
        self.environment = environment

    def _through(self, name: str, node: Any, *arguments: int) -> Any:
        paid = nodes.Filter(node, name, [nodes.Const(a) for a in arguments], [], None, None, lineno=node.lineno)
        return paid.set_environment(self.environment)

    def visit_For(self, node: nodes.For) -> nodes.For:
        self.generic_visit(node)
        node.iter = self._through("a turn", node.iter, TURN + _constants(node))
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        self.generic_visit(node)
        start = nodes.ExprStmt(self._through("a call", nodes.Const(0), _constants(node)), lineno=node.lineno)
        node.body.insert(0, start.set_environment(self.environment))
        return node

    visit_CallBlock = visit_Macro

    def visit_Concat(self, node: nodes.Concat) -> Any:
        self.generic_visit(node)
        return self._through("a text", nodes.List(node.nodes, lineno=node.lineno))

    def _literal(self, node: Any) -> Any:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") != "load" else self._through("a value", node)

    visit_List = visit_Tuple = visit_Dict = _literal

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:
        self.generic_visit(node)
        node.expr = self._through("a value", node.expr)
        for operand in node.ops:
            operand.expr = self._through("a value", operand.expr)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Getitem:
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = self._through("a value", node.node)
        return node


def _constants(node: nodes.Node) -> int:
    """Characters of the template itself that are written in there."""
    return sum(len(text.data) for text in node.find_all(nodes.TemplateData))


def _current() -> _Purse:
    return _purse.get() or _Purse()


def _within(size: int, most: int = LARGEST, what: str = "characters") -> int:
    if size > most:
        raise OutOfBounds(f"it makes more than {most:,} {what}")
    return size


@pass_context
def _turns(context: Any, items: Iterable[Any], cost: int) -> Iterator[Any]:
    purse = _current()
    for item in items:
        purse.pay(cost)
        yield item


@pass_context
def _call(context: Any, nothing: int, cost: int) -> int:
    _current().pay(cost)
    return nothing


@pass_context
def _value(context: Any, value: Any) -> Any:
    _current().pay(measure(value))
    return value


@pass_context
def _text(context: Any, parts: list[Any]) -> str:
    _current().pay(measure(parts))
    return "".join(map(str, parts))


def _paid(use: Any, check: Callable[..., None] | None = None) -> Callable[..., Any]:
    """A filter or a test that pays for what it is given and what it makes."""
    first = 1 if hasattr(use, "jinja_pass_arg") else 0  # the context comes before the value

    @wraps(use)
    def paying(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(args[first], str):
            args = (*args[:first], _listed(args[first]), *args[first + 1 :])
        purse = _current()
        purse.pay(CALL + sum(map(measure, args[first:])) + (measure(kwargs) if kwargs else 0))
        if check is not None:
            _checked(check, *args[first:], **kwargs)
        made = use(*args, **kwargs)
        purse.pay(measure(made))
        return made

    return paying


def _listed(value: Any) -> Any:
    """What another filter makes one at a time, so that it can be measured."""
    return list(value) if isinstance(value, Iterator) else value


def _checked(check: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    with suppress(TypeError, ValueError, AttributeError):  # wrong arguments: Jinja or Python says so better
        check(*args, **kwargs)


# ---------------------------------------------------------------- what makes much of little


def _product(left: Any, right: Any) -> int:
    """The size of `left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        return 0  # measured once it is made: it has no more digits than both together
    if isinstance(left, int):
        left, right = right, left
    return measure(left) * right if isinstance(right, int) and isinstance(left, str | bytes | list | tuple) else 0


def _narrow(*values: Any, **named: Any) -> None:
    """Widths, tab sizes and lengths after the value."""
    for value in (*values[1:], *named.values()):
        if isinstance(value, int):
            _within(abs(value), WIDEST, "columns or items")


def _indented(value: Any, width: Any = 4, *flags: Any) -> None:
    unit = len(width) if isinstance(width, str) else int(width)
    _within(len(str(value)) + unit * (1 + str(value).count("\n")))


def _tabs(value: Any, tabsize: int = 8) -> None:
    _within(len(value) + tabsize * value.count("\t" if isinstance(value, str) else b"\t"))


def _joined(values: Any, between: Any = "", attribute: Any = None) -> None:
    _within(measure(values) + len(values) * len(between))


def _joining(between: Any, values: Any) -> None:
    _joined(values, between)


def _exchanged(value: Any, old: Any, new: Any, count: Any = None) -> None:
    text, old = (value, old) if isinstance(value, bytes) else (str(value), str(old))
    _within(len(text) + text.count(old) * len(new))


def _each(value: Any, *others: Any, **named: Any) -> None:
    """Anything that is given may be written for every character."""
    _narrow(value, *others, **named)
    _within(measure(value) * max(1, measure([*others, *named.values()])))


def _percent(template: str | bytes, values: Any) -> None:
    """`"%5d" % 3`, and `"%*d" % (5, 3)`."""
    text = template if isinstance(template, str) else template.decode("latin-1")
    widths = [width for match in _PERCENT.finditer(text) for width in match.groups() if width]
    for width in widths:
        if width != "*":
            _narrow(None, int(width))
        elif isinstance(values, tuple):
            _narrow(None, *values)
    _within(len(text) + text.count("%") * measure(values))


def _formatted(template: str, *values: Any, **named: Any) -> None:
    """`"{:5}".format(3)`, and `"{:{}}".format(3, 5)`."""
    for _, _, spec, _ in Formatter().parse(template):
        if spec and "{" in spec:
            _narrow(None, *values, **named)
        _narrow(None, *(int(number[:9]) for number in re.findall(r"\d+", spec or "")))
    _within(len(template) + template.count("{") * measure([*values, named]))


def _mapped(template: str, values: Any) -> None:
    _formatted(template, **values)


def _filled_in(template: Any, *values: Any, **named: Any) -> None:
    _percent(str(template), named or values)


FILTERS: dict[str, Callable[..., None]] = {
    "batch": _narrow, "center": _narrow, "format": _filled_in, "indent": _indented, "join": _joined,
    "replace": _exchanged, "round": _narrow, "slice": _narrow, "tojson": _each, "urlize": _each, "wordwrap": _each,
}  # fmt: skip
METHODS: dict[str, Callable[..., None]] = {
    "center": _narrow, "expandtabs": _tabs, "format": _formatted, "format_map": _mapped, "join": _joining,
    "ljust": _narrow, "replace": _exchanged, "rjust": _narrow, "to_bytes": _narrow, "translate": _each,
    "zfill": _narrow,
}  # fmt: skip
