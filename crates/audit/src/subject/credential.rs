//! Credentials: by the names of variables, and by the flags and settings of commands.

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

/// Names with these endings describe the location or kind of a secret.
const HARMLESS_ENDS: [&str; 5] = ["FILE", "PATH", "DIR", "METHOD", "TYPE"];

/// Whether a variable, flag or setting of this name is likely to be a secret.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) && !HARMLESS_ENDS.iter().any(|end| name.ends_with(end))
}

/// The values in a command that follow the name of a secret, or that are in the block `tokens`: `-encrypt=…`, `--token
/// …`, `encrypt = "…"`, `export PASSWORD=…`, `"agent": "…"`. The values of variables are not among them.
pub fn secrets_in(command: &str) -> Vec<&str> {
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
            let value = value_at(value_on);
            rest = value_on.get(value.len()..).unwrap_or_default();
            found.extend(Some(value).filter(|value| !value.is_empty() && !value.starts_with(['$', '<', '%'])));
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

fn value_at(text: &str) -> &str {
    let end =
        text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | ';' | '}' | '&' | '|' | ')'));
    text.split_at(end.unwrap_or(text.len())).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consul_s_credentials_sound_secret() {
        for name in CREDENTIALS.into_iter().chain(["DB_PASS", "PWD", "SENTRY_DSN", "BASIC_AUTH", "api-key"]) {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["COLOUR", "TLS_KEY_FILE", "CONSUL_LOGIN_AUTH_METHOD", "CONSUL_HTTP_ADDR"] {
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
            ("curl -H \"X-Consul-Token: abc\" x", &["abc"]),
            ("consul agent -encrypt \"$KEY\" -token-file /token", &[]),
            ("TOKEN=$(cat /token) run", &[]),
        ] {
            assert_eq!(secrets_in(command), secrets, "{command}");
        }
    }
}
