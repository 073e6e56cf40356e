"""The public surface changes on purpose only."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "list_api.py"


def test_every_change_of_the_public_surface_is_meant():
    spec = importlib.util.spec_from_file_location("list_api", SCRIPT)
    api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api)
    before, now = set(api.SNAPSHOT.read_text().splitlines()), set(api.lines())
    changes = [f"- {line}" for line in sorted(before - now)]
    changes += [f"+ {line}" for line in sorted(now - before)]
    assert not changes, "If this is meant, say so in CHANGELOG.md and run `python " + (
        "docs/list_api.py --write`:\n" + "\n".join(changes)
    )
