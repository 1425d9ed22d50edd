//! Worker process of an emulation, as a program for tests. The command `retx` runs the same code in
//! its Python interpreter.

use retx_emulate::worker;

fn main() {
    let mut command: Vec<String> = std::env::args().collect();
    let inner = command.last().is_some_and(|last| last == worker::INNER);
    if inner {
        command.pop();
    }
    std::process::exit(worker::run(&command, inner));
}
