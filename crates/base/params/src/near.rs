//! Names that were probably meant.

/// The words of `known` nearest to `word`, at most three, for a message about an unknown name.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = &word.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = known.into_iter().map(|k| (distance(word, k), k)).collect();
    ranked.sort();
    // What was only written in other letters, nothing else is meant.
    if let Some((0, same)) = ranked.first() {
        return vec![same];
    }
    // A third of its letters: more than that is another word.
    let limit = (word.len() + 1).max(3) / 3;
    ranked.into_iter().filter(|(d, k)| *d <= limit || k.contains(word)).take(3).map(|(_, k)| k).collect()
}

/// Levenshtein's edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearest_does_not_hang_on_the_case_of_letters() {
        assert_eq!(nearest("CCEH", ["queue", "cceh", "echo"]), ["cceh"]);
        assert_eq!(nearest("PMEM", ["queue"]), [""; 0]);
    }

    #[test]
    fn the_nearest_names_are_offered() {
        assert_eq!(nearest("asap-rb", ["intel", "asap-rp", "asap-ep"]), ["asap-rp", "asap-ep"]);
        assert!(nearest("zzzzzz", ["intel"]).is_empty());
        assert!(nearest("nope", ["copy", "echo"]).is_empty());
        assert_eq!(nearest("ecko", ["copy", "echo"]), ["echo"]);
        assert_eq!(nearest("asapp", ["asap-ep", "eadr"]), ["asap-ep"]);
    }
}
