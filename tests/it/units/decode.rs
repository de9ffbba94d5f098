//! Tests of `source::decode`.

use keylint::source::{decode, encoded};
use proptest::prelude::*;

fn text(bytes: &[u8]) -> Result<String, String> {
    decode("f.py", bytes.to_vec()).map(|file| file.text).map_err(|problem| problem.message)
}

#[test]
fn texts_are_spelled_as_they_declare() {
    for text in ["s = 'é'\n", "# coding: latin-1\ns = 'é'\n", "#!x\n# -*- coding: cp1252 -*-\ns = '€'\n", "coding"]
    {
        assert_eq!(decode("f.py", encoded(text)).unwrap().text, text);
    }
    let lost = "# coding: latin-1\ns = '€'\n";
    assert_eq!(encoded(lost), lost.as_bytes());
}

#[test]
fn reads_utf_8_with_and_without_mark() {
    assert_eq!(text("x = 'é'\n".as_bytes()).as_deref(), Ok("x = 'é'\n"));
    let marked = decode("f.py", b"\xEF\xBB\xBF# coding: utf-8\nx\n".to_vec()).unwrap();
    assert_eq!((marked.text.as_str(), marked.had_bom), ("# coding: utf-8\nx\n", true));
    assert_eq!(marked.encode(&marked.text).unwrap(), b"\xEF\xBB\xBF# coding: utf-8\nx\n");
    assert_eq!(text(b"a\0b").as_deref(), Ok("a\0b"));
    assert_eq!(text(b"").as_deref(), Ok(""));
}

#[test]
fn reads_what_a_cookie_declares() {
    assert_eq!(text(b"# -*- coding: latin-1 -*-\n\xE9\x80").as_deref(), Ok("# -*- coding: latin-1 -*-\n\u{E9}\u{80}"));
    assert_eq!(
        text(b"#!/usr/bin/python\r\n# vim: set fileencoding=cp1252 :\r\n\x80").unwrap().chars().last(),
        Some('€')
    );
    assert_eq!(text(b"# coding: iso-8859-15\n\xA4").unwrap().chars().last(), Some('€'));
    assert_eq!(text(b"# coding=iso-8859-9\n\xFD\x85").unwrap().chars().last(), Some('\u{85}'));
    assert_eq!(text(b"\n# coding: koi8_r\n\xC1").unwrap().chars().last(), Some('а'));
    assert_eq!(text(b"# coding: cp932\n\x82\xA0").unwrap().chars().last(), Some('あ'));
    assert_eq!(text(b"# coding: UTF_8\n\xC3\xA9").unwrap().chars().last(), Some('é'));
    assert_eq!(text(b"\x0c # encoding: Latin_1\r\xE9").unwrap().chars().last(), Some('é'));
}

#[test]
fn cookies_on_later_lines_are_ignored() {
    for bytes in [
        "x = 1\n# coding: nonsense\n",
        "\n\n# coding: nonsense\n",
        "x = 1 # coding: nonsense\n",
        "# coding nonsense\n",
        "# coding:\n",
    ] {
        assert_eq!(text(bytes.as_bytes()).as_deref(), Ok(bytes));
    }
}

#[test]
fn says_what_is_wrong_and_where() {
    let message = |bytes: &[u8]| text(bytes).unwrap_err();
    assert_eq!(
        message(b"x\ny = '\xE9'\n"),
        "byte 0xE9 on line 2, byte 6 is not UTF-8; save the file as UTF-8, or declare its encoding on the first \
         line"
    );
    assert_eq!(
        message(b"\n# coding: klingon\n"),
        "unknown encoding \"klingon\" declared on line 2; declare an encoding that Python knows, or save the file as UTF-8"
    );
    assert!(message(b"# coding: ascii\n\x80").starts_with("byte 0x80 on line 2, byte 1 is not ASCII"));
    assert!(message(b"# coding: cp932\nab\x82").starts_with("byte 0x82 on line 2, byte 3 is not Shift_JIS"));
    assert!(message(b"# coding: iso-8859-3\n\xA5").starts_with("byte 0xA5 on line 2, byte 1 is not ISO-8859-3"));
    assert!(message(b"\xFF\xFEx\0").contains("UTF-16"));
    assert!(message(b"# coding: utf-16\n").starts_with("unknown encoding"));
    assert!(message(b"\xEF\xBB\xBF# coding: latin-1\n").contains("byte order mark"));
}

#[test]
fn writes_back_only_what_the_encoding_has() {
    let file = decode("f.py", b"# coding: latin-1\n\xE9".to_vec()).unwrap();
    assert_eq!(file.encode("é\n").unwrap(), b"\xE9\n");
    assert!(file.encode("€").unwrap_err().message.contains("'€'"));
    let file = decode("f.py", b"# coding: cp1252\n".to_vec()).unwrap();
    assert_eq!(file.encode("€").unwrap(), b"\x80");
    assert!(file.encode("あ").unwrap_err().message.contains("'あ'"));
}

proptest! {
    #[test]
    fn bytes_survive_a_round_trip(
        cookie in prop::sample::select(vec!["utf-8", "latin-1", "iso-8859-9", "iso-8859-15", "cp1252", "koi8-r", "ascii"]),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut all = format!("# coding: {cookie}\n").into_bytes();
        all.extend(bytes);
        if let Ok(file) = decode("f.py", all.clone()) {
            prop_assert_eq!(file.encode(&file.text).unwrap(), all);
        }
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), codec in "[a-z0-9_.-]{1,12}") {
        let _ = decode("f.py", bytes.clone());
        let mut all = format!("# coding: {codec}\n").into_bytes();
        all.extend(bytes);
        let _ = decode("f.py", all);
    }
}
