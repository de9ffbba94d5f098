//! The framing of messages: the header with the length, then JSON.
//!
//! **Invariant:** an invalid message does not end the session; only the end of the stream or a loss of framing does.

use std::io::{self, BufRead, Read, Write};

use lsp_server::Message;
use serde_json::Value;

/// What the client sent.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// A frame without a valid message, and the response to it.
    InvalidFrame(InvalidFrame),
}

/// A frame that holds no message.
#[derive(Debug, PartialEq)]
pub(super) struct InvalidFrame {
    /// The identifier of the request that it may have been, or null.
    pub(super) id: Value,
    /// The code of the error.
    pub(super) code: i32,
    /// What is wrong with it.
    pub(super) message: String,
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// The name of the length header, in lower case.
const LENGTH: &str = "content-length:";
/// The maximum length of a message.
const LONGEST: u64 = 1 << 30;
/// The maximum length of a header line.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads one frame; `None` if the stream ends between two frames.
pub(super) fn read(from: &mut dyn BufRead) -> io::Result<Option<Incoming>> {
    let length = match header(from)? {
        Some(Ok(length)) => length,
        Some(Err(garbage)) => return Ok(Some(Incoming::InvalidFrame(garbage))),
        None => return Ok(None),
    };
    let mut body = Vec::new();
    // The buffer grows as bytes arrive, so that a bogus length costs nothing.
    if from.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let value: Value = match serde_json::from_slice(&body) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("the message is not JSON: {error}");
            return Ok(Some(Incoming::InvalidFrame(InvalidFrame { id: Value::Null, code: PARSE_ERROR, message })));
        }
    };
    let id = value.get("id").cloned().unwrap_or_default();
    let incoming = serde_json::from_value(value).map_or_else(
        |_| {
            let message = "not a request, a response or a notification".to_owned();
            Incoming::InvalidFrame(InvalidFrame { id, code: INVALID_REQUEST, message })
        },
        Incoming::Message,
    );
    Ok(Some(incoming))
}

/// The length in a header. The error is the response to a header without one; reading continues at the next header.
fn header(from: &mut dyn BufRead) -> io::Result<Option<Result<u64, InvalidFrame>>> {
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        if from.take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return if is_first { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        is_first = false;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            let message = "a header without a valid length".to_owned();
            return Ok(Some(length.ok_or(InvalidFrame { id: Value::Null, code: PARSE_ERROR, message })));
        }
        length = length_in(line).or(length);
    }
}

/// Parses a length, if it is acceptable.
fn length_in(line: &str) -> Option<u64> {
    // The text before the header's name is the rest of a frame whose length was missing.
    let at = line.to_ascii_lowercase().rfind(LENGTH)?;
    line.get(at + LENGTH.len()..)?.trim().parse().ok().filter(|length| *length <= LONGEST)
}

/// Writes one frame.
pub(super) fn write(to: &mut dyn Write, body: &str) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(body: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, body).unwrap();
        bytes
    }

    #[test]
    fn frames_are_separated_whatever_their_content() {
        let mut bytes = frame(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#);
        bytes.extend(frame("{nonsense"));
        bytes.extend(frame(r#"{"id":7,"params":3}"#));
        bytes.extend(b"content-length:31\nX-Other: 1\n\n{\"method\":\"exit\",\"params\":null}");
        let mut from = &bytes[..];
        assert!(matches!(read(&mut from).unwrap(), Some(Incoming::Message(Message::Request(_)))));
        let Some(Incoming::InvalidFrame(garbage)) = read(&mut from).unwrap() else {
            panic!("JSON was made of nonsense")
        };
        assert_eq!((garbage.id, garbage.code), (Value::Null, PARSE_ERROR));
        let Some(Incoming::InvalidFrame(garbage)) = read(&mut from).unwrap() else {
            panic!("a message was made of nonsense")
        };
        assert_eq!((garbage.id, garbage.code), (7.into(), INVALID_REQUEST));
        assert!(matches!(read(&mut from).unwrap(), Some(Incoming::Message(Message::Notification(_)))));
        assert!(read(&mut from).unwrap().is_none());
    }

    #[test]
    fn truncated_frames_are_errors() {
        for bytes in ["Content-Length: 99\r\n\r\n{}", "Content-Len"] {
            assert!(read(&mut bytes.as_bytes()).is_err(), "{bytes}");
        }
    }

    #[test]
    fn frames_without_length_do_not_hide_the_next() {
        for start in
            ["\r\n{}", "X: y\r\n\r\n{}", "Content-Length: x\r\n\r\n{}", "Content-Length: 99999999999\r\n\r\n{}"]
        {
            let bytes = [start.as_bytes(), &frame(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#)].concat();
            let mut from = &bytes[..];
            assert!(matches!(read(&mut from).unwrap(), Some(Incoming::InvalidFrame(_))), "{start}");
            assert!(matches!(read(&mut from).unwrap(), Some(Incoming::Message(Message::Request(_)))), "{start}");
        }
    }
}
