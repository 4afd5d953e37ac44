# Each target does one thing; make alone prints them. After the first build nothing but setup needs a network.

# Rooms that decide and never act. internal/house holds this line to the table of ARCHITECTURE.md.
PURE_ROOMS := internal/session internal/compact internal/permit internal/harness/drive

PURE := $(patsubst %,./%,$(wildcard $(PURE_ROOMS)))
# What several goroutines or processes touch, and what they stand on.
RACED := $(PURE) $(patsubst %,./%/...,$(wildcard internal/jsonl internal/harness))

# No version control stamp: a checkout that belongs to another user must build too, and to the same bytes.
BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w"
TOOL := go tool -modfile=tools/go.mod
CHANGED = $$({ git diff --name-only HEAD; git ls-files --others --exclude-standard; } 2>/dev/null \
	| grep '\.go$$' | grep -v -e '^tools/' -e /testdata/ | xargs -n 1 dirname 2>/dev/null | sort -u \
	| while read -r d; do ls "$$d"/*.go >/dev/null 2>&1 && echo "./$$d"; done)

FUZZTIME ?= 20s
PREFIX ?= $(HOME)/.local
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help build run setup quick test soak race lint format check docs vuln cross bench fuzz eval golden demo demo-check pictures install clean

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/agent
	@$(BUILD) -o bin/agent ./cmd/agent

run: build ## build Varve and start it here (ARGS="..." are its arguments)
	@./bin/agent $(ARGS)

setup: ## install what a fresh machine lacks beyond Go modules, and fetch those
	@sh tools/setup.sh

quick: ## under a minute: build, vet, the pure rooms, what changed
	go build -buildvcs=false ./...
	go vet ./...
	@set -- $(PURE) $(CHANGED); [ $$# -eq 0 ] || { echo go test "$$@"; go test "$$@"; }

test: ## every test; needs only Go, git and make
	go test ./...

race: ## the race detector over the pure rooms, jsonl and harness (needs a C compiler)
	@command -v $$(go env CC) >/dev/null || { echo "make race: the race detector needs a C compiler: make setup" >&2; exit 1; }
	CGO_ENABLED=1 go test -race $(RACED)

lint: ## vet for both systems, format, staticcheck, and the second reader of the pure rooms
	go vet ./...
	GOOS=darwin CGO_ENABLED=0 go vet ./...
	go vet -C tools ./...
	@bad=$$($(TOOL) gofumpt -l .) || exit 1; [ -z "$$bad" ] || { echo "not formatted (make format):"; echo "$$bad"; exit 1; }
	$(TOOL) staticcheck ./...
	go build -C tools -buildvcs=false -o ../bin/purecheck ./purecheck
	@[ -z "$(PURE)" ] || { echo go vet -vettool=bin/purecheck $(PURE); go vet -vettool=$(CURDIR)/bin/purecheck $(PURE); }
	go test -C tools ./...

format: ## format all Go files
	@$(TOOL) gofumpt -w .

soak: ## 2,000 turns with compactions, branches, interrupts and restarts (part of check; test has 400)
	SOAK=1 go test -count=1 -run '^TestSoak$$' ./internal/harness

check: lint test soak race cross vuln ## everything that must hold before stopping: docs, licences and end-to-end tests are in test
	go mod verify
	@echo "check: all of it holds"

docs: ## the documents tell the truth, dependencies and licences are those we chose (part of test)
	go test -count=1 ./internal/house

vuln: ## known vulnerabilities, from the database as a module
	@cd tools && go run ./vulndb -cache ../.cache ..

cross: ## build for Linux and macOS, amd64 and arm64
	@for os in linux darwin; do for arch in amd64 arm64; do \
		echo "build $$os/$$arch"; CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -buildvcs=false ./... || exit 1; \
	done; done

bench: build ## measure, with each limit beside its figure
	go run ./internal/bench $(ARGS)

fuzz: ## each fuzz target for FUZZTIME (20s)
	@grep -rl --include='*_test.go' '^func Fuzz' cmd internal 2>/dev/null | while read -r f; do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$f"); do \
			echo "$$name in $$(dirname "$$f")"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$f")" || exit 1; \
		done || exit 1; \
	done

eval: build ## the offline evaluation of compaction (ARGS="--json", "--picture FILE.svg")
	@./bin/agent eval offline $(ARGS)

golden: ## rewrite scripts, screens and tables from what the program does now
	UPDATE=1 go test ./...

demo: build ## the offline demo: a scripted model, no key
	@./bin/agent demo

demo-check: ## the demo's work done by the real program, headless and on screen
	@go test -list '^TestDemo' ./cmd/agent | grep -q '^TestDemo' || { echo "make demo-check: cmd/agent has no TestDemo..." >&2; exit 1; }
	go test -count=1 -v -run '^TestDemo' ./cmd/agent

pictures: ## screens of the real program as SVG, into docs/pictures
	PICTURES=1 go test -count=1 -run '^TestPictures' ./cmd/agent

install: build ## put agent into PREFIX/bin (~/.local/bin)
	@mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	@install -m 755 bin/agent "$(DESTDIR)$(PREFIX)/bin/agent"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/agent"

clean: ## remove what was built here
	@rm -rf bin .cache
