//! Durations as programs in Go take them. Source: <https://pkg.go.dev/time#ParseDuration>

/// The nanoseconds of a duration: `10s`, `1m30s`, `1.5h`, `0`. `None` if Go refuses it, as it does `10`.
pub fn go_duration(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Some(0);
    }
    let (mut rest, mut total) = (unsigned, 0_i64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, after) = rest.split_at(rest.find(|c| !is_of_number(c))?);
        let (unit, after) = after.split_at(after.find(is_of_number).unwrap_or(after.len()));
        total = total.checked_add(product(number, nanoseconds(unit)?)?)?;
        rest = after;
    }
    Some(if text.starts_with('-') { -total } else { total })
}

fn nanoseconds(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A decimal number of units.
fn product(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let (part, _) = fraction.chars().try_fold((0, unit), |(sum, scale), digit| {
        let scale = scale / 10;
        Some((sum + i64::from(digit.to_digit(10)?) * scale, scale))
    })?;
    whole.checked_mul(unit)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit() {
        for (text, expected) in [
            ("60s", Some(60_000_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            ("1500ms", Some(1_500_000_000)),
            ("1.5s", Some(1_500_000_000)),
            (".5us", Some(500)),
            ("-5s", Some(-5_000_000_000)),
            ("+5ns", Some(5)),
            ("0", Some(0)),
            ("60", None),
            ("", None),
            ("s", None),
            (".s", None),
            ("1.2.3s", None),
            ("1d", None),
            ("10 s", None),
            ("10sec", None),
            ("99999999999999999999s", None),
        ] {
            assert_eq!(go_duration(text), expected, "{text}");
        }
    }
}
