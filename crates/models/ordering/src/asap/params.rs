//! Parameters of ASAP alone.

use params::Parameters;

/// Early flushes, and the records that undo or delay them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(super) struct AsapParameters {
    /// undo and delay records at each controller
    #[param(default = "32", source = "paper: ASAP Table II", min = 0, max = 1024)]
    pub(super) recovery_table: usize,
    /// ASAP flushes epochs that are not safe yet
    #[param(default = "true", source = "paper: ASAP §IV-C")]
    pub(super) eager: bool,
    /// the next epoch is safe once the commit is sent, not when it is acknowledged
    #[param(default = "false", source = "paper: ASAP §V-C")]
    pub(super) commit_pipelined: bool,
    /// an undo record reads the media
    #[param(default = "true", source = "paper: ASAP §IV-D")]
    pub(super) undo_reads: bool,
    /// a delay record that commits is written to the media
    #[param(default = "true", source = "paper: ASAP §V-C")]
    pub(super) delay_writes: bool,
    /// after a NACK, a controller refuses every early flush of that core until the refused one comes back
    #[param(default = "false", source = "paper: ASAP §V-D")]
    pub(super) nack_following: bool,
}
