//! Which part of a program is recorded: `--skip`, `--count`, `--warm-up`, `--every`, `--window`, `--region`, `--region-signal`.

use crate::Failure;
use crate::args::RegionArgs;

/// The most instructions that can be asked for.
const MOST: u64 = 1 << 60;

/// The word for a region that signals bound: the tool for Valgrind learns of it otherwise.
pub(crate) const BY_SIGNAL: &str = "--region-signal";

/// What is asked for, in the recorder's words; none where all of the program is.
pub(crate) fn words(args: &RegionArgs) -> Result<Vec<String>, Failure> {
    let number = |name: &str, text: &Option<String>, least: u64| {
        text.as_deref().map(|text| instructions(name, text, least)).transpose()
    };
    let (skip, count) = (number("--skip", &args.skip, 0)?, number("--count", &args.count, 1)?);
    let (every, window) = (number("--every", &args.every, 2)?, number("--window", &args.window, 1)?);
    let warm_up = number("--warm-up", &args.warm_up, 1)?;
    let refuse = |text: &str| Err(Failure::BadInput(text.into()));
    let said = args.region || args.region_signal;
    if said && [skip, count, warm_up, every, window].iter().any(Option::is_some) {
        return refuse(
            "--region, --region-signal: the program or a signal says where the region is, and coreplane_roi_warm_up what comes before it; give them without --skip, --count, --warm-up, --every and --window",
        );
    }
    if warm_up.is_some() && skip.is_none() && every.is_none() {
        return refuse(
            "--warm-up: is of what --skip leads to, or of each window; give --skip, or --every and --window",
        );
    }
    if every.is_some() != window.is_some() || every <= window && every.is_some() {
        return refuse(
            "--every N --window M: give both, and a window that is shorter than what it stands for",
        );
    }
    if let (Some(every), Some(window), Some(warm_up)) = (every, window, warm_up)
        && warm_up > every - window
    {
        return refuse("--warm-up: is longer than what lies between two windows (--every less --window)");
    }
    if every.is_some() && count.is_some() {
        return refuse("--count: is of one region; with --every and --window give --skip alone");
    }
    let pairs =
        [("skip", skip), ("count", count), ("warm-up", warm_up), ("every", every), ("window", window)];
    let numbers = pairs.iter().filter_map(|(name, n)| Some(format!("--{name}={}", (*n)?)));
    let said = said.then(|| "--region=yes".into());
    Ok(numbers.chain(said).chain(args.region_signal.then(|| BY_SIGNAL.into())).collect())
}

/// Such as 2500000, 30K or 30k, 100M, 2G.
fn instructions(name: &str, text: &str, least: u64) -> Result<u64, Failure> {
    let (digits, unit) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 1_000),
        Some('M') => (&text[..text.len() - 1], 1_000_000),
        Some('G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let plain = digits.bytes().all(|b| b.is_ascii_digit());
    let n = digits.parse::<u64>().ok().filter(|_| plain).and_then(|n| n.checked_mul(unit));
    n.filter(|n| (least..=MOST).contains(n)).ok_or_else(|| {
        let accepted = format!("{least} or more, such as 2500000, 30K, 100M or 2G");
        Failure::BadInput(format!("{name} {text}: give instructions, {accepted}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(skip: &str, count: &str, every: &str, window: &str, region: bool) -> Result<String, String> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        let args = RegionArgs {
            skip: some(skip),
            count: some(count),
            every: some(every),
            window: some(window),
            region,
            ..RegionArgs::default()
        };
        words(&args).map(|words| words.join(" ")).map_err(|failure| match failure {
            Failure::BadInput(text) => text,
            _ => String::new(),
        })
    }

    #[test]
    fn a_region_is_said_in_instructions() {
        assert_eq!(asked("", "", "", "", false).unwrap(), "");
        assert_eq!(asked("2G", "100M", "", "", false).unwrap(), "--skip=2000000000 --count=100000000");
        assert_eq!(
            asked("7", "", "100M", "500K", false).unwrap(),
            "--skip=7 --every=100000000 --window=500000"
        );
        assert_eq!(asked("30k", "30K", "", "", false).unwrap(), "--skip=30000 --count=30000");
        assert_eq!(asked("", "", "", "", true).unwrap(), "--region=yes");
    }

    fn windows_after(warm_up: &str) -> Result<String, String> {
        let some = |text: &str| Some(text.to_string());
        let (every, window, warm_up) = (some("100"), some("10"), some(warm_up));
        let args = RegionArgs { every, window, warm_up, ..RegionArgs::default() };
        words(&args).map(|words| words.join(" ")).map_err(|_| String::new())
    }

    #[test]
    fn a_warm_up_fits_between_two_windows() {
        assert_eq!(windows_after("90").unwrap(), "--warm-up=90 --every=100 --window=10");
        assert!(windows_after("91").is_err());
    }

    #[test]
    fn what_makes_no_region_is_refused() {
        for (skip, count, every, window, region, wanted) in [
            ("x", "", "", "", false, "instructions, 0 or more, such as 2500000, 30K"),
            ("+1", "", "", "", false, "--skip +1"),
            ("", "0", "", "", false, "1 or more"),
            ("99999999999G", "", "", "", false, "--skip 99999999999G"),
            ("", "", "100", "", false, "give both"),
            ("", "", "100", "100", false, "shorter"),
            ("", "5", "100", "10", false, "--count: is of one region"),
            ("1", "", "", "", true, "--region"),
        ] {
            let said = asked(skip, count, every, window, region).unwrap_err();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
