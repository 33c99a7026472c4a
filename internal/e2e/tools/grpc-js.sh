#!/bin/sh
# Installs gRPC for Node into .tools/grpc-js, from the lock file in
# testdata/grpc-js, together with the client that the tests run.
set -eu
cd "$(dirname "$0")/../../.."
src=internal/e2e/testdata/grpc-js
dir=.tools/grpc-js
if ! cmp -s "$src/package-lock.json" "$dir/.installed"; then
	if ! npm --version >/dev/null 2>&1; then
		echo "grpc-js: npm was not found" >&2
		exit 1
	fi
	rm -rf "$dir"
	mkdir -p "$dir"
	cp "$src/package.json" "$src/package-lock.json" "$dir/"
	# Scripts of packages are not run: none is needed.
	(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	cp "$src/package-lock.json" "$dir/.installed"
fi
node -p '"grpc-js " + require("./.tools/grpc-js/node_modules/@grpc/grpc-js/package.json").version'
