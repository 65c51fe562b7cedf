"""The gallery's scripts are run when the site is built, not when tests are collected."""

collect_ignore_glob = ["gallery/*.py"]
