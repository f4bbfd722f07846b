//! Spans of time on the command line: `30m`, `24h`, `7d`.

use std::time::Duration;

/// The longest span: CloudWatch Logs keeps lines for at most ten years.
const LONGEST_DAYS: u64 = 3_653;

/// Reads a span.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let refused =
        || format!("{text:?}: expected a number with its unit, as 30m, 24h or 7d, of up to {LONGEST_DAYS} days");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(refused)?;
    let number: u64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let span = number.checked_mul(seconds).filter(|span| (1..=LONGEST_DAYS * 86_400).contains(span));
    span.map(Duration::from_secs).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_has_a_number_and_a_unit() {
        for (text, seconds) in [("30m", 1_800), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "24", "h", "-1h", "0h", "1w", "1 h", "4000d", "99999999999999999999h", "24ü"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
