# The vector core as a crate by itself, which is built in seconds: it imports nothing of ours. Sourced from the root of the
# project; sets `crate` to its folder.
crate=target/vector-core
mkdir -p "$crate/src"
{
    printf '[package]\nname = "vector-core"\nversion = "0.1.0"\nedition = "2024"\n[workspace]\n'
    printf '[profile.release]\noverflow-checks = true\n[dependencies]\n'
    grep -E '^(bytemuck|crc32c|half|proptest|thiserror) = ' Cargo.toml
} >"$crate/Cargo.toml"
cp Cargo.lock "$crate/Cargo.lock"
ln -sfn "$PWD/docs" "$crate/docs" # a test compares docs/format.md with real bytes
echo "pub mod index { #[path = \"$PWD/src/index/vector/mod.rs\"] pub mod vector; }" >"$crate/src/lib.rs"
