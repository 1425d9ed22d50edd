# Sourced: puts a working cargo on PATH, or says how to get one and fails.
#
# rustup's cargo is a shim that looks for its toolchains under HOME. In a build with an empty HOME
# (a container, a CI job) it is on PATH and yet finds none; they lie beside the shim.

retx_minimum_minor=$(sed -n 's/^rust-version = "1\.\([0-9]*\)"/\1/p' Cargo.toml)

retx_rust_works() {
    cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1
}

retx_find_rust() {
    retx_rust_works && return
    local user_home
    user_home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)
    local bin
    for bin in "$(dirname "$(command -v cargo || echo /nowhere/cargo)")" \
        "$user_home/.cargo/bin" /usr/local/cargo/bin /opt/cargo/bin; do
        [ -x "$bin/cargo" ] || continue
        local cargo_home rustup_home
        cargo_home=$(dirname "$bin")
        for rustup_home in "$(dirname "$cargo_home")/.rustup" "$(dirname "$cargo_home")/rustup"; do
            [ -d "$rustup_home/toolchains" ] || continue
            export PATH="$bin:$PATH" RUSTUP_HOME="$rustup_home"
            # Crates that are there already need not be fetched again.
            if [ -z "${CARGO_HOME:-}" ] && [ -w "$cargo_home" ]; then
                export CARGO_HOME="$cargo_home"
            fi
            retx_rust_works && return
        done
    done
    echo "retx needs Rust 1.$retx_minimum_minor or newer, and no working cargo was found on PATH." >&2
    echo "Get it from https://rustup.rs and run this again." >&2
    exit 1
}

retx_find_rust
retx_minor=$(rustc --version | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
if [ -n "$retx_minor" ] && [ "$retx_minor" -lt "$retx_minimum_minor" ]; then
    echo "retx needs Rust 1.$retx_minimum_minor or newer; this is $(rustc --version)." >&2
    echo "Update with: rustup update stable" >&2
    exit 1
fi
