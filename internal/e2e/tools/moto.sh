#!/bin/sh
# Installs moto, a server that speaks S3, into .tools/moto, from the wheels that
# moto.txt pins: what reads and writes buckets is tested against it.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
install_wheels moto
PYTHONPATH=.tools/moto python3 -c 'import moto, moto.server; print("moto", moto.__version__)'
