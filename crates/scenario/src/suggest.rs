//! Suggestions: "did you mean …?"

/// Maximum length of names that are compared, in characters. The limit keeps suggestions cheap for
/// any file.
const NAME_MAX_CHARS: usize = 64;
const LISTED_MAX: usize = 40;

/// Name most similar to `word`; `None` if more than a third of its letters differ.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short = |text: &str| text.chars().nth(NAME_MAX_CHARS).is_none();
    if !short(word) {
        return None;
    }
    let word = word.to_lowercase();
    let scored = names.into_iter().filter(|name| short(name)).filter_map(|name| {
        let distance = strsim::damerau_levenshtein(&word, &name.to_lowercase());
        let length = word.chars().count().max(name.chars().count());
        (distance * 3 <= length).then_some((distance, name))
    });
    scored.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// `; did you mean "delay"?`, or an empty string.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}

/// List of names for a message. A long list is shortened, and ends with the number of further
/// names.
pub fn join_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<&str> = names.by_ref().take(LISTED_MAX).collect();
    if shown.is_empty() {
        return "none".into();
    }
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_only() {
        let names = ["delay", "rate", "reno"];
        assert_eq!(nearest("dely", names), Some("delay"));
        assert_eq!(nearest("Reno", names), Some("reno"));
        assert_eq!(nearest("queue", names), None);
        assert_eq!(nearest(&"x".repeat(1000), names), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..46).map(|i| i.to_string()).collect();
        assert!(join_names(names.iter().map(String::as_str)).ends_with("38, 39 and 6 more"));
        assert_eq!(join_names([]), "none");
    }
}
