#!/usr/bin/env bash
# Schemathesis over the OpenAPI document of a server on this machine. FUZZ_EXAMPLES bodies for each
# operation; schemathesis is installed beside, in the folder build.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${FUZZ_VENV:-build/schemathesis}
[ -x "$venv/bin/schemathesis" ] || {
  .venv/bin/python -m venv "$venv"
  "$venv/bin/pip" -qq install schemathesis
}
folder=$(mktemp -d)
.venv/bin/labeltrees serve "$folder/served" --port 0 --quiet >"$folder/said" 2>"$folder/log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 300); do
  where=$(sed -n 's/^Serving at \(http:[^ ]*\)\/ .*/\1/p' "$folder/said")
  [ -z "$where" ] || break
  sleep 0.2
done
# Half of the requests go to a model that is there.
.venv/bin/python - "$where" "$folder/openapi.json" <<'PY'
import json, sys, urllib.request
document = json.load(urllib.request.urlopen(f"{sys.argv[1]}/openapi.json"))
for methods in document["paths"].values():
    for operation in methods.values():
        for parameter in operation["parameters"]:
            if parameter["name"] == "model":
                parameter["schema"]["enum"] = ["demo", "absent"]
json.dump(document, open(sys.argv[2], "w"))
PY
status=0
"$venv/bin/schemathesis" run "$folder/openapi.json" --url "$where" --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
  --max-examples "${FUZZ_EXAMPLES:-50}" --exclude-path-regex 'models/\{model\}$' --seed 1 || status=$?
if grep -c '"event": "fault"' "$folder/log" >&2; then status=1; fi
exit $status
