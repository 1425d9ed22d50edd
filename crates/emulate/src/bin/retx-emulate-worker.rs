//! Worker process of an emulation, as a program for tests. The command `retx` runs the same code in
//! its Python interpreter.

#[cfg(target_os = "linux")]
fn main() {
    use retx_emulate::worker;

    let mut command: Vec<String> = std::env::args().collect();
    let inner = command.last().is_some_and(|last| last == worker::INNER_PROCESS_ARGUMENT);
    if inner {
        command.pop();
    }
    std::process::exit(worker::run(&command, inner));
}

/// The crate is empty on other systems, so that the workspace compiles there.
#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("An emulation needs a Linux kernel.");
    std::process::exit(1);
}
