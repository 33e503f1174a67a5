//! The command line as a program of its own, for those who install without Python.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().map(OsString::into_string).collect::<Result<Vec<_>, _>>() {
        Ok(args) => ExitCode::from(cli::main_from(&args)),
        Err(arg) => {
            let text = format!("coreplane: {}: is not UTF-8, in which arguments are given\n", escaped(&arg));
            // Nobody may listen.
            _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(2)
        }
    }
}

/// Bytes that are no text as Python's command writes them.
fn escaped(arg: &OsStr) -> String {
    let chunks = arg.as_encoded_bytes().utf8_chunks();
    chunks
        .map(|c| {
            c.valid().to_string() + &c.invalid().iter().map(|b| format!("\\x{b:02x}")).collect::<String>()
        })
        .collect()
}
