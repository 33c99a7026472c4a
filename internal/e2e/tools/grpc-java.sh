#!/bin/sh
# Installs gRPC for Java into .tools/grpc-java, by Maven, as testdata/grpc-java/pom.xml
# says; grpc-java.txt has the jars that it has to be, with their hashes.
set -eu
export LC_ALL=C # the order of names
cd "$(dirname "$0")/../../.."
list=internal/e2e/tools/grpc-java.txt
dir=.tools/grpc-java
if ! cmp -s "$list" "$dir/.installed"; then
	if ! mvn --version >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get update -q >/dev/null 2>&1 || true
		apt-get install -y -q openjdk-17-jdk-headless maven >/dev/null 2>&1 || true
	fi
	if ! mvn --version >/dev/null 2>&1; then
		echo "grpc-java: Java (17 or newer) with Maven was not found" >&2
		exit 1
	fi
	rm -rf "$dir"
	mkdir -p "$dir"
	mvn --batch-mode --quiet -Dstyle.color=never --file internal/e2e/testdata/grpc-java/pom.xml \
		org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies "-DoutputDirectory=$PWD/$dir/jars" >/dev/null
	(cd "$dir/jars" && sha256sum *.jar) | cmp - "$list" >&2
	cp "$list" "$dir/.installed"
fi
sed -n 's/.*grpc-xds-\(.*\)\.jar$/grpc-java \1/p' "$list"
