# The commands of this project. `make check` is what a change must pass; it is
# the same script that runs elsewhere (.ci/run).
#
#   make test       everything a change must pass, with the race detector; fuzz smoke
#   make test-full  the same with hundreds of kills and CHECKS cases a property (default 3000)
#   make bench      benchmarks with allocations        (BENCH=regexp, PKG=./folder)
#   make fuzz       every fuzz target for FUZZ         (default 1m each)
#   make lint       gofmt, go mod tidy, go vet, staticcheck, errcheck
#   make cross      build and link for every system (only vetted, not run)
#   make build      bin/varve
#   make check      lint, cross, test

SHELL := bash
PKG ?= ./...
BENCH ?= .
FUZZ ?= 1m
CHECKS ?= 3000

# Version-control stamping fails in a clone that belongs to another user, and
# nothing here needs it.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.PHONY: check test test-full bench fuzz fuzz-smoke lint fmt tidy vet staticcheck errcheck cross build deps clean

check:
	.ci/run

deps:
	@.ci/deps

# The race detector needs cgo even where the environment turns it off.
test: deps
	CGO_ENABLED=1 go test -race -timeout 9m $(PKG)
	@$(MAKE) --no-print-directory fuzz-smoke

test-full: deps
	@CHECKS=$(CHECKS) .ci/full

fuzz-smoke:
	@.ci/fuzz

fuzz:
	@FUZZ=$(FUZZ) .ci/fuzz

bench:
	go test -run='^$$' -bench='$(BENCH)' -benchmem -timeout 60m $(PKG)

lint: fmt tidy vet staticcheck errcheck

fmt:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:" >&2; echo "$$bad" >&2; exit 1; fi

# go.mod lists what is imported and nothing else.
tidy:
	go mod tidy -diff

vet:
	go vet ./...

# The linters are pinned in a module of their own (.ci/tools), so that they
# are no requirement of anybody who imports this one.
staticcheck errcheck: GOFLAGS := -buildvcs=false
staticcheck:
	@go -C .ci/tools build -o ../bin/ honnef.co/go/tools/cmd/staticcheck
	.ci/bin/staticcheck ./...

errcheck:
	@go -C .ci/tools build -o ../bin/ github.com/kisielk/errcheck
	.ci/bin/errcheck -ignoretests -exclude .ci/errcheck-exclude.txt ./...

# macOS, Windows and arm64 are compiled, linked and vetted, tests included; they
# are not run. Code generation is most of the cost and proves nothing here, so
# it is done without optimisation. Files that differ by system are vetted on one
# architecture; linux/amd64 is vetted by lint.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
cross:
	@set -e; out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; \
	for p in $(PLATFORMS); do \
		echo "cross $$p"; \
		export GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; \
		flags=-gcflags='all=-N -l'; [ $$p != linux/amd64 ] || flags=; \
		go build $${flags:+"$$flags"} ./...; \
		go build $${flags:+"$$flags"} -o "$$out/" ./cmd/...; \
		case $$p in darwin/amd64|windows/amd64) go vet $${flags:+"$$flags"} ./...;; esac; \
	done

build:
	go build -trimpath -o bin/ ./cmd/varve

clean:
	rm -rf bin .ci/bin
