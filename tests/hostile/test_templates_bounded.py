"""Templates that would run for ever, fill the memory or fail: one message with the place, whatever they say.

A case is a line. They run one after another in a process of 2 GiB: what has no bounds needs more, or hours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.inputs.prompts import Prompt
from harness.inputs.templates import EndlessTemplate, Expression, Template, TemplateFault
from harness.types import Example, HarnessError
from tests.conftest import Called
from tests.hostile import bounded

DOUBLED = "{% set ns = namespace(x=START) %}{% for i in range(60) %}STEP{% endfor %}{{ ns.x }}"
BIG = "{% set big = 'a' * 9000000 %}{% for i in range(99999) %}{% if CONDITION %}{% endif %}{% endfor %}"
TURNS = "{% for a in range(99999) %}"
STEPS, TEXT, WIDTH, DIGITS = "more than 50,000,000 steps", "10,000,000 characters", "100,000 columns", "30,000 digits"


def doubled(start: str, step: str) -> str:
    return DOUBLED.replace("START", start).replace("STEP", step)


ENDLESS = [
    # texts and numbers
    ("{{ 'a' * 10**9 }}", TEXT),
    ("{{ 10**9 * 'a' }}", TEXT),
    ("{{ [1] * 10**9 }}", TEXT),
    ("{{ [['a'] * 9999] * 9999 }}", TEXT),
    ("{{ 2**(2**40) }}", DIGITS),
    ("{{ 99999**99999 }}", DIGITS),
    (doubled("3", "{% set ns.x = ns.x * ns.x %}"), DIGITS),
    (doubled("'a'", "{% set ns.x = ns.x ~ ns.x %}"), TEXT),
    (doubled("'a'", "{% set ns.x = ns.x + ns.x %}"), STEPS),
    (doubled("'a'", "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"), TEXT),
    (doubled("[1]", "{% set ns.x = [ns.x, ns.x] %}"), TEXT),
    (doubled("[1]", "{% set ns.x = (ns.x, ns.x) %}"), TEXT),
    (doubled("[1]", "{% set ns.x = {1: ns.x, 2: ns.x} %}"), TEXT),
    (doubled("[1]", "{% set ns.x = dict(a=ns.x, b=ns.x) %}"), TEXT),
    # padding
    ("{{ 'a' | center(10**9) }}", WIDTH),
    ("{{ 'a'.center(10**9) }}", WIDTH),
    ("{{ 'a'.ljust(10**9) }}", WIDTH),
    ("{{ 'a'.rjust(width) }}", WIDTH),
    ("{{ 'a'.zfill(10**9) }}", WIDTH),
    ("{{ 'a'.encode().center(10**9) }}", WIDTH),
    ("{{ (1).to_bytes(10**9, 'big') }}", WIDTH),
    ("{{ '\t'.expandtabs(10**9) }}", TEXT),
    ("{{ 'a' | indent(10**9, true) }}", TEXT),
    ("{{ 'a\na' | indent('x' * 9000000) | indent('x' * 9000000) }}", TEXT),
    ("{{ '%999999999d' % 1 }}", WIDTH),
    ("{{ '%*d' % (999999999, 1) }}", WIDTH),
    ("{{ '%.999999999f' % 1.5 }}", WIDTH),
    ("{{ '%999999999d' | format(1) }}", WIDTH),
    ("{{ '{:>999999999}'.format(1) }}", WIDTH),
    ("{{ '{:{}}'.format(1, 999999999) }}", WIDTH),
    ("{{ '{x:{w}}'.format_map({'x': 1, 'w': 999999999}) }}", WIDTH),
    ("{{ [1, 2] | batch(10**9, 0) | list }}", WIDTH),
    ("{{ [1, 2] | slice(10**9) | list }}", WIDTH),
    ("{{ 1.5 | round(10**9, 'floor') }}", WIDTH),
    ("{{ [1] | tojson(indent=10**9) }}", WIDTH),
    # much of little
    ("{{ range(99999) | join('a' * 99999) }}", TEXT),
    ("{{ ('a' * 99999).join(range(999) | map('string')) }}", TEXT),
    ("{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}", TEXT),
    ("{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}", TEXT),
    ("{{ ('a ' * 1000000) | wordwrap(1, wrapstring='b' * 1000000) }}", TEXT),
    ("{{ ('a' * 9999999).translate({97: 'b' * 9999}) }}", TEXT),
    ("{{ '%(x)s' * 100 % {'x': 'a' * 9000000} }}", TEXT),
    ("{{ ('{0}' * 1000).format('a' * 1000000) }}", TEXT),
    ("{{ range(99999) | map('center', 9999) | join }}", STEPS),
    # loops and calls
    (TURNS + TURNS + "{% endfor %}{% endfor %}", STEPS),
    (TURNS + TURNS + "x{% endfor %}{% endfor %}", STEPS),
    (TURNS + "{% for b in range(99999) if false %}{% endfor %}{% endfor %}", STEPS),
    (TURNS + "{{ 'b' * 9999 }}{% endfor %}", TEXT),
    ("{% set x %}" + TURNS + "y" * 9999 + "{% endfor %}{% endset %}", STEPS),
    ("{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}", STEPS),
    ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself"),
    ("{% for x in [1, 2] recursive %}{% if loop.depth < 60 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}", STEPS),
    ("{% for i in range(9999) %}{% filter center(99999) %}a{% endfilter %}{% endfor %}", STEPS),
    (BIG.replace("CONDITION", "big | upper == 'x'"), STEPS),
    (BIG.replace("CONDITION", "big == big[1:]"), STEPS),
    (BIG.replace("CONDITION", "big is in('c')"), STEPS),
    (BIG.replace("CONDITION", "'x' in big"), STEPS),
]
REFUSED = [
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{{ " + "-" * 5000 + "1 }}", "nested too deeply"),
    ("{% for a in [1] %}" * 30 + "{% endfor %}" * 30, "too many statically nested blocks"),
    ("{{ range(10**9) | list }}", "Range too big"),
    ("{{ lipsum(10**9) }}", "'lipsum' is undefined"),
    ("{{ 1 / 0 }}", "division by zero"),
    ("{{ 1 % 0 }}", "modulo by zero"),
    ("{{ 9.9**999999 }}", "Numerical result out of range"),
    ("{{ '%d' % 'a' }}", "a real number is required"),
]
FINE = [
    ("{{ 'ab' * 3 }}{{ 2**10 }}{{ [1] * 2 }}", "ababab1024[1, 1]"),
    ("{{ 'a' | center(5) }}|{{ '%5.1f' % 2 }}|{{ '%s and %d' % ('x', 12345678901) }}", "  a  |  2.0|x and 12345678901"),
    ("{{ '{:>4} {}'.format('a', 12345678901) }}", "   a 12345678901"),
    ("{% for i in range(3) %}{{ loop.index }} of {{ loop.length }}{{ '' if loop.last else ', ' }}{% endfor %}", "1 of 3, 2 of 3, 3 of 3"),
    ("{% for k, v in {'a': [1, 2]}.items() %}{{ k }}{{ v[0:1] }}{% endfor %}", "a[1]"),
    ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('a') ~ f('b') }}", "<a><b>"),
    ("{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}a{% endcall %}", "<a>"),
    ("{% for x in [1, [2, 3]] recursive %}{{ loop(x) if x is not number else x }}{% endfor %}", "123"),
    ("{{ ['b', 'a'] | sort | join('-') | replace('a', 'c') | indent(2, true) }}", "  c-b"),
    ("{% set x, y = 1, 'b' %}{{ x if y == 'b' and y in ['b'] else 0 }}", "1"),
    ("{{ long | length }}{{ long | upper | length }}", "40000004000000"),
    ("{{ [1, 2, 3] | batch(2, 0) | map('sum') | list }}{{ {'a': 1} | tojson }}", '[3, 3]{"a": 1}'),
]  # fmt: skip
FIELDS = {"width": 10**9, "long": "a" * 4_000_000}


def attempted(source: str) -> str:
    """How a template ends that should fail."""
    try:
        return f"it made {len(Template(source)(FIELDS))} characters"
    except EndlessTemplate as error:
        return f"endless: {error}"
    except TemplateFault as error:
        return f"refused: {error}"


@pytest.mark.slow
def test_templates_without_an_end_or_a_meaning_are_refused() -> None:
    code = (
        "import json\nfrom tests.hostile.test_templates_bounded import ENDLESS, REFUSED, attempted\n"
        "print(json.dumps([attempted(source) for source, _ in ENDLESS + REFUSED]))"
    )
    endings = json.loads(bounded.run(code, memory=2 * bounded.GIB, seconds=300))
    kinds = ["endless: "] * len(ENDLESS) + ["refused: "] * len(REFUSED)
    wrong = [
        (source, ending)
        for (source, message), kind, ending in zip(ENDLESS + REFUSED, kinds, endings, strict=True)
        if not ending.startswith(kind) or message not in ending
    ]
    assert wrong == []


@pytest.mark.parametrize(("source", "expected"), FINE)
def test_what_templates_are_for_still_works(source: str, expected: str) -> None:
    assert Template(source)(FIELDS) == expected


def test_expressions_are_bounded_too() -> None:
    for source in ("len('a' * 10**9) > 3", "'a'.ljust(10**9) == source", "2**(2**40) > 3"):
        with pytest.raises(EndlessTemplate):
            Expression(source)({"source": "x"})


def test_each_example_has_bounds_of_its_own() -> None:
    template = Template("{% for i in range(9999) %}{{ source }}{% endfor %}")
    assert [len(template({"source": "ab"})) for _ in range(150)] == [19_998] * 150


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("{{ 1 / 0 }}", "system.prompt: division by zero in example 'a'; expected what can be computed for every example"),
        ("{{ 'a' * 10**9 }}", "system.prompt: it makes more than 10,000,000 characters in example 'a'; expected a template"),
        ("{{ '%999999999d' % 1 }}", "system.prompt: it makes more than 100,000 columns or items in example 'a'; expected"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_prompt_that_fails_is_one_message(
    prompt: str, message: str, more: tuple[str, ...], files: Path, cli: Callable[..., Called]
) -> None:
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=openai", "system.model=m", "tracking=none",
        "metrics=bleu", "system.base_url=http://127.0.0.1:9/v1", f"system.prompt=\"{{{{ source }}}}{prompt}\"", *more,
    )  # fmt: skip
    assert called.code == 1
    assert called.err.startswith(f"harness: {message}"), called.err
    assert called.err.count("\n") == 1


def test_a_template_of_worked_examples_has_bounds(tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    pool.write_text('{"id": "p", "source": "s", "references": ["r"]}\n')
    prompt = Prompt("{{ few_shot }}", {"path": str(pool), "count": 1, "template": "{{ source.center(10**9) }}"})
    with pytest.raises(HarnessError, match=r"system.few_shot.template: it makes more than 100,000 columns"):
        prompt(Example("1", "x", ()))
