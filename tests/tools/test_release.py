"""tools/release.sh: a tag is made of a clean tree whose version, citation and changelog agree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = (
    "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2030-01-01)\n\n- Better.\n\n## 1.2.2\n\n- Good.\n"
)
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def tree(tmp_path):
    """A repository of version 1.2.3 with all that a release needs; its wheels are good."""
    files = {
        "src/labeltrees/__init__.py": '__version__ = "1.2.3"\n',
        "CITATION.cff": "version: 1.2.3\n",
        "CHANGELOG.md": CHANGES,
        "tools/wheel.sh": "#!/bin/sh\necho wheels\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tools" / "wheel.sh").chmod(0o755)
    shutil.copy(ROOT / "tools" / "release.sh", tmp_path / "tools")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(tree, *arguments):
    who = {
        f"GIT_{role}_{what}": "a@b"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = os.environ | who | {"GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", "-C", tree, *arguments], env=environment, check=True, capture_output=True, text=True
    ).stdout


def commit(tree):
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", "state")


def release(tree, *arguments):
    who = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    return subprocess.run(
        ["bash", tree / "tools" / "release.sh", *arguments], env=os.environ | who,
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_a_tag_is_made_with_what_the_changelog_says(tree):
    done = release(tree)
    assert done.returncode == 0, done.stderr
    assert "git push origin v1.2.3" in done.stdout
    said = git(tree, "tag", "-l", "--format=%(contents)", "v1.2.3")
    assert "- Better." in said
    assert "Good" not in said
    assert "there is a tag v1.2.3 already" in release(tree).stderr


def test_a_tag_is_checked_and_its_notes_are_told(tree):
    assert release(tree, "--check-tag", "v1.2.3").returncode == 0
    assert release(tree, "--notes", "v1.2.3").stdout == "- Better.\n\n"
    assert (
        "the tag is 'v1.2.4', and this is version 1.2.3"
        in release(tree, "--check-tag", "v1.2.4").stderr
    )


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("CHANGELOG.md", "# Changelog\n\n## Unreleased\n", "has no section '## 1.2.3'"),
        ("CITATION.cff", "version: 1.2.2\n", "CITATION.cff has another version"),
        ("src/labeltrees/__init__.py", '__version__ = "1.2.dev0"\n', "has three numbers"),
    ],
)
def test_what_does_not_agree_is_said(tree, name, text, sentence):
    (tree / name).write_text(text)
    assert "not committed" in release(tree).stderr
    commit(tree)
    done = release(tree)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert git(tree, "tag") == ""
