//! The worker of an emulation, for tests; the command line starts the same by its interpreter.

fn main() {
    let path = std::env::current_exe().expect("a running program has a path");
    let command = vec![path.to_string_lossy().into_owned()];
    let inner = std::env::args().any(|argument| argument == retx_emulate::worker::INNER);
    std::process::exit(retx_emulate::worker::run(&command, inner));
}
