//! The command line as a program of its own, for those who install without Python.

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().collect();
    std::process::ExitCode::from(cli::main_from(&args))
}
