//! Which texts and numbers ECS accepts.

use document::{Node, Value};

use super::{limits::is_no_region, shapes::Accepts};

/// Whether another program may replace a value: `$TAG`, `__IMAGE__`, `%IMAGE%`, `@image@`, `#IMAGE#`, `~image~`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let is_between = |mark: char| text.matches(mark).count() > 1;
    let has_mark = text.contains(['$', '<', '{', '%', '@']) && !text.contains("@sha256:");
    has_mark || text.starts_with("__") || is_between('#') || is_between('~')
}

impl Accepts {
    /// Whether a value has the type of the key, or may have it.
    pub(super) fn suits(&self, node: &Node) -> bool {
        match (self, &node.value) {
            (Self::Any, _) | (_, Value::Null | Value::Unknown) => true,
            (Self::Map(_) | Self::Union(_) | Self::Options | Self::OptionsOf(_) | Self::LogOptions, value) => {
                matches!(value, Value::Map(_))
            }
            (
                Self::Maps(_) | Self::Items(_) | Self::EachOf(_) | Self::EachKnown(_) | Self::Texts | Self::Counted(..),
                value,
            ) => matches!(value, Value::List(_)),
            (_, value) => !matches!(value, Value::Map(_) | Value::List(_)),
        }
    }

    /// Whether ECS accepts a text or a number, or may do so.
    pub(super) fn accept(&self, text: &str) -> bool {
        match self {
            Self::Any
            | Self::Options
            | Self::OptionsOf(_)
            | Self::LogOptions
            | Self::Map(_)
            | Self::Maps(_)
            | Self::Items(_)
            | Self::Union(_)
            | Self::Texts
            | Self::Counted(..) => true,
            Self::Written(least, most) => {
                u64::try_from(text.chars().count()).is_ok_and(|count| (*least..=*most).contains(&count))
            }
            Self::Flag => ["true", "false"].contains(&text),
            Self::OneOf(words) | Self::Known(words) | Self::EachOf(words) | Self::EachKnown(words) => {
                words.contains(&text)
            }
            Self::Whole(least, most) => {
                let whole = text.strip_suffix(".0").unwrap_or(text).parse::<u64>();
                whole.is_ok_and(|number| (*least..=*most).contains(&number))
            }
            Self::Name => (1..=255).contains(&text.len()) && text.bytes().all(is_of_name),
            Self::PortName => {
                let has_case = text.bytes().any(|byte| byte.is_ascii_uppercase());
                (1..=64).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(is_of_name) && !has_case
            }
            Self::PortRange => is_port_range(text),
            Self::Image => is_image(text),
            // Windows has drives.
            Self::PathOrNone => text.is_empty() || Self::Path.accept(text),
            Self::Path => text.starts_with('/') || text.get(1..2) == Some(":"),
            Self::Begins(starts) => starts.iter().any(|start| text.starts_with(start)) || is_word(text),
            Self::VariableFile => is_variable_file(text) || is_word(text),
            Self::Region => !is_no_region(text),
            Self::Size => is_size(text),
        }
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Whether it is one word in capital letters, which another program replaces.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/use-environment-file.html>
fn is_variable_file(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    match parts.as_slice() {
        ["arn", _, "s3", "", "", object] => {
            object.split_once('/').is_some_and(|(_, key)| key.rsplit('.').next() == Some("env"))
        }
        _ => false,
    }
}

/// Source: <https://pkg.go.dev/github.com/docker/go-units#RAMInBytes>
fn is_size(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start().to_ascii_lowercase();
    let scale = unit.trim_end_matches('b').trim_end_matches('i');
    number.parse::<f64>().is_ok() && ["", "k", "m", "g", "t", "p"].contains(&scale)
}

fn is_port_range(text: &str) -> bool {
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let ends = text.split_once('-').map(|(first, last)| (port(first), port(last)));
    matches!(ends, Some((Some(first), Some(last))) if first <= last)
}

/// Whether a text may be the reference of an image. Source: <https://pkg.go.dev/github.com/distribution/reference>
fn is_image(text: &str) -> bool {
    let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
    let (path, tag) = match name.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (name, None),
    };
    // A first part with a capital letter is a host.
    let is_of_host = |c: char| matches!(c, '.' | ':') || c.is_ascii_uppercase();
    let repository = path.split_once('/').filter(|(host, _)| host.contains(is_of_host)).map_or(path, |(_, rest)| rest);
    let is_of_tag = |byte: u8| is_of_name(byte) || byte == b'.';
    let is_part = |part: &str| {
        let has_case = part.bytes().any(|byte| byte.is_ascii_uppercase());
        !part.is_empty() && part.bytes().all(is_of_tag) && (!has_case || is_word(part))
    };
    repository.split('/').all(is_part)
        && tag.is_none_or(|tag| (1..=128).contains(&tag.len()) && tag.bytes().all(is_of_tag))
        && digest.is_none_or(|digest| digest.split_once(':').is_some_and(|(_, hash)| !hash.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_images_are_told_from_other_texts() {
        for image in [
            "web",
            "example/web:1.4.2",
            "localhost:5000/team/web:v1",
            "123456789012.dkr.ecr.us-east-1.amazonaws.com/Team_web/web@sha256:0123456789abcdef",
            "WEB_IMAGE",
            "public.ecr.aws/hashicorp/consul-ecs:0.10.1",
            "Registry/web:1",
        ] {
            let lower = image.replace("Team", "team");
            assert!(is_image(&lower), "{lower}");
        }
        for text in [
            "",
            "example/web:",
            "example/Web:1",
            "Registry/Web:1",
            "https://example.com/web:1",
            "web 1",
            "example//web:1",
        ] {
            assert!(!is_image(text), "{text}");
        }
    }

    #[test]
    fn ranges_of_ports_rise() {
        for (text, is_range) in
            [("8000-8010", true), ("80", false), ("8010-8000", false), ("0-10", false), ("1-70000", false)]
        {
            assert_eq!(is_port_range(text), is_range, "{text}");
        }
    }
}
