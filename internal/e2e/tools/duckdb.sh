#!/bin/sh
# Installs DuckDB for Python into .tools/duckdb, from the wheels that duckdb.txt
# pins: the tests of what export writes as Parquet ask it.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
install_wheels duckdb
PYTHONPATH=.tools/duckdb python3 -c 'import duckdb; print("duckdb", duckdb.__version__)'
