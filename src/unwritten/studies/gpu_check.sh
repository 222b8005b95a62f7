#!/bin/sh
# Trains, resumes and evaluates on a GPU and compares it with the CPU, in under 8 minutes; writes JSON.
#
#   sh src/unwritten/studies/gpu_check.sh [RESULT.json] [OPTIONS]
#
# Needs Python 3.11 or later with torch, torchaudio, lightning, numba, numpy, scipy, pandas, pyarrow, tqdm and regex,
# and no network: no Hydra, wandb, MediaPipe, PyAV or wordfreq. Packages that are missing may lie beside it as wheels, in
# the folder that WHEELS names. PYTHON names another interpreter. --device cpu --quick shows that the script itself works.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source_folder=$(cd "$here/../.." && pwd)
python=${PYTHON:-python3}
result=${1:-gpu_check.json}
[ $# -gt 0 ] && shift
site=
if [ -n "${WHEELS:-}" ]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "$WHEELS"/*.whl
fi
PYTHONPATH="$source_folder${site:+:$site}${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
"$python" -m unwritten.studies.gpu --json "$result" "$@"
