//! Hashes the engine's sources, so that a sweep never mixes runs of two engines.

use std::path::{Path, PathBuf};

/// Crates that affect the result of a run.
const MODELS: [&str; 7] = ["units", "wire", "tcp", "link", "scenario", "record", "sim"];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![crates.join("../Cargo.lock")];
    for model in MODELS {
        let sources = crates.join(model).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        let before = files.len();
        collect(&sources, &mut files);
        assert!(files.len() > before, "{}: no sources", sources.display());
    }
    println!("cargo::rerun-if-changed={}", files[0].display());
    let mut hash = FNV_OFFSET;
    for file in files {
        let name = file.strip_prefix(&crates).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        hash = fnv(hash, name.as_bytes());
        // A source distribution may lack the list of versions; the sources still count.
        hash = fnv(hash, &std::fs::read(&file).unwrap_or_default());
    }
    println!("cargo::rustc-env=RETX_ENGINE={hash:016x}");
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

// FNV-1a: names sources, without protection against forgery.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}
