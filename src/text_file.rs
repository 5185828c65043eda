//! Text and JSON as people bring them: with a byte order mark or none, with any line ends, with the
//! numbers that Python writes and JSON does not know. It knows nothing of what the texts say.

use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// What some editors put before a text in UTF-8.
const MARK: char = '\u{feff}';

/// The text of a file, without a byte order mark.
///
/// # Errors
/// When the file cannot be read or is not UTF-8.
pub fn read(file: &Path) -> Result<String> {
    decode(std::fs::read(file)?)
}

/// Text in UTF-8, without a byte order mark.
///
/// # Errors
/// When it is in another encoding.
pub fn decode(bytes: Vec<u8>) -> Result<String> {
    let wrong = |what: &str| Error::new(ErrorKind::InvalidData, what.to_owned());
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(wrong("found UTF-16, expected UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|e| wrong(&format!("expected UTF-8: {e}")))?;
    Ok(match text.strip_prefix(MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// The lines of a text that say something, each with its number, the first being 1. A line ends with
/// `\n` or `\r\n`, since all other separators that Unicode knows may stand within one; the last may have no end.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mark = MARK.len_utf8() * usize::from(bytes.starts_with(MARK.to_string().as_bytes()));
    let lines = bytes[mark..].split(|byte| *byte == b'\n').enumerate();
    lines
        .map(|(i, line)| (i + 1, line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// JSON as Python's library reads it, where `NaN` and the infinities are numbers; here they are null.
///
/// # Errors
/// When it is malformed or does not fit the type.
pub fn json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(&without_constants(text))
}

/// Null in the place of the constants that only Python knows.
fn without_constants(text: &str) -> Cow<'_, str> {
    const CONSTANTS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    if !CONSTANTS.iter().any(|name| text.contains(name)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest, mut quoted) = (String::new(), text, false);
    while let Some(c) = rest.chars().next() {
        let constant = CONSTANTS.iter().find(|name| rest.starts_with(**name));
        let (taken, put) = match (quoted, constant) {
            (false, Some(name)) => (name.len(), "null"),
            // what is escaped ends no string
            (true, _) if c == '\\' => {
                let next = rest[1..].chars().next().map_or(0, char::len_utf8);
                (1 + next, &rest[..1 + next])
            }
            _ => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        quoted ^= c == '"';
        out.push_str(put);
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_left_out_and_other_encodings_named() {
        assert_eq!(decode("\u{feff}a\u{feff}b".into()).unwrap(), "a\u{feff}b");
        assert_eq!(decode("a\r\nb".into()).unwrap(), "a\r\nb");
        let utf16: Vec<u8> = [0xfeff_u16, 0x61]
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        let message = decode(utf16).unwrap_err().to_string();
        assert_eq!(message, "found UTF-16, expected UTF-8");
        assert!(decode(vec![b'a', 0xff]).is_err());
    }

    #[test]
    fn lines_have_any_end_and_keep_their_numbers() {
        let found = |text: &str| {
            lines(text.as_bytes())
                .map(|(i, line)| (i, String::from_utf8(line.to_vec()).unwrap()))
                .collect::<Vec<_>>()
        };
        let expected = vec![(1, "a\u{2028}b".to_owned()), (3, "c".to_owned())];
        for text in [
            "a\u{2028}b\n\nc\n",
            "\u{feff}a\u{2028}b\r\n \r\nc\r\n",
            "a\u{2028}b\n\nc",
        ] {
            assert_eq!(found(text), expected, "{text:?}");
        }
        assert!(found("").is_empty() && found("\u{feff}").is_empty());
    }

    #[test]
    fn numbers_that_only_python_knows_are_null() {
        let text =
            r#"{"a": NaN, "b": [-Infinity, Infinity, -1], "c": "NaN \" Infinity", "d\\": NaN}"#;
        let value: serde_json::Value = json(text).unwrap();
        let expected = serde_json::json!({"a": null, "b": [null, null, -1], "c": "NaN \" Infinity", "d\\": null});
        assert_eq!(value, expected);
        assert!(json::<serde_json::Value>("{\"a\": nan}").is_err());
        assert_eq!(json::<f64>("0.1").unwrap(), 0.1);
    }
}
