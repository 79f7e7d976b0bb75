#!/bin/sh
# Tests the kernels for AVX-512 on a machine that has none: boots a small Linux in Bochs, an emulator of a whole PC that
# knows AVX-512, and runs the vector core's tests there.
#
# The first run builds Bochs and fetches a Linux kernel into target/bochs (some minutes). Needs cargo and Debian's packages,
# which it installs when run as root; with NO_INSTALL=1 it only says what is missing. An argument is the name of the tests
# to run, else those of the kernels. TIMEOUT is in seconds (1200).
set -eu
cd "$(dirname "$0")/.."
tests=${1:-kernels::tests}
house=$PWD/target/bochs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

bios=/usr/share/bochs/BIOS-bochs-latest
vga=/usr/share/bochs/VGABIOS-lgpl-latest
loader=/usr/lib/ISOLINUX/isolinux.bin
loader_core=/usr/lib/syslinux/modules/bios/ldlinux.c32
found() {
    for program in busybox cpio g++ make xorriso xz; do
        command -v $program >/dev/null || return 1
    done
    [ -e $bios ] && [ -e $vga ] && [ -e $loader ] && [ -e $loader_core ]
}
if ! found; then
    packages="bochsbios vgabios isolinux syslinux-common xorriso busybox-static cpio g++ make xz-utils"
    if [ -n "${NO_INSTALL-}" ] || [ "$(id -u)" != 0 ]; then
        echo "test-avx512: missing some of the packages" $packages >&2
        exit 1
    fi
    # shellcheck disable=SC2086
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages; } >&2
fi

# Debian 12's Bochs, 2.7, has no CPU with VNNI that boots Linux. So: Debian 13's source, with one change, that its Skylake-X,
# which boots, also tells of features that were added. By an apt of its own: the system's sources stay as they are.
build_bochs() (
    cd "$dir"
    mkdir -p apt/lists/partial apt/cache/archives/partial
    : >apt/status
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" \
        >apt/sources
    cat >apt/conf <<END
Dir::Etc::SourceList "$dir/apt/sources";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$dir/apt/lists";
Dir::State::Status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
APT::Sandbox::User "root";
END
    export APT_CONFIG="$dir/apt/conf"
    apt-get -qq update
    # A mirror may lack the description of the source; the source itself is checked by the signed index, here.
    apt-get -qq source --download-only bochs || true
    sum=$(apt-cache showsrc bochs | awk '/^Checksums-Sha256:/ { in_sums = 1; next } /^[^ ]/ { in_sums = 0 }
        in_sums && /orig\.tar/ { print $1; exit }')
    echo "$sum  $(ls bochs_*.orig.tar.xz)" | sha256sum -c -
    tar xf bochs_*.orig.tar.xz
    cd bochs-*/
    cpu=cpu/cpudb/intel/corei7_skylake-x.cc
    sed -i '/subfunction, cpuid_function_t \*leaf/,/break;/ s/leaf->ecx = 0;/leaf->ecx = get_std_cpuid_leaf_7_ecx();/' $cpu
    grep -q 'leaf->ecx = get_std_cpuid_leaf_7_ecx' $cpu
    ./configure --with-nogui --enable-x86-64 --enable-cpu-level=6 --enable-avx --enable-evex --enable-all-optimizations \
        --disable-debugger --disable-plugins --disable-docbook CXXFLAGS=-O2 >log 2>&1 || { tail log; return 1; }
    make -j"$(nproc)" >log 2>&1 || { tail log; return 1; }
    cp bochs "$house/bochs"
)

# Debian's smallest kernel, unpacked and not installed.
fetch_kernel() (
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-\)/\1/p')
    mkdir "$dir/kernel"
    cd "$dir/kernel"
    apt-get -qq -o APT::Sandbox::User=root download "$package"
    dpkg-deb -x ./*.deb .
    cp boot/vmlinuz-* "$house/vmlinuz"
)

mkdir -p "$house"
if ! [ -x "$house/bochs" ]; then
    echo "== building Bochs"
    build_bochs >&2
fi
if ! [ -e "$house/vmlinuz" ]; then
    fetch_kernel >&2
fi

. scripts/vector-core.sh
target=x86_64-unknown-linux-gnu
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols"
program=$(cargo test --no-run --release --lib --manifest-path "$crate/Cargo.toml" --target-dir "$crate/target" \
    --target $target --message-format json-render-diagnostics | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
[ -n "$program" ] || { echo "test-avx512: the tests do not compile" >&2 && exit 1; }

# A CD that boots the kernel, with no more in its file system than busybox and the tests.
root=$dir/root
mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/tmp" "$dir/cd"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$program" "$root/tests"
cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox stty -F /dev/ttyS0 -opost
export RAG_TEST_SETS="scalar avx2 avx512 avx512-vnni"
echo @@begin
/tests --test-threads=1 '$tests'
code=\$?
echo; echo "@@exit \$code"
/bin/busybox usleep 300000 # the serial port is slow
/bin/busybox poweroff -f
END
chmod +x "$root/init" "$root/tests"
(cd "$root" && find . | cpio --quiet -o -H newc) >"$dir/cd/initrd"
cp "$house/vmlinuz" $loader $loader_core "$dir/cd/"
cat >"$dir/cd/isolinux.cfg" <<END
default l
prompt 0
label l
linux vmlinuz
initrd initrd
append console=ttyS0 quiet loglevel=1 nokaslr mitigations=off lpj=1000000 tsc=reliable idle=halt lsm= random.trust_cpu=on panic=-1
END
xorriso -as mkisofs -quiet -o "$dir/cd.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
    -boot-info-table "$dir/cd" 2>"$dir/xorriso.log" || { cat "$dir/xorriso.log" >&2; exit 1; }
: >"$dir/serial"
cat >"$dir/bochsrc" <<END
display_library: nogui
cpu: model=corei7_skylake_x, count=1, ips=20000000, reset_on_triple_fault=0, add_features="avx512vnni"
memory: guest=512, host=512
romimage: file=$bios
vgaromimage: file=$vga
ata0-master: type=cdrom, path=$dir/cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$dir/serial
clock: sync=none
log: $dir/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
END

echo "== $tests on an emulated Skylake-X with VNNI: scalar avx2 avx512 avx512-vnni"
# Bochs ends with an error when the guest is switched off, too: only what the guest wrote counts.
timeout -s KILL "${TIMEOUT:-1200}" "$house/bochs" -q -f "$dir/bochsrc" >"$dir/bochs.out" 2>&1 </dev/null || true
sed -n '/^@@begin/,/^@@exit/ { /^@@/!p }' "$dir/serial"
code=$(sed -n 's/^@@exit \([0-9]*\)$/\1/p' "$dir/serial")
if [ -z "$code" ]; then
    echo "test-avx512: no result from the emulated machine (it has ${TIMEOUT:-1200} s)" >&2
    tail -n 20 "$dir/bochs.out" "$dir/bochs.log" >&2
    exit 1
fi
[ "$code" = 0 ] && echo "test-avx512: passed"
exit "$code"
