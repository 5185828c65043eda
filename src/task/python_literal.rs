//! Reads a matrix written as nested lists or tuples, as Python source has them, without evaluating anything.
//!
//! Integers and plain strings are values; brackets may hold line breaks, comments and a last comma.

/// Python's tokenizer allows no more brackets inside one another.
const DEEPEST: usize = 200;

/// A literal: an integer in decimal digits, a string, or a list or tuple.
enum Literal<'a> {
    Integer(&'a str),
    Text(&'a str),
    Sequence(Vec<Literal<'a>>),
}

/// The rows of a nested list, a line each, with single spaces between the cells; `None` for anything else.
///
/// A string counts as the sequence of its characters.
pub(super) fn rows(text: &str) -> Option<String> {
    let mut reader = Reader {
        rest: text,
        depth: 0,
    };
    reader.skip_blank(true);
    let literal = reader.item_or_tuple(None)?;
    reader.skip_blank(true);
    if !reader.rest.is_empty() {
        return None;
    }
    let rows: Option<Vec<String>> = match literal {
        Literal::Sequence(rows) => rows.iter().map(row).collect(),
        Literal::Text(text) => Some(text.chars().map(String::from).collect()),
        Literal::Integer(_) => None,
    };
    Some(rows?.join("\n"))
}

fn row(literal: &Literal) -> Option<String> {
    let cell = |cell: &Literal| match cell {
        Literal::Integer(text) | Literal::Text(text) => Some((*text).to_owned()),
        Literal::Sequence(_) => None,
    };
    let cells: Vec<String> = match literal {
        Literal::Sequence(cells) => cells.iter().map(cell).collect::<Option<_>>()?,
        Literal::Text(text) => text.chars().map(String::from).collect(),
        Literal::Integer(_) => return None,
    };
    Some(cells.join(" "))
}

/// What is left to read, and the number of open brackets.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Skips spaces and a comment; line breaks and more comments inside brackets or where `lines` says so.
    fn skip_blank(&mut self, lines: bool) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\u{c}']);
            if self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            }
            if !(lines || self.depth > 0) || !self.rest.starts_with(['\n', '\r']) {
                return;
            }
            self.rest = &self.rest[1..];
        }
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// One item, or a tuple where a comma follows it, up to `close` (not eaten) or the end of the line.
    fn item_or_tuple(&mut self, close: Option<char>) -> Option<Literal<'a>> {
        let first = self.item()?;
        self.skip_blank(false);
        if !self.rest.starts_with(',') {
            return Some(first);
        }
        let mut items = vec![first];
        self.more_items(&mut items, close)?;
        Some(Literal::Sequence(items))
    }

    /// Items that each follow a comma, and perhaps a last comma.
    fn more_items(&mut self, items: &mut Vec<Literal<'a>>, close: Option<char>) -> Option<()> {
        while self.eat(',') {
            self.skip_blank(false);
            let ended = match close {
                Some(close) => self.rest.starts_with(close),
                None => self.rest.is_empty() || self.rest.starts_with(['\n', '\r']),
            };
            if ended {
                break;
            }
            items.push(self.item()?);
            self.skip_blank(false);
        }
        Some(())
    }

    fn item(&mut self) -> Option<Literal<'a>> {
        let first = self.rest.chars().next()?;
        match first {
            '[' => self.bracketed(']'),
            '(' => self.bracketed(')'),
            '\'' | '"' => {
                let (text, rest) = self.rest[1..].split_once(first)?;
                self.rest = rest;
                (!text.contains(['\n', '\r', '\\'])).then_some(Literal::Text(text))
            }
            _ => self.integer(),
        }
    }

    /// Digits without leading zeros; all zeros is the integer 0.
    fn integer(&mut self) -> Option<Literal<'a>> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        match digits.trim_start_matches('0') {
            "" if !digits.is_empty() => Some(Literal::Integer("0")),
            significant if significant == digits && !digits.is_empty() => {
                Some(Literal::Integer(digits))
            }
            _ => None,
        }
    }

    fn bracketed(&mut self, close: char) -> Option<Literal<'a>> {
        self.rest = &self.rest[1..];
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        self.skip_blank(true);
        let literal = if self.rest.starts_with(close) {
            Literal::Sequence(Vec::new())
        } else if close == ')' {
            self.item_or_tuple(Some(close))?
        } else {
            let mut items = vec![self.item()?];
            self.skip_blank(true);
            self.more_items(&mut items, Some(close))?;
            Literal::Sequence(items)
        };
        let closed = self.eat(close);
        self.depth -= 1;
        closed.then_some(literal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_python_reads() {
        for form in [
            "[[0, 1], [1, 0]]",
            " [[0,1],[1,0]]\n",
            "((0, 1), (1, 0),)",
            "[0,1],[1,0]",
            "[0,1],[1,0],  # done",
            "[['0', '1'], [\"1\", '0']]",
            "['01', '10']",
            "[\n [0, # first\n 1,\n ],\n\n [1, 00]]",
            "(([(0), 1], [1, 0]))",
        ] {
            assert_eq!(rows(form).as_deref(), Some("0 1\n1 0"), "{form:?}");
        }
        assert_eq!(rows("'0'").as_deref(), Some("0"));
        assert_eq!(rows("[]").as_deref(), Some(""));
    }

    #[test]
    fn forms_that_it_does_not() {
        for form in [
            "",
            "0",
            "0 1\n1 0",
            "[[0, 1], [1, 0]",
            "[[0, 1], [1, 0]];",
            "[[0 1]]",
            "[[0.0]]",
            "[[01]]",
            "[0,1]\n[1,0]",
            "[[0],,[1]]",
            "[,]",
            "[[0]] x",
            "\u{a0}[[0]]",
            "[[[0]]]",
            "[0]",
            "['\\x30']",
            "['0",
            "(",
            "[",
            "exit()",
        ] {
            assert_eq!(rows(form), None, "{form:?}");
        }
        assert_eq!(rows(&"[".repeat(100_000)), None);
        assert_eq!(rows(&"(".repeat(100_000)), None);
    }
}
