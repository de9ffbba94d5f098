//! Checks the structure of the source: which room imports from which, how modules start, how long files are.
//!
//! The rules are read from the table of `docs/architecture.md`. A room is a folder of `src/`, or a folder in one (`analysis/store`). Its
//! files are read as tokens, so that comments and strings are ignored and grouped imports (`use crate::{a, b::c}`) are expanded.
//!
//! **Invariant:** there is no second copy of the table: the document is what is enforced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// The hard limit on the length of a file.
const LONGEST: usize = 800;

/// The maximum number of files over which the methods of one type are spread.
const MOST_FILES: usize = 12;

/// The only room that may name the parser's crates.
const PARSER_ROOM: &str = "python";

/// The only file that may name the crate for notebooks.
const NOTEBOOKS: (&str, &str) = ("src/source/notebook.rs", "ruff_notebook");

/// In the table, this means every room of a lower layer with everything in it.
const ALL_LOWER: &str = "all lower rooms";

/// One row of the table.
#[derive(Debug)]
struct Room {
    /// `6` is (6, 0), `6.2` is (6, 2).
    layer: (u32, u32),
    /// Paths below `crate::` that its files may name, in addition to those of their own room.
    imports: Vec<Vec<String>>,
}

/// A source file.
struct Source {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
    tokens: Vec<Token>,
}

/// A token, as far as imports are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    row: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Word(String),
    /// `::`
    Path,
    Punct(char),
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &str) -> Vec<Source> {
    let mut paths: Vec<PathBuf> = WalkDir::new(root().join(folder))
        .into_iter()
        .map(|entry| entry.expect("the source can be listed").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} holds no Rust files");
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("the source can be read");
            let relative = path.strip_prefix(root()).expect("the file is in the repository");
            let path = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
            let tokens = tokens(&text);
            Source { path, text, tokens }
        })
        .collect()
}

impl Source {
    /// The module's path: `src/ir/lower/mod.rs` and `src/ir/lower.rs` are `ir::lower`, roots of crates are empty.
    fn module(&self) -> Vec<&str> {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let mut parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
        if parts.last() == Some(&"mod") || parts == ["lib"] || parts == ["main"] {
            parts.pop();
        }
        parts
    }
}

/// The tokens of Rust source; comments, strings, numbers and lifetimes leave none.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let (mut index, mut row) = (0, 1);
    while index < chars.len() {
        let start = index;
        let c = chars[index];
        if c == '/' && at(index + 1) == '/' {
            while index < chars.len() && chars[index] != '\n' {
                index += 1;
            }
        } else if c == '/' && at(index + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(index), at(index + 1)) {
                    ('/', '*') => (depth, index) = (depth + 1, index + 2),
                    ('*', '/') => (depth, index) = (depth - 1, index + 2),
                    _ => index += 1,
                }
                if depth == 0 || index >= chars.len() {
                    break;
                }
            }
        } else if c == '"' {
            index = end_of_string(&chars, index);
        } else if c == '\'' {
            // `'x'` and `'\n'` are characters, anything else is a lifetime.
            index = match (at(index + 1), at(index + 2)) {
                ('\\', _) => {
                    (index + 3..chars.len()).find(|&end| chars[end] == '\'').map_or(chars.len(), |end| end + 1)
                }
                (_, '\'') => index + 3,
                _ => index + 1,
            };
        } else if c.is_alphabetic() || c == '_' {
            while at(index).is_alphanumeric() || at(index) == '_' {
                index += 1;
            }
            let word: String = chars[start..index].iter().collect();
            let hashes = chars[index..].iter().take_while(|&&c| c == '#').count();
            if matches!(word.as_str(), "r" | "br" | "cr") && at(index + hashes) == '"' {
                index = end_of_raw_string(&chars, index + hashes, hashes);
            } else if !(matches!(word.as_str(), "b" | "c") && matches!(at(index), '"' | '\'')) {
                tokens.push(Token { row, kind: Kind::Word(word) });
            }
        } else if c.is_numeric() {
            while at(index).is_alphanumeric() || at(index) == '_' {
                index += 1;
            }
        } else if c == ':' && at(index + 1) == ':' {
            tokens.push(Token { row, kind: Kind::Path });
            index += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token { row, kind: Kind::Punct(c) });
            }
            index += 1;
        }
        row += chars[start..index.min(chars.len())].iter().filter(|&&c| c == '\n').count();
    }
    tokens
}

fn end_of_string(chars: &[char], open: usize) -> usize {
    let mut index = open + 1;
    while index < chars.len() && chars[index] != '"' {
        index += if chars[index] == '\\' { 2 } else { 1 };
    }
    index + 1
}

fn end_of_raw_string(chars: &[char], open: usize, hashes: usize) -> usize {
    let closes = |end: usize| chars[end] == '"' && (1..=hashes).all(|step| chars.get(end + step) == Some(&'#'));
    (open + 1..chars.len()).find(|&end| closes(end)).map_or(chars.len(), |end| end + 1 + hashes)
}

fn word(tokens: &[Token], index: usize) -> Option<&str> {
    match tokens.get(index).map(|token| &token.kind) {
        Some(Kind::Word(word)) => Some(word),
        _ => None,
    }
}

fn is_punct(tokens: &[Token], index: usize, wanted: char) -> bool {
    tokens.get(index).is_some_and(|token| token.kind == Kind::Punct(wanted))
}

/// Adds to `paths` what the use tree at `index` names below `prefix`, and returns the index after it.
fn use_tree(tokens: &[Token], mut index: usize, prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        if let Some(part) = word(tokens, index) {
            path.push(part.to_owned());
            index += 1;
        } else if is_punct(tokens, index, '{') {
            index += 1;
            while index < tokens.len() && !is_punct(tokens, index, '}') {
                index = use_tree(tokens, index, &path, paths);
                // `as other` and the comma.
                while index < tokens.len() && !is_punct(tokens, index, ',') && !is_punct(tokens, index, '}') {
                    index += 1;
                }
                if is_punct(tokens, index, ',') {
                    index += 1;
                }
            }
            return index + 1;
        } else {
            // `*`, or the angle bracket of a turbofish.
            paths.push(path);
            return index;
        }
        if tokens.get(index).is_none_or(|token| token.kind != Kind::Path) {
            paths.push(path);
            return index;
        }
        index += 1;
    }
}

/// The paths below `crate::` that a file names, with their rows. A `super::` that leaves the file's room is a problem.
fn references(source: &Source, parts: usize, problems: &mut Vec<String>) -> Vec<(usize, Vec<String>)> {
    let tokens = &source.tokens;
    let depth = (source.module().len() + 1).saturating_sub(parts);
    let mut found = Vec::new();
    // For each open brace, whether it opens a module.
    let mut braces: Vec<bool> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let row = tokens[index].row;
        let follows_path = index > 0 && tokens[index - 1].kind == Kind::Path;
        match &tokens[index].kind {
            Kind::Punct('{') => {
                braces.push(index >= 2 && word(tokens, index - 2) == Some("mod"));
            }
            Kind::Punct('}') => {
                braces.pop();
            }
            Kind::Word(name) if name == "crate" && tokens.get(index + 1).is_some_and(|t| t.kind == Kind::Path) => {
                let mut paths = Vec::new();
                use_tree(tokens, index + 2, &[], &mut paths);
                found.extend(paths.into_iter().map(|path| (row, path)));
            }
            Kind::Word(name) if name == "super" && !follows_path => {
                let mut climbs = 1;
                while tokens.get(index + 1).is_some_and(|t| t.kind == Kind::Path)
                    && word(tokens, index + 2) == Some("super")
                {
                    climbs += 1;
                    index += 2;
                }
                let inner = braces.iter().filter(|&&opens_module| opens_module).count();
                if climbs >= depth + inner {
                    problems.push(format!("{}:{row}: `super` leaves the room; write `crate::…`", source.path));
                }
            }
            _ => {}
        }
        index += 1;
    }
    found
}

/// The rows of the table under "Rooms and layers": | layer | room | subject | may import |.
fn table() -> BTreeMap<String, Room> {
    let document = fs::read_to_string(root().join("docs/architecture.md")).expect("docs/architecture.md exists");
    let mut rooms = BTreeMap::new();
    for line in document.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [layer, room, _, imports] = cells.as_slice() else { continue };
        let (whole, part) = layer.split_once('.').unwrap_or((layer, "0"));
        let (Ok(whole), Ok(part)) = (whole.parse(), part.parse()) else { continue };
        let layer = (whole, part);
        let imports = if *imports == ALL_LOWER {
            vec![vec![ALL_LOWER.to_owned()]]
        } else {
            imports
                .split(',')
                .map(|path| path.trim().trim_matches('`'))
                .filter(|path| !matches!(*path, "" | "–"))
                .map(|path| path.split("::").map(str::to_owned).collect())
                .collect()
        };
        let name = room.trim_matches('`').to_owned();
        let before = rooms.insert(name, Room { layer, imports });
        assert!(before.is_none(), "docs/architecture.md: {room} has two rows");
    }
    // All rooms that are lower, spelt out.
    let layers: Vec<(String, (u32, u32))> = rooms.iter().map(|(name, room)| (name.clone(), room.layer)).collect();
    for room in rooms.values_mut() {
        if room.imports.iter().any(|path| path[0] == ALL_LOWER) {
            let lower = layers.iter().filter(|(_, layer)| *layer < room.layer);
            room.imports = lower.map(|(name, _)| name.split('/').map(str::to_owned).collect()).collect();
        }
    }
    rooms
}

/// The room of the table that contains a path: a folder of a room, if that has its own row, otherwise the room.
fn room_of<T: AsRef<str>>(path: &[T], table: &BTreeMap<String, Room>) -> Option<String> {
    let [first, rest @ ..] = path else { return None };
    let first = first.as_ref();
    let inner =
        rest.first().map(|second| format!("{first}/{}", second.as_ref())).filter(|room| table.contains_key(room));
    Some(inner.unwrap_or_else(|| first.to_owned()))
}

#[track_caller]
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn imports_go_downwards_and_all_rooms_are_listed() {
    let table = table();
    assert!(table.len() > 10, "docs/architecture.md: the table was not found");
    let mut problems = Vec::new();
    for (name, room) in &table {
        for path in &room.imports {
            let of = room_of(path, &table).unwrap_or_default();
            match table.get(&of) {
                Some(imported) if imported.layer < room.layer => {}
                Some(_) => problems.push(format!("docs/architecture.md: `{name}` imports `{of}`, not below it")),
                None => problems.push(format!("docs/architecture.md: `{name}` imports `{of}`, which is no room")),
            }
        }
    }
    let rooms: BTreeSet<String> =
        rust_files("src").iter().filter_map(|source| source.module().first().map(|room| (*room).to_owned())).collect();
    // Where one folder of a room has a row, all of them have.
    let divided = |room: &str| table.keys().any(|name| name.split('/').next() == Some(room) && name != room);
    let inner: BTreeSet<String> = rust_files("src")
        .iter()
        .filter_map(|source| match source.path.split('/').collect::<Vec<_>>().as_slice() {
            [_, room, folder, _, ..] if divided(room) => Some(format!("{room}/{folder}")),
            _ => None,
        })
        .collect();
    for room in rooms.into_iter().chain(inner) {
        if !table.contains_key(&room) {
            problems.push(format!("docs/architecture.md: the room `{room}` has no row"));
        }
    }
    assert_none(&problems);
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let table = table();
    let mut problems = Vec::new();
    for source in rust_files("src") {
        let own = room_of(&source.module(), &table).unwrap_or_default();
        let own_path: Vec<String> = own.split('/').map(str::to_owned).collect();
        let named = references(&source, own_path.len(), &mut problems);
        let Some(room) = table.get(&own) else { continue };
        for (row, path) in named {
            if path.starts_with(&own_path) {
                continue;
            }
            if !room.imports.iter().any(|allowed| path.starts_with(allowed)) {
                let path = path.join("::");
                problems.push(format!("{}:{row}: `{own}` may not import `{path}`", source.path));
            }
        }
    }
    assert_none(&problems);
}

/// The types that a file has inherent methods for.
fn types_with_methods(source: &Source) -> BTreeSet<String> {
    let tokens = &source.tokens;
    let mut found = BTreeSet::new();
    let mut depth = 0_usize;
    for index in 0..tokens.len() {
        match &tokens[index].kind {
            Kind::Punct('{') => depth += 1,
            Kind::Punct('}') => depth = depth.saturating_sub(1),
            Kind::Word(name) if name == "impl" && depth == 0 => {
                let header = (index + 1..tokens.len()).take_while(|end| !is_punct(tokens, *end, '{'));
                // The type is the first word outside of angle brackets.
                let (mut angles, mut named, mut is_trait) = (0_usize, None, false);
                for at in header {
                    match &tokens[at].kind {
                        Kind::Punct('<') => angles += 1,
                        Kind::Punct('>') => angles = angles.saturating_sub(1),
                        Kind::Word(word) if angles == 0 && word == "for" => is_trait = true,
                        Kind::Word(word) if angles == 0 && word == "where" => break,
                        Kind::Word(word) if angles == 0 => named = Some(word.clone()),
                        _ => {}
                    }
                }
                found.extend(named.filter(|_| !is_trait));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_methods_of_one_type_stand_in_a_dozen_files() {
    let mut spread: BTreeMap<(String, String), usize> = BTreeMap::new();
    for source in rust_files("src") {
        let room = source.module().first().map(|room| (*room).to_owned()).unwrap_or_default();
        for name in types_with_methods(&source) {
            *spread.entry((room.clone(), name)).or_default() += 1;
        }
    }
    let mut problems = Vec::new();
    for ((room, name), files) in spread {
        if files > MOST_FILES {
            problems.push(format!("{room}: methods of `{name}` stand in {files} files, at most {MOST_FILES}"));
        }
    }
    assert_none(&problems);
}

#[test]
fn only_one_room_names_the_parser() {
    let mut problems = Vec::new();
    for source in rust_files("src") {
        if source.module().first() == Some(&PARSER_ROOM) {
            continue;
        }
        for token in &source.tokens {
            let Kind::Word(name) = &token.kind else { continue };
            let is_its_own = source.path == NOTEBOOKS.0 && name == NOTEBOOKS.1;
            if name.starts_with("ruff_") && !is_its_own {
                problems.push(format!("{}:{}: names the parser; go through `python`", source.path, token.row));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn modules_state_their_purpose_and_rooms_their_invariant() {
    let mut problems = Vec::new();
    for source in rust_files("src").into_iter().chain(rust_files("tests")).chain(rust_files("benches")) {
        let header: Vec<&str> = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
        if header.is_empty() {
            problems.push(format!("{}: does not open with `//!`", source.path));
        } else if source.path.starts_with("src/")
            && source.path.ends_with("/mod.rs")
            && !header.iter().any(|line| line.contains("**Invariant:**"))
        {
            problems.push(format!("{}: its header states no **Invariant:**", source.path));
        }
    }
    assert_none(&problems);
}

#[test]
fn every_file_of_tests_is_compiled() {
    let files = rust_files("tests/it");
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path != "tests/it/main.rs") {
        let module = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let Some((folder, name)) = module.rsplit_once('/') else { continue };
        let parents = [format!("{folder}/main.rs"), format!("{folder}.rs"), format!("{folder}/mod.rs")];
        let parent = parents.iter().find_map(|path| text_of(path)).unwrap_or_default();
        if !parent.contains(&format!("\nmod {name};")) && !parent.contains(&format!("\npub mod {name};")) {
            problems.push(format!("{}: no module declares it", file.path));
        }
    }
    assert_none(&problems);
}

#[test]
fn files_are_short() {
    let problems: Vec<String> = rust_files("src")
        .into_iter()
        .chain(rust_files("tests"))
        .chain(rust_files("benches"))
        .filter_map(|source| {
            let rows = source.text.lines().count();
            (rows > LONGEST).then(|| format!("{}: {rows} lines, at most {LONGEST}", source.path))
        })
        .collect();
    assert_none(&problems);
}

#[test]
fn sources_have_no_todo_and_no_unwrap() {
    let mut problems = Vec::new();
    for source in rust_files("src") {
        let tokens = &source.tokens;
        for index in 0..tokens.len() {
            let Some(name) = word(tokens, index) else { continue };
            let is_macro = is_punct(tokens, index + 1, '!');
            let is_method = index > 0 && is_punct(tokens, index - 1, '.');
            let wrong = match name {
                "todo" | "unimplemented" | "dbg" => is_macro,
                "unwrap" => is_method,
                _ => false,
            };
            if wrong {
                problems.push(format!("{}:{}: `{name}`", source.path, tokens[index].row));
            }
        }
        for (index, line) in source.text.lines().enumerate() {
            if ["TODO", "FIXME", "XXX"].iter().any(|mark| line.contains(mark)) {
                problems.push(format!("{}:{}: unfinished: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    assert_none(&problems);
}

/// The library is not compiled for unit tests, so one in it would never run.
#[test]
fn sources_have_no_unit_tests() {
    let mut problems = Vec::new();
    for source in rust_files("src") {
        let tokens = &source.tokens;
        for index in 1..tokens.len() {
            let is_attribute = is_punct(tokens, index - 1, '[') && index > 1 && is_punct(tokens, index - 2, '#');
            let is_test = is_attribute && word(tokens, index) == Some("test");
            let is_condition = ["cfg", "cfg_attr"].map(Some).contains(&word(tokens, index))
                && (index..index + 6).any(|index| word(tokens, index) == Some("test"));
            if is_test || is_condition || word(tokens, index) == Some("proptest") {
                problems.push(format!("{}:{}: tests are in tests/it", source.path, tokens[index].row));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn documented_bounds_match_the_code() {
    let document = fs::read_to_string(root().join("docs/architecture.md")).expect("docs/architecture.md exists");
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let mut problems = Vec::new();
    let mut checked = 0;
    for line in document.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, value, constant, _] = cells.as_slice() else { continue };
        let Some((file, name)) = constant.trim_matches('`').split_once("` `") else { continue };
        checked += 1;
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let definition = text.lines().find_map(|line| line.split_once(&format!("const {name}: ")));
        let actual = definition.and_then(|(_, rest)| rest.split_once('=')).map(|(_, actual)| digits(actual));
        if actual.as_deref() != Some(digits(value).as_str()) {
            problems.push(format!("docs/architecture.md: {name} is {actual:?} in {file}, not {value}"));
        }
    }
    assert!(checked > 5, "docs/architecture.md: the table of bounds was not found");
    assert_none(&problems);
}

#[test]
fn tokens_skip_comments_and_strings() {
    let text = r##"
        // crate::comment
        /* crate::block /* nested */ */
        const A: &str = "crate::string \" still";
        const B: &str = r#"crate::raw " "#;
        const C: char = '"';
        fn f<'a>(x: &'a crate::text::Span) -> char { '\'' }
        use crate::{ir::{Op, self as other}, models::*, finding};
        mod tests { use super::*; fn g() { let _ = crate::config::suggest; super::super::h(); } }
    "##;
    let source = Source { path: "src/rules/mod.rs".to_owned(), text: String::new(), tokens: tokens(text) };
    let mut problems = Vec::new();
    let paths: Vec<String> =
        references(&source, 1, &mut problems).into_iter().map(|(_, path)| path.join("::")).collect();
    assert_eq!(paths, ["text::Span", "ir::Op", "ir::self", "models", "finding", "config::suggest"]);
    assert_eq!(problems, ["src/rules/mod.rs:9: `super` leaves the room; write `crate::…`"]);
}
