//! Values of a list, whatever spaces stand round its commas.

use clap::builder::TypedValueParser;
use std::ffi::OsStr;

/// Reads as the parser in it does, without spaces before and after.
#[derive(Clone)]
pub(crate) struct Trimmed<P>(pub(crate) P);

impl<P: TypedValueParser> TypedValueParser for Trimmed<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        self.0.parse_ref(command, arg, value.to_str().map_or(value, |text| OsStr::new(text.trim())))
    }
}
