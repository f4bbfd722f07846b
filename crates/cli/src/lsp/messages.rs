//! Messages of an editor, in frames of a limited size.

use std::io::{self, BufRead, Read};

use lsp_server::Message;

/// The most bytes of a message: a text of 32 MiB, the largest that is checked, in JSON's escapes.
const LONGEST: u64 = 128 * 1024 * 1024;

/// The most bytes of the lines before a message.
const HEADER: u64 = 8 * 1024;

/// Reads a message; `None` at the end of the input.
pub(super) fn read(input: &mut dyn BufRead) -> io::Result<Option<Message>> {
    let Some(length) = length(&mut input.take(HEADER))? else { return Ok(None) };
    if length > LONGEST {
        return Err(invalid(format!("a message of {length} bytes: the limit is {LONGEST}")));
    }
    // Memory grows with what arrives, not with what is announced.
    let mut text = Vec::new();
    if input.take(length).read_to_end(&mut text)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let message = serde_json::from_slice(&text).map_err(|error| invalid(format!("a message that is none: {error}")))?;
    Ok(Some(message))
}

/// The `Content-Length` of the next message; `None` at the end of the input. Source:
/// <https://microsoft.github.io/language-server-protocol/specifications/base/0.9/specification/#headerPart>
fn length(header: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = String::new();
        let read = header.read_line(&mut line)?;
        if read == 0 && is_first {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix("\r\n") else { return Err(invalid("a header without its end".to_owned())) };
        if line.is_empty() {
            return length.map(Some).ok_or_else(|| invalid("a message without Content-Length".to_owned()));
        }
        is_first = false;
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid("a header without a colon".to_owned()));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            let number =
                value.trim().parse().map_err(|_| invalid("Content-Length is no number of bytes".to_owned()))?;
            length = Some(number);
        }
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: &str, text: &str) -> String {
        format!("Content-Length: {length}\r\n\r\n{text}")
    }

    fn error(text: &str) -> String {
        read(&mut text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn messages_follow_each_other() {
        let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let framed = frame(&exit.len().to_string(), exit);
        let text = format!("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n{framed}{framed}");
        let mut input = text.as_bytes();
        for _ in 0..2 {
            assert!(matches!(read(&mut input).unwrap(), Some(Message::Notification(note)) if note.method == "exit"));
        }
        assert!(read(&mut input).unwrap().is_none());
    }

    #[test]
    fn the_announced_length_takes_no_memory() {
        assert!(error(&frame("99999999999999", "{}")).contains("the limit is"));
        assert!(error(&frame("99999999999999999999999", "{}")).contains("no number of bytes"));
        assert!(error(&frame("-1", "{}")).contains("no number of bytes"));
        // Within the limit, but never sent.
        assert_eq!(read(&mut frame("100000000", "{}").as_bytes()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(error(&"x".repeat(100_000)).contains("without its end"));
        assert!(error("\r\n{}").contains("without Content-Length"));
        assert!(error(&frame("3", "abc")).contains("a message that is none"));
    }
}
