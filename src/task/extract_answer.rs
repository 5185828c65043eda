//! Takes the answer out of a completion: what stands in its last pair of `<answer>` tags.
//!
//! The rules are reasoning-gym's, to the letter: tags are case sensitive and have no attributes, an
//! opening tag inside an answer is part of it, and empty tags hold an empty answer.

use super::python_text::{is_space, strip};

/// The text between the last `<answer>` and `</answer>`, without white space around it; `None` without such tags.
pub fn extract_answer(completion: &str) -> Option<String> {
    last_tagged(completion, "answer").map(|text| strip(text).to_owned())
}

/// What stands in the last pair of tags, less one white-space character at either end.
///
/// Goes through the text once: an opening tag reaches to the first closing tag after it.
fn last_tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text;
    let mut found = None;
    while let Some((_, after_open)) = rest.split_once(&open) {
        let Some((inside, after_close)) = after_open.split_once(&close) else {
            break;
        };
        found = Some(inside);
        rest = after_close;
    }
    let inside = found?;
    let inside = inside.strip_prefix(is_space).unwrap_or(inside);
    Some(inside.strip_suffix(is_space).unwrap_or(inside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_golden_case() {
        let cases = include_str!("../../tests/golden/extract_answer.jsonl");
        for line in cases.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let completion = case["completion"].as_str().unwrap();
            let raw = last_tagged(completion, case["tag"].as_str().unwrap());
            assert_eq!(raw, case["raw"].as_str(), "{line}");
            assert_eq!(raw.map(strip), case["stripped"].as_str(), "{line}");
            if case["tag"] == "answer" {
                assert_eq!(
                    extract_answer(completion).as_deref(),
                    case["stripped"].as_str(),
                    "{line}"
                );
            }
        }
        assert_eq!(cases.lines().count(), 29);
    }

    #[test]
    fn white_space_is_pythons() {
        assert_eq!(
            extract_answer("<answer>\u{1f}\u{a0}5\u{1c}</answer>").as_deref(),
            Some("5")
        );
    }

    #[test]
    fn long_texts_take_linear_time() {
        let many = 200_000;
        assert_eq!(extract_answer(&"<answer>".repeat(many)), None);
        assert_eq!(extract_answer(&"</answer>".repeat(many)), None);
        assert_eq!(extract_answer(&"<".repeat(many)), None);
        assert_eq!(
            extract_answer(&"<answer> </answer>".repeat(many)).as_deref(),
            Some("")
        );
        let spaces = format!("<answer>{}5</answer>", " ".repeat(many));
        assert_eq!(extract_answer(&spaces).as_deref(), Some("5"));
    }
}
