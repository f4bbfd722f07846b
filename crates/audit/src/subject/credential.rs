//! Credentials: by the names of variables, by the flags and settings of commands, and in URLs.

use std::ops::Range;

/// The variables from which Consul's programs read credentials.
pub const CREDENTIALS: [&str; 12] = [
    "AGENT_TOKEN",
    "CONSUL_ACL_TOKEN",
    "CONSUL_BOOTSTRAP_TOKEN",
    "CONSUL_CLIENT_TOKEN",
    "CONSUL_GOSSIP_ENCRYPTION_KEY",
    "CONSUL_GRPC_TOKEN",
    "CONSUL_HTTP_AUTH",
    "CONSUL_HTTP_TOKEN",
    "CONSUL_LICENSE",
    "CONSUL_MANAGEMENT_TOKEN",
    "CONSUL_TOKEN",
    "DP_CREDENTIAL_STATIC_TOKEN",
];

const SECRET_WORDS: [&str; 11] =
    ["AUTH", "CREDENTIAL", "DSN", "ENCRYPT", "KEY", "LICENSE", "PASS", "PRIVATE", "PWD", "SECRET", "TOKEN"];

/// Names with these endings describe the location or kind of a secret, or are settings of go-discover: `tag_key` is the name of a tag.
const HARMLESS_ENDS: [&str; 6] = ["FILE", "PATH", "DIR", "METHOD", "TYPE", "TAG_KEY"];

/// Whether a variable, flag or setting of this name is likely to be a secret.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) && !HARMLESS_ENDS.iter().any(|end| name.ends_with(end))
}

/// The values in a command that follow the name of a secret, or that are in the block `tokens`: `-encrypt=…`, `--token
/// …`, `encrypt = "…"`, `export PASSWORD=…`, `"agent": "…"`. The values of variables are not among them.
pub fn secrets_in(command: &str) -> Vec<&str> {
    secret_spans(command).into_iter().filter_map(|span| command.get(span)).collect()
}

/// Where in a text the values are that [`secrets_in`] finds, in order.
pub fn secret_spans(command: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = command;
    let mut is_in_tokens = false;
    while let Some(start) = rest.find(|c: char| is_of_a_name(c) || c == '}') {
        let from = rest.get(start..).unwrap_or_default();
        if let Some(after) = from.strip_prefix('}') {
            (is_in_tokens, rest) = (false, after);
            continue;
        }
        let (name, after) = from.split_at(from.find(|c| !is_of_a_name(c)).unwrap_or(from.len()));
        rest = after;
        let Some(value_on) = value_after(name, after) else { continue };
        if value_on.starts_with('{') {
            is_in_tokens = name == "tokens";
        } else if is_in_tokens || sounds_secret(name) {
            let start = command.len() - value_on.len();
            let quote = command.get(..start).and_then(|before| before.chars().last());
            let value = value_at(value_on, quote.filter(|c| matches!(c, '"' | '\'')));
            rest = value_on.get(value.len()..).unwrap_or_default();
            let is_value = !value.is_empty() && !value.starts_with(['$', '<', '%']);
            found.extend(is_value.then_some(start..start + value.len()));
        }
    }
    found
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The text that begins with the value of `name`, if there is one.
fn value_after<'t>(name: &str, after: &'t str) -> Option<&'t str> {
    let quotes = ['"', '\'', '\\'];
    let unquoted = after.trim_start_matches(quotes);
    let blanks_gone = unquoted.trim_start();
    if let Some(value) = blanks_gone.strip_prefix(['=', ':']) {
        // After `::` or `==`, there is no value.
        return Some(value.trim_start_matches([' ', '\t']).trim_start_matches(quotes));
    }
    if blanks_gone.starts_with('{') {
        return Some(blanks_gone);
    }
    let is_flag = name.starts_with('-') && unquoted.len() > blanks_gone.len();
    let value = blanks_gone.trim_start_matches(['\\', '\n', '\r', ' ', '\t', '"', '\'']);
    (is_flag && !value.starts_with('-')).then_some(value)
}

/// The value with which a text begins; in quotes, it ends at the next one.
fn value_at(text: &str, quote: Option<char>) -> &str {
    let is_end = |c: char| match quote {
        Some(quote) => c == quote || matches!(c, '\\' | '\n'),
        None => c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | ';' | '}' | '&' | '|' | ')'),
    };
    text.split_at(text.find(is_end).unwrap_or(text.len())).0
}

/// Where the passwords in `scheme://user:password@host` are.
pub fn passwords_in_urls(text: &str) -> Vec<Range<usize>> {
    let url = |(at, scheme_end): (usize, &str)| {
        let start = at + scheme_end.len();
        let rest = text.get(start..)?;
        let url = rest.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '<' | '>')).next()?;
        // A password may contain slashes, a port may not: after a slash, a colon does not begin a password.
        let credentials = url.get(..url.rfind('@')?)?;
        let colon =
            credentials.find([':', '/']).filter(|at| credentials.get(*at..).is_some_and(|c| c.starts_with(':')))?;
        Some(start + colon + 1..start + credentials.len())
    };
    text.match_indices("://").filter_map(url).filter(|span| !span.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consul_s_credentials_sound_secret() {
        for name in CREDENTIALS.into_iter().chain(["DB_PASS", "PWD", "SENTRY_DSN", "BASIC_AUTH", "api-key"]) {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["COLOUR", "TLS_KEY_FILE", "CONSUL_LOGIN_AUTH_METHOD", "CONSUL_HTTP_ADDR", "tag_key"] {
            assert!(!sounds_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_of_commands_are_found() {
        for (command, secrets) in [
            ("exec consul agent -encrypt=pUqJr+/= -client 127.0.0.1", &["pUqJr+/="][..]),
            ("consul agent -encrypt pUqJr", &["pUqJr"]),
            ("login\n-token\nabc-def", &["abc-def"]),
            ("consul login --token \\\n  \"abc\" -x", &["abc"]),
            ("encrypt = \"key\"\nencrypt_verify_incoming = true", &["key", "true"]),
            ("acl {\n tokens {\n  agent = \"one\"\n  default=\"two\"\n }\n policy = \"write\"\n}", &["one", "two"]),
            (r#"{"acl": {"tokens": {"agent": "one"}, "down": "deny"}, "encrypt": "key"}"#, &["one", "key"]),
            ("export DB_PASS='s3c'; run", &["s3c"]),
            ("export DB_PASS='two words'; run", &["two words"]),
            (r#"{"password": "a, b", "user": "c"}"#, &["a, b"]),
            (r#"echo "{\"token\": \"abc\", \"x\": 1}" > y"#, &["abc"]),
            ("curl -H \"X-Consul-Token: abc\" x", &["abc"]),
            ("consul agent -encrypt \"$KEY\" -token-file /token", &[]),
            ("TOKEN=$(cat /token) run", &[]),
            ("retry_join = [\"provider=aws tag_key=consul tag_value=server secret_access_key=abc\"]", &["abc"]),
        ] {
            assert_eq!(secrets_in(command), secrets, "{command}");
        }
    }

    #[test]
    fn a_url_s_password_ends_at_the_last_at_sign() {
        let urls = |text: &str| {
            passwords_in_urls(text).into_iter().filter_map(|span| text.get(span).map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(urls("postgres://u:s3cr3tpw@db/x, redis://:p@ss/w@h:1"), ["s3cr3tpw", "p@ss/w"]);
        assert!(urls("http://host:80/x http://u@h https://h/a:b@c").is_empty());
    }
}
