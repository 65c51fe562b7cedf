"""The files in tools/deploy match the server."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path

from typer.main import get_command_from_info
from typer.models import CommandInfo

from labeltrees.cli.commands.serve import serve

DEPLOY = Path(__file__).parents[2] / "tools" / "deploy"


def test_every_metric_of_the_dashboard_is_measured(client, text):
    text.predict([{"text": "red"}])
    text_of_metrics = client.send("GET", "/metrics")
    measured = set(re.findall(r"^(labeltrees_\w+)", text_of_metrics, re.MULTILINE))
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    wanted = set(re.findall(r"labeltrees_\w+", json.dumps(dashboard["panels"])))
    assert wanted - measured == set()


def test_the_unit_starts_the_server_with_options_that_it_has():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "labeltrees.service")
    _, command, _, *options = unit["Service"]["ExecStart"].split()
    known = get_command_from_info(
        CommandInfo(callback=serve), pretty_exceptions_short=False, rich_markup_mode=None
    )
    names = {name for parameter in known.params for name in parameter.opts}
    assert command == "serve"
    assert {option for option in options if option.startswith("--")} <= names
