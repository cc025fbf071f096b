//! A point in time as the kernel sees it: milliseconds that somebody else read off a clock.

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl Moment {
    /// How long ago `earlier` was. A clock that went back counts as no time at all.
    pub fn millis_since(self, earlier: Moment) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Moment {
        Moment(self.0.saturating_add(millis))
    }
}
