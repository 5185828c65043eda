//! Scores that several tasks share.

use super::python_text;

/// The default score of reasoning-gym: 1 for the very text of the oracle, the share of the answer
/// that the oracle makes up where it stands in it, else 0.
pub(super) fn containment(oracle: &str, answer: &str) -> f64 {
    if oracle.is_empty() || answer.len() <= oracle.len() {
        f64::from(answer == oracle && !oracle.is_empty())
    } else if contains(answer, oracle) {
        oracle.chars().count() as f64 / answer.chars().count() as f64
    } else {
        0.0
    }
}

/// True where the part stands in the text: `str::contains`, without its preparations for a part of
/// some ten characters.
fn contains(text: &str, part: &str) -> bool {
    let Some((head, tail)) = part
        .as_bytes()
        .split_first_chunk::<8>()
        .filter(|_| part.len() < 128)
    else {
        return text.contains(part);
    };
    let head = u64::from_ne_bytes(*head);
    let starts = |at: &[u8]| {
        at.first_chunk()
            .is_some_and(|first| u64::from_ne_bytes(*first) == head)
    };
    text.as_bytes()
        .windows(part.len())
        .any(|at| starts(at) && at[8..] == *tail)
}

/// 1 where both texts are the same integer, however it is written, else 0.
pub(super) fn same_integer(oracle: &str, answer: &str) -> f64 {
    let read = |text: &str| {
        let text = python_text::strip(text);
        match text.strip_prefix('\u{2212}') {
            Some(digits) if digits.starts_with(|c| python_text::digit(c).is_some()) => {
                python_text::int(digits).map(|n| -n)
            }
            _ => python_text::int(text),
        }
    };
    match (read(oracle), read(answer)) {
        (Some(oracle), Some(answer)) if oracle == answer => 1.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containment_by_hand() {
        let check = |oracle: &str, answer: &str, expected: f64| {
            assert!(
                (containment(oracle, answer) - expected).abs() < 1e-12,
                "{oracle:?} {answer:?}"
            );
        };
        check("5", "5", 1.0);
        check("5", " 5 ", 1.0 / 3.0);
        check("5", "The answer is 5.", 1.0 / 16.0);
        check("5", "15", 0.5);
        check("5", "é5", 0.5);
        check("5", "", 0.0);
        check("ff", "FF", 0.0);
        check("", "", 0.0);
        check("", "x", 0.0);
    }

    #[test]
    fn the_same_integer_in_many_forms() {
        for form in ["-5", " -5\n", "-05", "-0_5", "−5"] {
            assert!(same_integer("-5", form) > 0.0, "{form:?}");
        }
        assert!(same_integer("0", "-0") > 0.0 && same_integer("7", "+007") > 0.0);
        for form in ["5", "", "-5.", "-5.0", "-5 -5", "x-5", "−-5", "-−5", "− 5"] {
            assert!(same_integer("-5", form) == 0.0, "{form:?}");
        }
    }
}
