//! The source of a template for the library that renders it: what jinja2 reads and the library does not
//! is written as something that it reads and that means the same.

use minijinja::Error;
use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// The filter that stands for the operator `%`, which formats where its left side is a text.
pub(super) const MODULO: &str = "_modulo";

/// A part of the source and what takes its place.
type Edit = (usize, usize, String);

/// The source with line ends of one kind, blocks of `generation` as plain blocks, and a filter for `%`.
///
/// # Errors
/// When it cannot be read as a template.
pub(super) fn adapted(source: &str, syntax: SyntaxConfig) -> Result<String, Error> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = kept_raw_lines(&source);
    let tokens: Vec<(Token<'_>, Span)> =
        tokenize(&source, false, syntax).collect::<Result<_, _>>()?;
    let mut edits: Vec<Edit> = Vec::new();
    for at in 0..tokens.len() {
        let (token, span) = &tokens[at];
        let place = (span.start_offset as usize, span.end_offset as usize);
        let opens = at > 0 && matches!(tokens[at - 1].0, Token::BlockStart);
        match token {
            Token::Ident("generation") if opens => edits.push((place.0, place.1, "with".into())),
            Token::Ident("endgeneration") if opens => {
                edits.push((place.0, place.1, "endwith".into()));
            }
            Token::Mod if binds_its_left(&tokens[..at]) => {
                let last = operand(&tokens, at + 1);
                let end = tokens[last].1.end_offset as usize;
                edits.push((place.0, place.1, format!("|{MODULO}(")));
                edits.push((end, end, ")".into()));
            }
            _ => {}
        }
    }
    // what ends at a place goes before what begins there
    edits.sort_by_key(|(from, to, _)| (*from, *to));
    let (mut out, mut rest) = (String::new(), 0);
    for (from, to, text) in edits {
        out.push_str(&source[rest..from]);
        out.push_str(&text);
        rest = to;
    }
    out.push_str(&source[rest..]);
    Ok(out)
}

/// A line end behind the tag `raw` counts in jinja2, unlike that behind any other; doubled, one of it is left.
fn kept_raw_lines(source: &str) -> String {
    let mut parts = source.split_inclusive("%}\n").map(|part| {
        let tag = part
            .strip_suffix("%}\n")
            .and_then(|part| part.rsplit_once("{%"));
        let raw = tag.is_some_and(|(_, tag)| tag.trim_start_matches(['-', '+']).trim() == "raw");
        format!("{part}{}", if raw { "\n" } else { "" })
    });
    parts.by_ref().collect()
}

/// The change of depth by a bracket.
fn nesting(token: &Token<'_>) -> i32 {
    match token {
        Token::BracketOpen | Token::ParenOpen | Token::BraceOpen => 1,
        Token::BracketClose | Token::ParenClose | Token::BraceClose => -1,
        _ => 0,
    }
}

/// Words that stand between operands.
fn is_word(token: &Token<'_>) -> bool {
    const WORDS: [&str; 9] = ["if", "else", "and", "or", "not", "in", "is", "elif", "set"];
    matches!(token, Token::Ident(word) if WORDS.contains(word))
}

/// Whether what stands before a `%` is one operand, or several of them with `%` between: with a product, a
/// power or a sign the filter would take the last factor alone, and those are numbers anyway.
fn binds_its_left(before: &[(Token<'_>, Span)]) -> bool {
    let mut depth = 0;
    for (i, (token, _)) in before.iter().enumerate().rev() {
        depth -= nesting(token);
        if depth < 0 {
            return true;
        }
        if depth > 0 {
            continue;
        }
        match token {
            Token::Mul | Token::Div | Token::FloorDiv | Token::Pow => return false,
            Token::Plus | Token::Minus => {
                // a sign has no operand before it
                return i > 0 && ends_operand(&before[i - 1].0);
            }
            Token::Ident(_) if !is_word(token) => {}
            Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_) => {}
            Token::Dot | Token::Pipe | Token::Mod => {}
            _ if nesting(token) != 0 => {}
            _ => return true,
        }
    }
    true
}

fn ends_operand(token: &Token<'_>) -> bool {
    let value = matches!(
        token,
        Token::Ident(_)
            | Token::Str(_)
            | Token::String(_)
            | Token::Int(_)
            | Token::Int128(_)
            | Token::Float(_)
    );
    (value && !is_word(token)) || nesting(token) < 0
}

/// The last token of the operand that begins at a place.
fn operand(tokens: &[(Token<'_>, Span)], mut at: usize) -> usize {
    let is = |at: usize, test: &dyn Fn(&Token<'_>) -> bool| {
        tokens.get(at).is_some_and(|(token, _)| test(token))
    };
    while is(at, &|t| matches!(t, Token::Minus | Token::Plus)) {
        at += 1;
    }
    let mut last = close(tokens, at);
    loop {
        let next = last + 1;
        last = if is(next, &|t| matches!(t, Token::Dot | Token::Pipe)) {
            next + 1
        } else if is(next, &|t| {
            matches!(t, Token::BracketOpen | Token::ParenOpen)
        }) {
            close(tokens, next)
        } else if is(next, &|t| matches!(t, Token::Str(_) | Token::String(_))) {
            next
        } else if is(next, &|t| matches!(t, Token::Pow)) {
            return operand(tokens, next + 1);
        } else {
            return last.min(tokens.len() - 1);
        };
    }
}

/// The bracket that closes the one at a place; the place itself where there is none.
fn close(tokens: &[(Token<'_>, Span)], at: usize) -> usize {
    let mut depth = 0;
    for (i, (token, _)) in tokens.iter().enumerate().skip(at) {
        depth += nesting(token);
        if depth <= 0 {
            return i;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(adapted(source, SyntaxConfig::default()).unwrap(), expected);
    }

    #[test]
    fn operators_that_format_become_filters() {
        check("{{ 'a %s' % x }}", "{{ 'a %s' |_modulo( x) }}");
        check("{{ a % (b, 'c') ~ d }}", "{{ a |_modulo( (b, 'c')) ~ d }}");
        check(
            "{{ a.b[0] % c.d|e(f) + 1 }}",
            "{{ a.b[0] |_modulo( c.d|e(f)) + 1 }}",
        );
        check(
            "{{ 1 + a % b % c }}",
            "{{ 1 + a |_modulo( b) |_modulo( c) }}",
        );
        check(
            "{% if (a % -2) == 0 %}50 %{% endif %}",
            "{% if (a |_modulo( -2)) == 0 %}50 %{% endif %}",
        );
        // numbers, by their signs
        for same in [
            "{{ 2 * a % b }}",
            "{{ -a % b }}",
            "{{ x + -a % b }}",
            "{{ '%' }} % {# % #}",
        ] {
            check(same, same);
        }
    }

    #[test]
    fn what_was_generated_is_a_block() {
        check(
            "{%- generation -%}a{% endgeneration %}",
            "{%- with -%}a{% endwith %}",
        );
        check(
            "{{ generation }}{% raw %}{% generation %}{% endraw %}",
            "{{ generation }}{% raw %}{% generation %}{% endraw %}",
        );
    }

    #[test]
    fn line_ends_are_of_one_kind() {
        check("a\r\nb\rc\n", "a\nb\nc\n");
        check(
            "{%- raw %}\nx{% endraw %}\n",
            "{%- raw %}\n\nx{% endraw %}\n",
        );
    }
}
