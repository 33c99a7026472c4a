#!/bin/sh
# Installs Spark for Python into .tools/pyspark, from what pyspark.txt pins. It runs
# on Java 17 or newer.
set -eu
cd "$(dirname "$0")/../../.."
. internal/e2e/tools/pip.sh
if ! java -version >/dev/null 2>&1; then
	echo "pyspark: java was not found; Spark needs Java 17 or newer" >&2
	exit 1
fi
install_wheels pyspark
PYTHONPATH=.tools/pyspark python3 -c 'import pyspark; print("pyspark", pyspark.__version__)'
