//! The framing of messages: the header with the length, then JSON.
//!
//! **Invariant:** an invalid message does not end the session; only the end of the stream or a loss of framing does.

use std::io::{self, BufRead, Read, Write};

use lsp_server::Message;
use serde_json::Value;

/// What the client sent.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// A frame without a valid message, and the response to it.
    InvalidFrame(InvalidFrame),
}

/// A frame that holds no message.
#[derive(Debug, PartialEq)]
pub struct InvalidFrame {
    /// The identifier of the request that it may have been, or null.
    pub id: Value,
    /// The code of the error.
    pub code: i32,
    /// What is wrong with it.
    pub message: String,
}

/// The error code of a frame that is not JSON.
pub const PARSE_ERROR: i32 = -32_700;
/// The error code of JSON that is not a message.
pub const INVALID_REQUEST: i32 = -32_600;

/// The name of the length header, in lower case.
const LENGTH: &str = "content-length:";
/// The maximum length of a message.
const LONGEST: u64 = 1 << 30;
/// The maximum length of a header line.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads one frame; `None` if the stream ends between two frames.
pub fn read(from: &mut dyn BufRead) -> io::Result<Option<Incoming>> {
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
pub fn write(to: &mut dyn Write, body: &str) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}
