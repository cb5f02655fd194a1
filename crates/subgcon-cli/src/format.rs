//! Numbers and small pictures for people.

/// 1234567 as "1,234,567".
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with its noun: "1 node", "2 nodes".
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// Bytes in the largest unit that leaves at least one digit before the point.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// A share in percent, with digits where it is small.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 10.0 || p == 0.0 => format!("{p:.1} %"),
        p => format!("{p:.3} %"),
    }
}

/// A number above zero with four digits that say something: 31.62, 0.003162, 1000, 2e30.
pub(crate) fn short(number: f64) -> String {
    if !(1e-6..1e9).contains(&number) {
        let text = format!("{number:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (3.0 - number.log10().floor()).clamp(0.0, 20.0) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A horizontal bar of at most `width` characters, in eighths of one.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // Anything there is at all stays visible.
    let least = if share > 0.0 { 1 } else { 0 };
    let eighths = ((share * 8.0 * width as f64).round() as usize).clamp(least, 8 * width);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 2].map(|n| counted(n, "node")), ["1 node", "2 nodes"]);
        assert_eq!(
            [999, 1000, 999_960, 5_300_000_000].map(bytes),
            ["999 B", "1.0 kB", "1.0 MB", "5.3 GB"]
        );
        let c = [1e-3, 10f64.powf(-2.5), 0.5, 10f64.powf(1.5), 1000.0, 1e6, 12345.6];
        let shown = ["0.001", "0.003162", "0.5", "31.62", "1000", "1000000", "12346"];
        assert_eq!(c.map(short), shown);
        assert_eq!(
            [1e308, 2.5e9, 1e-320, 1e-6].map(short),
            ["1e308", "2.5e9", "1e-320", "0.000001"]
        );
        assert_eq!([0.0, 0.01268, 0.34842].map(percent), ["0.0 %", "1.268 %", "34.8 %"]);
    }

    #[test]
    fn bars_show_small_shares_and_never_overflow() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(1e-9, 10), "▏");
        assert_eq!(bar(0.5, 10), "█████");
        assert_eq!(bar(1.0, 3), "███");
    }
}
