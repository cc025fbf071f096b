//! The binary: hands everything to the library and turns its answer into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    beadlock::cli::main()
}
