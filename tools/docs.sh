#!/usr/bin/env bash
# The documentation site, into build/site: pages from docs/, the reference from the code, plots from
# the measured results, the gallery from scripts that are run. A warning is an error, and so is a link
# that leads nowhere. `docs.sh serve` shows it on http://127.0.0.1:8000 afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh docs
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} MPLBACKEND=agg
python=.venv/bin/python
source=build/site-source

rm -rf build/site  # of pages that are no more nothing shall be left
"$python" -m docs.site.stage "$source"
"$python" -m sphinx -W --keep-going -q -b html -c docs/site -d build/site-doctrees "$source" build/site
"$python" -m docs.site.finished build/site
echo "labeltrees: the site is in build/site, its first page is build/site/index.html"
if [ "${1:-}" = serve ]; then exec "$python" -m http.server 8000 --bind 127.0.0.1 --directory build/site; fi
