//! What every machine reports, whatever it is made of.

use params::Statistics;

/// How fast the program goes.
#[derive(Statistics)]
#[statistics(prefix = "throughput")]
pub(crate) struct Throughput {
    /// operations a simulated second, but those that failed
    #[stat(unit = "1/s")]
    pub(crate) operations_per_second: f64,
    /// bytes that the program moves a simulated second; where it counts none, bytes written to the
    /// media, without those for nothing but which lines the other socket has given away
    #[stat(unit = "B/s")]
    pub(crate) bytes_per_second: f64,
}
