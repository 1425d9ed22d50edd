//! Worker of an emulation for tests; the command line starts the same code through its interpreter.

use retx_emulate::worker;

fn main() {
    let mut command: Vec<String> = std::env::args().collect();
    let inner = command.last().is_some_and(|last| last == worker::INNER);
    if inner {
        command.pop();
    }
    std::process::exit(worker::run(&command, inner));
}
