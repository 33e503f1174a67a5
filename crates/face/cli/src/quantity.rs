//! Numbers as people read them: scaled, with a unit, digits in threes. JSON keeps the plain numbers.

/// A share that is less has no digit that says anything.
const LEAST_PERCENT: f64 = 0.01;

/// A number with its unit; four digits that matter.
pub(crate) fn scaled(name: &str, value: f64, unit: &str) -> (String, String) {
    let steps: &[(f64, &str)] = match unit {
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        "B" => &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
        "B/s" => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
        "1/s" => &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "1/s")],
        _ if is_share(name, unit) => {
            let percent = value * 100.0;
            return (
                if percent > 0.0 && percent < LEAST_PERCENT { "under 0.01".into() } else { plain(percent) },
                "%".into(),
            );
        }
        "1" => return (plain(value), String::new()),
        _ => return (plain(value), unit.into()),
    };
    let fits = steps.iter().find(|(size, _)| value.abs() >= *size);
    let (size, unit) = fits.or(steps.last()).copied().unwrap_or((1.0, ""));
    (plain(value / size), unit.into())
}

/// Whether a statistic is a share, which is shown in percent.
pub(crate) fn is_share(name: &str, unit: &str) -> bool {
    unit == "1" && name.split(['.', '_']).any(|word| word == "share")
}

/// The same in one piece.
pub(crate) fn with_unit(name: &str, value: f64, unit: &str) -> String {
    let (number, unit) = scaled(name, value, unit);
    format!("{number} {unit}").trim_end().to_string()
}

/// A time in nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    with_unit("time", ns, "ns")
}

/// How many.
pub(crate) fn count(n: u64) -> String {
    threes(&n.to_string())
}

/// A number: whole ones whole, others with four digits that matter; digits before the point in threes.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 {
        return threes(&format!("{value:.0}"));
    }
    let digits = match value.abs() {
        v if v >= 1000.0 => 1,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        v if v >= 0.001 => 4,
        _ => return format!("{value:.3e}"),
    };
    threes(&format!("{value:.digits$}"))
}

fn threes(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |at| text.split_at(at));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_grouped() {
        assert_eq!(time(2_856_893.5), "2.857 ms");
        assert_eq!(time(12.0), "12 ns");
        assert_eq!(with_unit("throughput.bytes_per_second", 1_380_626_916.1, "B/s"), "1.381 GB/s");
        assert_eq!(with_unit("x", 463_856_467_968.0, "B"), "463.9 GB");
        assert_eq!(with_unit("cpu.stores", 1_234_567.0, "1"), "1,234,567");
        assert_eq!(with_unit("ordering.stall_share", 0.3559, "1"), "35.59 %");
        assert_eq!(with_unit("x", -1234.5, "1"), "-1,234.5");
        assert_eq!(with_unit("x", 0.0, "ns"), "0 ns");
        assert_eq!(with_unit("x", 0.000_012, "1"), "1.200e-5");
        assert_eq!(with_unit("energy_j", 12.5, "J"), "12.50 J");
    }
}
