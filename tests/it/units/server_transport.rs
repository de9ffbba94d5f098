//! The frames of messages.

use keylint::server::transport::{INVALID_REQUEST, Incoming, PARSE_ERROR, read, write};
use lsp_server::Message;
use serde_json::Value;

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
    let Some(Incoming::InvalidFrame(garbage)) = read(&mut from).unwrap() else { panic!("JSON was made of nonsense") };
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
    for start in ["\r\n{}", "X: y\r\n\r\n{}", "Content-Length: x\r\n\r\n{}", "Content-Length: 99999999999\r\n\r\n{}"] {
        let bytes = [start.as_bytes(), &frame(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#)].concat();
        let mut from = &bytes[..];
        assert!(matches!(read(&mut from).unwrap(), Some(Incoming::InvalidFrame(_))), "{start}");
        assert!(matches!(read(&mut from).unwrap(), Some(Incoming::Message(Message::Request(_)))), "{start}");
    }
}
