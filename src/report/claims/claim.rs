//! What a claim is.

/// What came of a claim in one series.
pub(super) struct Finding {
    /// What was looked at.
    pub(super) series: String,
    pub(super) measured: String,
    /// None while undecided.
    pub(super) holds: Option<bool>,
}

/// A claim and what was found.
pub(super) struct Claim {
    pub(super) says: String,
    /// What the numbers are.
    pub(super) quantity: &'static str,
    pub(super) findings: Vec<Finding>,
    /// What to know before reading them; empty for nothing.
    pub(super) note: &'static str,
    /// The file and the line of it that make it.
    pub(super) code: (&'static str, u32),
}
