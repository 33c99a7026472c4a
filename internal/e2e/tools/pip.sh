# Sourced by the scripts beside it, at the root of the tree.
#
# install_wheels NAME installs what tools/NAME.txt pins into .tools/NAME, unless
# that very list is there already, for the same Python.
install_wheels() {
	list=internal/e2e/tools/$1.txt
	dir=.tools/$1
	if ! python3 -m pip --version >/dev/null 2>&1; then
		echo "$1: python3 with pip was not found" >&2
		exit 1
	fi
	stamp="$(python3 --version) $(cat "$list")"
	if [ -f "$dir/.installed" ] && [ "$stamp" = "$(cat "$dir/.installed")" ]; then
		return
	fi
	rm -rf "$dir"
	PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
		--require-hashes --requirement "$list" --target "$dir"
	echo "$stamp" >"$dir/.installed"
}
