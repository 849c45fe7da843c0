"""What a gate answers, as JUnit XML: a test case for each thing that was asked, as CI systems show them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

from harness.inputs.visible import in_line
from harness.report.terminal.gate_answers import cells, place


def written(gated: Any, suite: str) -> str:
    """Worse is a failure; what cannot be told is skipped, or counts as was asked for."""
    failing = {"worse"} | ({"cannot tell"} if gated.on_unknown == "fail" else set())
    skipped = {"cannot tell"} if gated.on_unknown is None else set()
    verdicts = [check.verdict for check in gated.checks]
    counts = {
        "tests": len(verdicts),
        "failures": sum(verdict in failing for verdict in verdicts),
        "errors": 0,
        "skipped": sum(verdict in skipped for verdict in verdicts),
    }
    shown = {name: str(count) for name, count in counts.items()}
    root = Xml.Element("testsuites", {name: count for name, count in shown.items() if name != "skipped"})
    parent = Xml.SubElement(root, "testsuite", {"name": in_line(suite), **shown})
    for check in gated.checks:
        where = place(check, gated) + (f".{check.slice}" if check.slice else "")
        name = f"{check.what}: {check.asked}"
        case = Xml.SubElement(parent, "testcase", {"classname": in_line(where), "name": in_line(name), "time": "0"})
        _, _, _, verdict, reason = cells(check, gated)
        message = {"message": in_line(f"{verdict}: {reason}")}
        if check.verdict in failing:
            Xml.SubElement(case, "failure", {**message, "type": check.verdict}).text = message["message"]
        elif check.verdict in skipped:
            Xml.SubElement(case, "skipped", message)
        else:
            Xml.SubElement(case, "system-out").text = message["message"]
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"
