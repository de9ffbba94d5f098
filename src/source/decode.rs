//! Decodes source files as Python does: by byte order mark, then encoding cookie (PEP 263), then as UTF-8.
//!
//! **Invariant:** no byte is replaced or dropped. Either the whole file decodes in the encoding that Python would use, and for
//! UTF-8 and single-byte encodings [`SourceFile::encode`] gives the same bytes back; or there is a [`Problem`].

use std::path::Path;

use super::discover::is_notebook;
use super::{Problem, notebook};
use crate::text::{Cells, Edit, Span};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, including files that declare ASCII and contain only that.
    Utf8,
    /// ISO 8859-1: bytes are code points. In the Encoding Standard this name means windows-1252; in Python it does not.
    Latin1,
    /// A part of ISO 8859 whose table in the Encoding Standard differs for the bytes 0x80 to 0x9F.
    Iso(&'static encoding_rs::Encoding),
    /// Any other superset of ASCII.
    Table(&'static encoding_rs::Encoding),
}

/// One file as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as given, for people.
    pub path: String,
    /// The text without the byte order mark.
    pub text: String,
    /// The encoding of the file.
    pub encoding: Encoding,
    /// Whether the file starts with a byte order mark.
    pub had_bom: bool,
    /// The cells of a notebook, in order; empty for other files.
    pub cells: Cells,
    /// The JSON document of a notebook.
    pub(super) document: Option<Box<str>>,
}

impl SourceFile {
    /// Encodes `text` for this file. In a notebook, only one cell may have changed, because the cells of the new text are not
    /// known; [`SourceFile::rewrite`] has no such limit.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, Problem> {
        if self.document.is_some() {
            return self.rewrite(&[difference(&self.text, text)]);
        }
        let lost = |character: char| Problem {
            path: self.path.clone(),
            message: format!("the file's encoding cannot represent {character:?}; save the file as UTF-8"),
        };
        let byte = |character: char| u8::try_from(u32::from(character)).map_err(|_| lost(character));
        match self.encoding {
            Encoding::Utf8 => {
                let mark = if self.had_bom { BYTE_ORDER_MARK } else { b"" };
                Ok([mark, text.as_bytes()].concat())
            }
            Encoding::Latin1 => text.chars().map(byte).collect(),
            Encoding::Iso(table) => {
                let mut bytes = Vec::with_capacity(text.len());
                for character in text.chars() {
                    match character {
                        '\0'..='\u{9F}' => bytes.push(byte(character)?),
                        _ => encode_with(table, character.encode_utf8(&mut [0; 4]), &mut bytes).map_err(lost)?,
                    }
                }
                Ok(bytes)
            }
            Encoding::Table(table) => {
                let mut bytes = Vec::with_capacity(text.len());
                encode_with(table, text, &mut bytes).map_err(lost)?;
                Ok(bytes)
            }
        }
    }
}

/// The smallest single edit that turns one text into the other.
fn difference(before: &str, after: &str) -> Edit {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(old, new)| old == new).map(|(old, _)| old.len_utf8()).sum()
    };
    let start = same(&mut before.chars().zip(after.chars()));
    let (old, new) = (&before[start..], &after[start..]);
    let tail = same(&mut old.chars().rev().zip(new.chars().rev()));
    // A text is smaller than 4 GiB.
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(offset(start), offset(before.len() - tail));
    Edit { span, content: new[..new.len() - tail].to_owned() }
}

fn encode_with(table: &'static encoding_rs::Encoding, text: &str, bytes: &mut Vec<u8>) -> Result<(), char> {
    let (encoded, _, replaced) = table.encode(text);
    if !replaced {
        bytes.extend_from_slice(&encoded);
        return Ok(());
    }
    Err(text.chars().find(|character| table.encode(character.encode_utf8(&mut [0; 4])).2).unwrap_or('\u{FFFD}'))
}

/// Decodes the bytes of the file at `path`.
pub fn decode(path: &str, bytes: Vec<u8>) -> Result<SourceFile, Problem> {
    let problem = |message: String| Problem { path: path.to_owned(), message };
    if u32::try_from(bytes.len()).is_err() {
        return Err(problem("file of 4 GiB or more; exclude it".to_owned()));
    }
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return Err(problem("the file is UTF-16, which Python does not read; save it as UTF-8".to_owned()));
    }
    let had_bom = bytes.starts_with(BYTE_ORDER_MARK);
    if is_notebook(Path::new(path)) {
        let document = from_utf8(bytes).map_err(problem)?;
        let (text, cells) = notebook::code(&document).map_err(problem)?;
        let document = Some(document.into_boxed_str());
        return Ok(SourceFile { path: path.to_owned(), text, encoding: Encoding::Utf8, had_bom, cells, document });
    }
    let cookie = cookie(if had_bom { &bytes[BYTE_ORDER_MARK.len()..] } else { &bytes });
    let declared = match &cookie {
        None => Declared::Utf8,
        Some(cookie) => codec(&cookie.name).ok_or_else(|| {
            problem(format!(
                "unknown encoding {:?} declared on line {}; declare an encoding that Python knows, or save the file \
                 as UTF-8",
                cookie.name, cookie.row
            ))
        })?,
    };
    if had_bom && !matches!(declared, Declared::Utf8) {
        let (name, row) = cookie.map(|cookie| (cookie.name, cookie.row)).unwrap_or_default();
        return Err(problem(format!(
            "the file starts with the byte order mark of UTF-8 but line {row} declares {name:?}; remove one of the two"
        )));
    }
    let (text, encoding) = match declared {
        Declared::Utf8 => (from_utf8(bytes).map_err(problem)?, Encoding::Utf8),
        Declared::Ascii => {
            if let Some(at) = bytes.iter().position(|byte| !byte.is_ascii()) {
                return Err(problem(undecodable(&bytes, at, "ASCII, which the file declares")));
            }
            (from_utf8(bytes).map_err(problem)?, Encoding::Utf8)
        }
        Declared::Latin1 => (bytes.iter().copied().map(char::from).collect(), Encoding::Latin1),
        Declared::Iso(table) => {
            // In every part of ISO 8859, bytes up to 0x9F are code points.
            let character = |byte: u8| match byte {
                0..=0x9F => Some(char::from(byte)),
                _ => table.decode_without_bom_handling(&[byte]).0.chars().next().filter(|c| *c != '\u{FFFD}'),
            };
            let text: Result<String, usize> =
                bytes.iter().enumerate().map(|(at, byte)| character(*byte).ok_or(at)).collect();
            (text.map_err(|at| problem(undecodable(&bytes, at, table.name())))?, Encoding::Iso(table))
        }
        Declared::Table(table) => match decode_table(table, &bytes) {
            Ok(text) => (text, Encoding::Table(table)),
            Err(at) => return Err(problem(undecodable(&bytes, at, table.name()))),
        },
    };
    if u32::try_from(text.len()).is_err() {
        return Err(problem("text of 4 GiB or more; exclude it".to_owned()));
    }
    Ok(SourceFile { path: path.to_owned(), text, encoding, had_bom, cells: Cells::NONE, document: None })
}

/// Encodes a text in the encoding that it declares, or in UTF-8 if that encoding cannot represent it.
pub fn encoded(text: &str) -> Vec<u8> {
    // The declaration is ASCII, on one of the first two lines.
    let head: String = text.split_inclusive('\n').take(2).collect();
    if !head.contains("coding") {
        return text.as_bytes().to_vec();
    }
    let head: Vec<u8> = head.chars().map(|c| if c.is_ascii() { c } else { '?' }).map(|c| c as u8).collect();
    let encoded = decode("", head).and_then(|file| file.encode(text));
    encoded.unwrap_or_else(|_| text.as_bytes().to_vec())
}

enum Declared {
    Utf8,
    Ascii,
    Latin1,
    Iso(&'static encoding_rs::Encoding),
    Table(&'static encoding_rs::Encoding),
}

struct Cookie {
    name: String,
    row: u32,
}

/// The encoding that a comment on one of the first two lines declares; on the second only if the first is blank or a
/// comment: `^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`.
fn cookie(bytes: &[u8]) -> Option<Cookie> {
    let mut rest = bytes;
    for row in 1..=2 {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c')).unwrap_or(line.len());
        let code = &line[start..];
        if code.first() == Some(&b'#') {
            if let Some(name) = cookie_of_comment(code) {
                return Some(Cookie { name, row });
            }
        } else if !code.is_empty() {
            return None;
        }
        rest = after.strip_prefix(b"\r\n").or_else(|| after.get(1..)).unwrap_or_default();
    }
    None
}

fn cookie_of_comment(comment: &[u8]) -> Option<String> {
    memchr::memmem::find_iter(comment, b"coding").find_map(|at| {
        let [b':' | b'=', value @ ..] = &comment[at + b"coding".len()..] else { return None };
        let start = value.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        let name = &value[start..];
        let end = name
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')))
            .unwrap_or(name.len());
        Some(String::from_utf8_lossy(&name[..end]).into_owned()).filter(|name| !name.is_empty())
    })
}

/// The codec with a name of Python's, if source can be written in it.
fn codec(name: &str) -> Option<Declared> {
    let name = name.to_ascii_lowercase().replace(['_', ' '], "-");
    let table = |label: &str| encoding_rs::Encoding::for_label_no_replacement(label.as_bytes());
    Some(match name.as_str() {
        "utf-8" | "utf8" | "u8" | "utf" | "cp65001" | "utf8-ucs2" | "utf8-ucs4" => Declared::Utf8,
        _ if name.starts_with("utf-8-") => Declared::Utf8,
        "ascii" | "us-ascii" | "646" | "us" | "iso646-us" | "ansi-x3.4-1968" | "cp367" => Declared::Ascii,
        "latin-1" | "latin1" | "latin" | "l1" | "iso-8859-1" | "iso8859-1" | "iso8859" | "8859" | "cp819"
        | "iso-latin-1" | "iso-ir-100" | "ibm819" => Declared::Latin1,
        _ if name.starts_with("latin-1-") || name.starts_with("iso-8859-1-") || name.starts_with("iso-latin-1-") => {
            Declared::Latin1
        }
        "iso-8859-9" | "iso8859-9" | "latin5" | "l5" => Declared::Iso(encoding_rs::WINDOWS_1254),
        "iso-8859-11" | "iso8859-11" | "thai" => Declared::Iso(encoding_rs::WINDOWS_874),
        "latin9" | "iso8859-15" | "l9" => Declared::Table(encoding_rs::ISO_8859_15),
        "cp932" | "932" | "ms932" | "mskanji" | "ms-kanji" | "windows-31j" | "sjis" | "shiftjis" | "s-jis" => {
            Declared::Table(encoding_rs::SHIFT_JIS)
        }
        "cp936" | "936" | "ms936" | "gb2312" | "euc-cn" | "euccn" => Declared::Table(encoding_rs::GBK),
        "gb18030-2000" => Declared::Table(encoding_rs::GB18030),
        "cp949" | "949" | "ms949" | "uhc" | "euckr" => Declared::Table(encoding_rs::EUC_KR),
        "cp950" | "950" | "ms950" | "big5-tw" => Declared::Table(encoding_rs::BIG5),
        "eucjp" | "ujis" | "u-jis" => Declared::Table(encoding_rs::EUC_JP),
        "cp874" => Declared::Table(encoding_rs::WINDOWS_874),
        "mac-roman" | "macroman" => Declared::Table(encoding_rs::MACINTOSH),
        "mac-cyrillic" | "maccyrillic" => Declared::Table(encoding_rs::X_MAC_CYRILLIC),
        _ => Declared::Table(
            table(&name)
                .or_else(|| table(&format!("windows-{}", name.strip_prefix("cp").or(name.strip_prefix("windows"))?)))
                .filter(|table| table.is_ascii_compatible() && *table != encoding_rs::X_USER_DEFINED)?,
        ),
    })
}

/// Decodes without replacement; otherwise returns the offset of the first bytes that cannot be decoded.
fn decode_table(table: &'static encoding_rs::Encoding, bytes: &[u8]) -> Result<String, usize> {
    if let Some(text) = table.decode_without_bom_handling_and_without_replacement(bytes) {
        return Ok(text.into_owned());
    }
    let mut decoder = table.new_decoder_without_bom_handling();
    let mut buffer = [0; 4096];
    let mut at = 0;
    loop {
        let (result, read, _) = decoder.decode_to_utf8_without_replacement(&bytes[at..], &mut buffer, true);
        at += read;
        match result {
            encoding_rs::DecoderResult::OutputFull => {}
            encoding_rs::DecoderResult::InputEmpty => return Err(at),
            encoding_rs::DecoderResult::Malformed(length, after) => {
                return Err(at.saturating_sub(usize::from(length) + usize::from(after)));
            }
        }
    }
}

fn from_utf8(mut bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        undecodable(error.as_bytes(), at, "UTF-8")
    })
}

fn undecodable(bytes: &[u8], at: usize, encoding: &str) -> String {
    let before = bytes.get(..at).unwrap_or(bytes);
    let row = memchr::memchr_iter(b'\n', before).count() + 1;
    let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let byte = bytes.get(at).copied().unwrap_or_default();
    format!(
        "byte 0x{byte:02X} on line {row}, byte {} is not {encoding}; save the file as UTF-8, or declare its encoding \
         on the first line",
        at - line.min(at) + 1,
    )
}
