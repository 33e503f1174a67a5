//! The machines of a comparison, each with a name of its own.

use crate::Failure;
use machine::Description;

/// The word for every machine that differs in its ordering alone.
pub(crate) const FAMILY: &str = "family";

/// The machines that were asked for, the family's among them where that word was. One of the family that is asked for by itself, too,
/// is there once, where it comes first.
pub(crate) fn asked(on: &[String]) -> Result<Vec<String>, Failure> {
    if on.iter().any(String::is_empty) {
        let text =
            "--on: a name is empty; give machines, separated by commas (coreplane show machines lists them)";
        return Err(Failure::BadInput(text.into()));
    }
    if let Some(name) = machine::twice(on) {
        let text = format!("--on {}: {name} is there twice; give each machine once", on.join(","));
        return Err(Failure::BadInput(text));
    }
    let mut all: Vec<String> = Vec::new();
    for name in on {
        let named = if name == FAMILY { machine::family() } else { vec![name.as_str()] };
        let new: Vec<&str> = named.into_iter().filter(|n| all.iter().all(|other| other != n)).collect();
        all.extend(new.into_iter().map(String::from));
    }
    Ok(all)
}

/// Gives each machine a name that no other has, and these: a file is called by its path where it would be called as another.
pub(crate) fn told_apart(on: &[String], machines: &mut [Description]) -> Vec<String> {
    let own: Vec<String> = machines.iter().map(|machine| machine.name.clone()).collect();
    let names = names(on, &own);
    machines.iter_mut().zip(&names).for_each(|(machine, name)| machine.name.clone_from(name));
    names
}

/// What machines are called, whose own names are `own`.
fn names(on: &[String], own: &[String]) -> Vec<String> {
    let is_alone = |name: &String| own.iter().filter(|other| *other == name).count() == 1;
    let names: Vec<String> =
        on.iter().zip(own).map(|(on, own)| if is_alone(own) { own } else { on }.clone()).collect();
    if machine::twice(&names).is_some() { on.to_vec() } else { names }
}

/// The number of the machine that others are measured against: as it was asked for, or as it is called; the first unless said.
pub(crate) fn base(baseline: Option<&str>, on: &[String], names: &[String]) -> Result<usize, Failure> {
    let Some(baseline) = baseline else { return Ok(0) };
    let place = |all: &[String]| all.iter().position(|name| name == baseline);
    place(on).or_else(|| place(names)).ok_or_else(|| {
        Failure::BadInput(format!("--baseline {baseline}: is not among --on {}", on.join(",")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn machines_of_one_name_are_called_by_their_paths() {
        for (on, own, wanted) in [
            ("intel x/mine.toml", "intel mine", "intel mine"),
            ("a/mine.toml b/mine.toml bbb", "mine mine bbb", "a/mine.toml b/mine.toml bbb"),
            ("x/intel.toml intel", "intel intel", "x/intel.toml intel"),
            (
                "mine.toml b/mine.toml c/mine.toml.toml",
                "mine mine mine.toml",
                "mine.toml b/mine.toml c/mine.toml.toml",
            ),
        ] {
            assert_eq!(names(&words(on), &words(own)), words(wanted));
        }
    }

    #[test]
    fn a_member_of_the_family_stays_where_it_comes_first() {
        let family = machine::family();
        let (first, last) = (family[0], family[family.len() - 1]);
        assert_eq!(asked(&words(&format!("family {first}"))).unwrap(), family);
        assert_eq!(asked(&words(&format!("family {last} eadr"))).unwrap()[..family.len()], family);
        let before = asked(&words(&format!("{last} family"))).unwrap();
        assert!(before[0] == last && before[1] == first && before.len() == family.len());
        assert!(asked(&words("family family")).is_err() && asked(&words("eadr eadr")).is_err());
    }

    #[test]
    fn a_baseline_is_named_as_it_was_asked_for_or_as_it_is_called() {
        let (on, names) = (words("x/mine.toml intel"), words("mine intel"));
        for (baseline, wanted) in [(None, 0), (Some("mine"), 0), (Some("x/mine.toml"), 0), (Some("intel"), 1)]
        {
            assert_eq!(base(baseline, &on, &names).unwrap(), wanted);
        }
        assert!(base(Some("bbb"), &on, &names).is_err());
    }
}
