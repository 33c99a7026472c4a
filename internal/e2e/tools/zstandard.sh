#!/bin/sh
# Installs zstandard for Python into .tools/zstandard, from the wheels that
# zstandard.txt pins: docs/read_xdsp.py needs it.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
install_wheels zstandard
PYTHONPATH=.tools/zstandard python3 -c 'import zstandard; print("zstandard", zstandard.__version__)'
