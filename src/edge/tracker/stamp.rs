//! Times as trackers write them: RFC 3339.

use jiff::Timestamp;

use crate::kernel::moment::Moment;

pub fn parse(text: &str) -> Option<Moment> {
    let time: Timestamp = text.parse().ok()?;
    Some(Moment(time.as_millisecond()))
}

/// Whole seconds in UTC, as bd writes them.
pub fn format(moment: Moment) -> String {
    let seconds = moment.0.div_euclid(1000);
    // A moment outside of jiff's years (-9999 to 9999) can only come from a broken clock.
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    time.to_string()
}

/// To the millisecond: for what is read again and must come out the same.
pub fn exact(moment: Moment) -> String {
    Timestamp::from_millisecond(moment.0)
        .unwrap_or(Timestamp::MAX)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_fractions_and_zulu_mean_the_same_instant() {
        let moment = Moment(1_767_225_600_000);
        for text in [
            "2026-01-01T00:00:00Z",
            "2025-12-31T16:00:00-08:00",
            "2026-01-01T05:30:00+05:30",
            "2026-01-01T00:00:00.000000000Z",
            "2026-01-01T00:00:00.000123456Z",
        ] {
            assert_eq!(parse(text), Some(moment), "{text}");
        }
        assert_eq!(format(moment), "2026-01-01T00:00:00Z");
        assert_eq!(format(Moment(moment.0 + 999)), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "soon",
            "2026-01-01",
            "2026-13-01T00:00:00Z",
            "1767225600",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
