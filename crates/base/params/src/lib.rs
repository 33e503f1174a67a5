//! Parameters and statistics: what each is, and the one place where it is said.
//!
//! A struct is a table. Its fields are the rows: a field's name is the key's last word, its type the kind, its doc
//! comment the meaning. Files, `--set`, error messages, `show`, the JSON Schema and the code that reads the value
//! follow from it, so that none of them can have a row which another has not.
//!
//! ```
//! use params::{Dur, Parameters, Settings, Words, ns};
//!
//! /// When one core's persists wait for another's.
//! #[derive(Clone, Copy, Debug, PartialEq, Words)]
//! enum Persistency {
//!     Epoch,
//!     Release,
//! }
//!
//! #[derive(Parameters)]
//! #[parameters(prefix = "ordering")]
//! struct Path {
//!     /// when one core's persists wait for another's
//!     #[param(default = "release", source = "paper: ASAP §IV-A")]
//!     persistency: Persistency,
//!     /// entries of each core's persist buffer
//!     #[param(default = "32", source = "paper: ASAP Table II", min = 1, max = 1024)]
//!     persist_buffer: usize,
//!     /// time from one flush of a persist buffer to the next
//!     #[param(default = "1", source = "artifact", range = ns::STEP)]
//!     flush_issue_ns: Dur,
//! }
//!
//! let path = Path::from_settings(&Settings::defaults(Path::TABLE));
//! assert_eq!((path.persist_buffer, path.persistency, path.flush_issue_ns), (32, Persistency::Release, Dur::ns(1)));
//! assert_eq!(Path::TABLE[1].key, "ordering.persist_buffer");
//! assert_eq!(Path::TABLE[1].meaning, "entries of each core's persist buffer");
//! ```
//!
//! A default that its own kind refuses does not compile:
//!
//! ```compile_fail
//! #[derive(params::Parameters)]
//! #[parameters(prefix = "cpu")]
//! struct Cores {
//!     /// cores
//!     #[param(default = "65", source = "-", min = 1, max = 64)]
//!     cores: usize,
//! }
//! ```
//!
//! Neither does a row without a meaning or a source, a number without bounds, or bounds that its type cannot hold:
//!
//! ```compile_fail
//! #[derive(params::Parameters)]
//! #[parameters(prefix = "cpu")]
//! struct Cores {
//!     #[param(default = "4", source = "-", min = 1, max = 64)]
//!     cores: usize,
//! }
//! ```
//! ```compile_fail
//! #[derive(params::Parameters)]
//! #[parameters(prefix = "cpu")]
//! struct Cores {
//!     /// cores
//!     #[param(default = "4", source = "-")]
//!     cores: usize,
//! }
//! ```
//! ```compile_fail
//! #[derive(params::Parameters)]
//! #[parameters(prefix = "cpu")]
//! struct Cores {
//!     /// cores
//!     #[param(default = "4", source = "-", min = 1, max = 64000)]
//!     cores: u8,
//! }
//! ```
//!
//! Nor a word that nothing is done for: `match` over the enum has no arm for it, and there is no text to match on.
//!
//! ```compile_fail
//! #[derive(params::Words)]
//! enum Model {
//!     Intel,
//!     Asap,
//! }
//! fn is_eager(model: Model) -> bool {
//!     match model {
//!         Model::Intel => false,
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

extern crate self as params;

mod default;
mod distribution;
mod kind;
mod near;
pub mod ns;
mod settings;
mod source;
mod statistics;
mod table;
mod tally;
mod words;

pub use default::fits;
pub use distribution::{Distribution, SHARES};
pub use kind::{Kind, Param, Setting};
pub use near::nearest;
pub use params_derive::{Parameters, Statistics, Words};
pub use settings::{Condition, Settings};
pub use source::{Among, Open, SOURCES, SOURCES_PATTERN, Source};
pub use statistics::{Derive, StatisticInfo, Statistics};
pub use table::{Parameters, join, rows};
pub use tally::{Occupancy, StatSink, Tally, Value};
pub use units::Dur;
pub use words::{FromSetting, Plain, Whole, Words};

#[cfg(test)]
mod tests;
