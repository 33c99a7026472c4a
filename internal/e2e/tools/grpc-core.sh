#!/bin/sh
# Installs gRPC's C core for Python into .tools/grpc-core, from the wheels that
# grpc-core.txt pins.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
install_wheels grpc-core
PYTHONPATH=.tools/grpc-core python3 -c 'import grpc; print("grpcio", grpc.__version__)'
