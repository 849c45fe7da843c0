"""What a gate answers, as JUnit XML: a test case for each thing that was asked, as CI systems show them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

from harness.inputs.visible import in_line


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
    root = Xml.Element("testsuites", {name: str(count) for name, count in counts.items()})
    parent = Xml.SubElement(root, "testsuite", {"name": in_line(suite), **root.attrib})
    for check in gated.checks:
        where = f"{check.dataset}.{check.slice}" if check.slice else check.dataset
        name = f"{check.what}: {check.asked}"
        case = Xml.SubElement(parent, "testcase", {"classname": in_line(where), "name": in_line(name), "time": "0"})
        message = {"message": in_line(f"{check.verdict}: {check.reason}")}
        if check.verdict in failing:
            Xml.SubElement(case, "failure", {**message, "type": check.verdict}).text = message["message"]
        elif check.verdict in skipped:
            Xml.SubElement(case, "skipped", message)
        else:
            Xml.SubElement(case, "system-out").text = message["message"]
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"
