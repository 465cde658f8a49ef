//! Secrets that look like tokens are masked before text of a tool call is filed.
//!
//! By shape only, and with care for code: what is masked has a well-known prefix, is a private key,
//! or is a long literal behind a word like `password`. A secret without a shape stays.

use crate::tree::secrets;

/// What stands where a secret stood.
pub const MASK: &str = "[masked]";

/// Beginnings of tokens beside those of [`secrets::TOKENS`]: with them much else begins that may be masked, but not more.
const PREFIXES: &[(&str, usize)] = &[("sk-", 20), ("pypi-", 30), ("SG.", 30), ("eyJ", 60)];

/// Words that stand before a secret, in lower case.
const WORDS: &[&str] =
    &["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "access_key", "private_key", "authorization"];

fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~')
}

/// Masks what looks like a secret; says how many there were.
#[must_use]
pub fn mask(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        if in_key {
            in_key = !line.contains("-----END ");
            continue;
        }
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            count += 1;
            // The sign of a diff line stays.
            out.extend(line.chars().next().filter(|c| matches!(c, '+' | '-' | ' ')));
            out.push_str(MASK);
            out.push('\n');
            in_key = !line.contains("-----END ");
            continue;
        }
        count += mask_line(line, &mut out);
    }
    (out, count)
}

fn mask_line(line: &str, out: &mut String) -> usize {
    let mut count = 0;
    let mut rest = line;
    let mut before = None::<u8>;
    while !rest.is_empty() {
        // Behind a telling word a value is taken as a whole, whatever characters it is made of.
        let value = if before.is_some_and(|byte| b"=: \t\"'`".contains(&byte)) { value_len(rest) } else { 0 };
        if let Some((value, after)) = (value > 0).then(|| rest.split_at_checked(value)).flatten()
            && (is_random(value) && after_word(line, rest.len()) || is_mixed(value) && after_scheme(line, rest.len()))
        {
            out.push_str(MASK);
            count += 1;
            before = value.bytes().next_back();
            rest = after;
            continue;
        }
        // A token begins where the character before it can't be part of one.
        let starts = before.is_none_or(|byte| !in_token(byte) || byte == b'-');
        let len = if starts { token_len(rest) } else { 0 };
        if let Some((token, after)) = (len > 0).then(|| rest.split_at_checked(len)).flatten() {
            if is_prefixed(token) || (is_random(token) && after_word(line, rest.len())) {
                out.push_str(MASK);
                count += 1;
            } else {
                out.push_str(token);
            }
            before = token.bytes().next_back();
            rest = after;
        } else {
            let Some(c) = rest.chars().next() else { break };
            out.push(c);
            before = rest.as_bytes().get(c.len_utf8() - 1).copied();
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    count
}

fn token_len(rest: &str) -> usize {
    let first = rest.bytes().next();
    if first.is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
        return 0;
    }
    rest.bytes().take_while(|byte| in_token(*byte)).count()
}

/// How long the value is that begins here: up to a blank, a quote or what separates values; the signs
/// that fill up base 64 belong to it.
fn value_len(rest: &str) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`=:,;&()[]{}<>\\".contains(byte);
    let len = rest.bytes().take_while(|byte| !ends(byte)).count();
    if len == 0 { 0 } else { len + rest.bytes().skip(len).take_while(|byte| *byte == b'=').count() }
}

fn is_prefixed(token: &str) -> bool {
    secrets::TOKENS.iter().chain(PREFIXES).any(|(prefix, min)| {
        token.strip_prefix(prefix).is_some_and(|rest| {
            rest.len() >= *min
                // Words joined by hyphens are no token.
                && rest.bytes().any(|byte| byte.is_ascii_digit())
                && rest.bytes().filter(u8::is_ascii_alphanumeric).count() >= *min
                && (*prefix != "eyJ" || rest.matches('.').count() == 2)
        })
    })
}

/// Long, and of several kinds of characters, as no word of a language is.
fn is_random(token: &str) -> bool {
    let has = |test: fn(&u8) -> bool| token.as_bytes().iter().any(test);
    token.len() >= 20
        && token.bytes().filter(u8::is_ascii_digit).count() >= 3
        && has(u8::is_ascii_lowercase)
        && (has(u8::is_ascii_uppercase) || token.bytes().filter(u8::is_ascii_digit).count() >= 6)
}

/// Long, and of both cases, as credentials are.
fn is_mixed(value: &str) -> bool {
    value.len() >= 16 && value.bytes().any(|byte| byte.is_ascii_lowercase()) && value.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// The end of what stands before a value: a long line is not looked through again for each of them.
fn close(before: &str) -> &str {
    let near = before.char_indices().rev().nth(80).map_or(0, |(at, _)| at);
    before.get(near..).unwrap_or_default()
}

/// Whether the name of an authorization scheme stands before the place that is `left` bytes from the
/// end.
fn after_scheme(line: &str, left: usize) -> bool {
    let before = close(line.len().checked_sub(left).and_then(|at| line.get(..at)).unwrap_or_default());
    let word = before.trim_end().to_ascii_lowercase();
    let header = |scheme: &str| word.strip_suffix(scheme).is_some_and(|rest| rest.contains("authorization"));
    before.ends_with(char::is_whitespace) && (word.ends_with("bearer") || header("basic") || header("token"))
}

/// Whether a telling word and `=` or `:` stand before the place that is `left` bytes from the end.
fn after_word(line: &str, left: usize) -> bool {
    let before = line.len().checked_sub(left).and_then(|at| line.get(..at)).unwrap_or_default();
    let before = close(before);
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    let Some(before) = before.strip_suffix(['=', ':']) else { return false };
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ':')).to_ascii_lowercase();
    WORDS.iter().any(|word| before.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joined at run time, so that no scanner takes this file for a leak.
    fn fake(prefix: &str) -> String {
        format!("{prefix}{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    #[test]
    fn tokens_are_masked_where_they_stand() {
        for prefix in ["sk-", "ghp_", "glpat-", "AKIA", "hf_"] {
            for (before, after) in [("+KEY=", "\n"), ("\"", "\","), ("", ""), ("-", "-x \n"), ("https://u:", "@host/\n")] {
                let (text, count) = mask(&format!("{before}{}{after}", fake(prefix)));
                assert_eq!(count, 1, "{before}{prefix}");
                assert!(text.starts_with(before) && !text.contains("a1B2"), "{text}");
            }
        }
        // Characters that no token has, and what a value ends at.
        for (line, masked) in [
            ("AWS_SECRET_ACCESS_KEY=wJal/XUtn1FEMI2K7MDENG/bPx3RfiCY+EXAMPLEKEY\n", "AWS_SECRET_ACCESS_KEY=[masked]\n"),
            ("aws_secret_access_key = /Jal/XUtn1FEMI2K7MDENG/bPx3RfiCY+EXA==\n", "aws_secret_access_key = [masked]\n"),
            ("password: Tr0ub4dor!3!Horse9Battery!7\n", "password: [masked]\n"),
            ("Authorization: Bearer aB3/dE6+gH9jK2mN5pQ8rS1t==\n", "Authorization: Bearer [masked]\n"),
            ("  -H 'authorization: basic dXNlcjpQYXNzMTIz+NDU2Nzg5MA=='\n", "  -H 'authorization: basic [masked]'\n"),
            ("{\"Authorization\": \"Bearer aB3dE6gH9jK2mN5pQ8rS1t\"}\n", "{\"Authorization\": \"Bearer [masked]\"}\n"),
        ] {
            assert_eq!(mask(line), (masked.to_owned(), 1));
        }
        let (text, count) = mask(&format!("password = '{}'\n", fake("")));
        assert_eq!((text.as_str(), count), ("password = '[masked]'\n", 1));
    }

    #[test]
    fn a_private_key_goes_as_a_whole() {
        let key = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
        let (text, count) = mask(&format!("a\n+{key}\n+MIIE\n+-----END RSA KEY-----\nb\n"));
        assert_eq!((text.as_str(), count), ("a\n+[masked]\nb\n", 1));
    }

    #[test]
    fn code_stays_as_it_is() {
        for text in [
            "let token = parse_the_token_of_this_line(input);\n",
            "sk-learn and ghp_ and sk-something-with-words-only\n",
            "password: String,\n",
            "the bearer of this letter, whoever_that_may_be_2024_11_30\n",
            "let url = format!(\"https://host/{path}?a={a}\");\n",
            "token: crate::text::header::Token2026_11_30,\n",
            "commit 3f2a9c0d1e4b5a6978877665544332211ffeeddc\n",
            "src/very/long/path/to/a/File1234567890.rs\n",
            "äöü — ☃ token=\n",
        ] {
            assert_eq!(mask(text), (text.to_owned(), 0));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Text without a secret comes back as it is; nothing panics, and lines stay lines.
        #[test]
        fn any_text(text in "[a-z é\n=:'\"-]{0,80}") {
            proptest::prop_assert_eq!(mask(&text), (text.clone(), 0));
        }

        #[test]
        fn any_bytes(text in proptest::prelude::any::<String>()) {
            let (masked, count) = mask(&text);
            proptest::prop_assert!(count > 0 || masked == text);
        }
    }
}
