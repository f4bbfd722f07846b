//! Addresses within a task that environment variables name: at `http://localhost:1234`, a proxy may listen for an upstream.

use std::fmt;

/// An address within a task, in the value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalAddress {
    /// The variable. Its value is not kept, because it may contain a secret.
    pub variable: String,
    pub host: LocalHost,
    pub port: u16,
}

/// How a value names the task itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalHost {
    /// `localhost`, which may mean either address.
    Name,
    V4,
    V6,
}

impl LocalHost {
    const ALL: [Self; 3] = [Self::Name, Self::V4, Self::V6];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "localhost",
            Self::V4 => "127.0.0.1",
            Self::V6 => "[::1]",
        }
    }
}

impl fmt::Display for LocalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host.as_str(), self.port)
    }
}

impl LocalAddress {
    /// The addresses with a port in the value of a variable.
    pub fn in_value(variable: &str, value: &str) -> Vec<Self> {
        let of_host = |host: LocalHost| value.match_indices(host.as_str()).map(move |(at, _)| (at, host));
        let named = LocalHost::ALL.into_iter().flat_map(of_host).filter_map(|(at, host)| {
            let (before, rest) = value.split_at_checked(at)?;
            let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-');
            let rest = rest.strip_prefix(host.as_str())?.strip_prefix(':').filter(|_| is_whole)?;
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let port = rest.get(..digits)?.parse().ok().filter(|port| *port != 0)?;
            Some(Self { variable: variable.to_owned(), host, port })
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_the_task_is_found_in_a_value_and_another_is_not() {
        let found = |value: &str| {
            let found = LocalAddress::in_value("URL", value);
            found.iter().map(ToString::to_string).collect::<Vec<String>>().join(" ")
        };
        assert_eq!(found("http://localhost:1234/v1"), "localhost:1234");
        assert_eq!(found("127.0.0.1:1234"), "127.0.0.1:1234");
        assert_eq!(found("postgres://web:secret@127.0.0.1:5432/orders?x=[::1]:80"), "127.0.0.1:5432 [::1]:80");
        for value in
            ["http://localhost/v1", "localhost:0", "localhost:99999", "mylocalhost:1", "1127.0.0.1:1", "api:80", ""]
        {
            assert_eq!(found(value), "", "{value}");
        }
    }
}
