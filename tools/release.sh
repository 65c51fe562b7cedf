#!/usr/bin/env bash
# Tag a release. The version stands in src/labeltrees/__init__.py; CHANGELOG.md has a section of it.
#   tools/release.sh                     check everything, build and try the wheels, make the tag
#   tools/release.sh --check-tag v0.2.0  whether a tag is that of this tree
#   tools/release.sh --notes v0.2.0      what the changelog says of it
# Nothing is pushed: `git push origin v0.2.0` does that, and has it published.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "release: $1" >&2; exit 1; }
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/labeltrees/__init__.py)
[ -n "$version" ] || fail "src/labeltrees/__init__.py has no version."

# The section of this version, without its heading.
notes() {
  awk -v heading="## $version" '
    /^## / { inside = ($0 == heading || index($0, heading " ") == 1); next }
    inside' CHANGELOG.md | sed -e '/./,$!d'
}

check_tree() {
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "the version is $version, and a release has three numbers."
  grep -q "^version: $version\$" CITATION.cff || fail "CITATION.cff has another version than $version."
  [ -n "$(notes)" ] || fail "CHANGELOG.md has no section '## $version', or nothing in it."
}

case ${1:-} in
  --notes | --check-tag)
    [ "${2:-}" = "v$version" ] || fail "the tag is '${2:-}', and this is version $version."
    if [ "$1" = --notes ]; then notes; else check_tree; fi
    exit
    ;;
  "") ;;
  *) fail "it takes nothing, --check-tag TAG or --notes TAG." ;;
esac

[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed."
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "there is a tag v$version already."
check_tree
tools/wheel.sh  # builds, checks and tries what would be published
[ -z "$(git status --porcelain)" ] || fail "building changed the tree."
git tag --annotate "v$version" --message "labeltrees $version" --message "$(notes)"
echo "The tag v$version is made. To publish it: git push origin v$version"
