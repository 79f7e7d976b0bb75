#!/bin/sh
# Tests the kernels for AArch64 on this machine: compiles the vector core's tests for it and runs them under qemu's user
# mode, once on a CPU with the dot product instruction and once on one without.
#
# Needs cargo and packages of Debian 12, which it installs when run as root; with NO_INSTALL=1 it only says what is missing.
# RUSTC may name another compiler that has the target. An argument is the name of the tests to run, else those of the
# kernels.
set -eu
cd "$(dirname "$0")/.."
tests=${1:-kernels::tests}

# Debian has a standard library for the target, which fits Debian's compiler alone.
export RUSTC="${RUSTC:-/usr/bin/rustc}"
target=aarch64-unknown-linux-gnu
found() {
    for program in cc aarch64-linux-gnu-gcc qemu-aarch64-static "$RUSTC"; do
        command -v "$program" >/dev/null || return 1
    done
    [ -d "$("$RUSTC" --print sysroot)/lib/rustlib/$target" ]
}
if ! found; then
    packages="rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64 gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
        qemu-user-static"
    if [ -n "${NO_INSTALL-}" ] || [ "$(id -u)" != 0 ]; then
        echo "test-neon: missing some of the packages" $packages "(with dpkg --add-architecture arm64)" >&2
        exit 1
    fi
    dpkg --add-architecture arm64
    # shellcheck disable=SC2086
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages; } >&2
fi

. scripts/vector-core.sh

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static

run() {
    echo "== $tests on an emulated $1: $2"
    QEMU_CPU=$1 RAG_TEST_SETS=$2 cargo test --quiet --release --lib --manifest-path "$crate/Cargo.toml" \
        --target-dir "$crate/target" --target $target -- "$tests"
}
run max "scalar neon dotprod"
run cortex-a72 "scalar neon"
echo "test-neon: passed"
