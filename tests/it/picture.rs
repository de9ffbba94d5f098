//! The picture of a terminal in the README: what keylint prints about a small program, with its colours, as an SVG.
//!
//! **Invariant:** the picture shows what the program prints; `BLESS=1 cargo test --test it picture` draws it again.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use keylint::cli::Status;

use crate::run;

/// The arguments of the run that the picture shows.
const ARGUMENTS: [&str; 2] = ["check", "fixtures/projects/first"];

/// Where the picture is.
const PICTURE: &str = "docs/terminal.svg";

/// Width of a character, in tenths of a pixel.
const CHARACTER: usize = 84;

/// Height of a line, in pixels.
const LINE: usize = 20;

/// Space around the text, in pixels.
const MARGIN: usize = 20;

/// The style of a piece of text.
#[derive(Clone, Copy, Default, PartialEq)]
struct Style {
    is_bold: bool,
    colour: Option<&'static str>,
}

impl Style {
    /// Applies the parameters of one `SGR` sequence.
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split(';').map(|number| number.parse().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                30..=37 => self.colour = colour(number - 30),
                90..=97 => self.colour = colour(number - 90),
                38 => self.colour = numbers.nth(1).and_then(|number| colour(number % 8)),
                _ => panic!("the picture has no style {number}"),
            }
        }
    }
}

/// A colour of the terminal by its number.
fn colour(number: u32) -> Option<&'static str> {
    Some(match number {
        1 => "#ff7b72",
        2 => "#7ee787",
        3 => "#e3b341",
        4 => "#79c0ff",
        5 => "#d2a8ff",
        6 => "#76e3ea",
        _ => return None,
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line of a terminal as an element of the picture.
fn line(text: &str, style: &mut Style, y: usize) -> String {
    let mut spans = String::new();
    let mut columns = 0;
    for (index, piece) in text.split("\u{1b}[").enumerate() {
        let piece = if index == 0 {
            piece
        } else {
            let (parameters, rest) = piece.split_once('m').expect("only colours are escaped");
            style.apply(parameters);
            rest
        };
        if piece.is_empty() {
            continue;
        }
        columns += piece.chars().count();
        let weight = if style.is_bold { " font-weight=\"bold\"" } else { "" };
        let fill = style.colour.map(|colour| format!(" fill=\"{colour}\"")).unwrap_or_default();
        write!(spans, "<tspan{weight}{fill}>{}</tspan>", escaped(piece)).unwrap();
    }
    if columns == 0 {
        return String::new();
    }
    // The length keeps columns aligned in any font.
    let length = columns * CHARACTER;
    let (whole, tenth) = (length / 10, length % 10);
    format!("  <text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{whole}.{tenth}\" xml:space=\"preserve\">{spans}</text>\n")
}

/// What a terminal shows, as an SVG.
fn drawn(screen: &str) -> String {
    let plain = |line: &str| -> usize {
        let rest = line.split("\u{1b}[").enumerate();
        rest.map(|(at, piece)| if at == 0 { piece } else { piece.split_once('m').unwrap().1 }.chars().count()).sum()
    };
    let columns = screen.lines().map(plain).max().unwrap_or_default();
    let width = (columns * CHARACTER).div_ceil(10) + 2 * MARGIN;
    let height = screen.lines().count() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"keylint in a terminal\">\n  \
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n  \
         <g fill=\"#e6edf3\" font-size=\"14\" font-family=\"ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace\">\n"
    );
    let mut style = Style::default();
    for (row, text) in screen.lines().enumerate() {
        svg.push_str(&line(text, &mut style, MARGIN + LINE * row + LINE * 3 / 4));
    }
    svg.push_str("  </g>\n</svg>\n");
    svg
}

#[test]
fn readme_picture_matches_the_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Paths given are relative to the current directory, which for a test is the package's root.
    let ran = run::keylint(root, ["--color", "always"].iter().chain(&ARGUMENTS).copied(), &[]);
    assert_eq!((ran.status, ran.err.as_str()), (Status::Findings, ""));
    let svg = drawn(&format!("$ keylint {}\n{}", ARGUMENTS.join(" "), ran.text().trim_end()));
    let path = root.join(PICTURE);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &svg).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == svg, "{PICTURE} is out of date: BLESS=1 cargo test --test it picture");
    // If the README is the description of a package, there are no files next to it.
    let address = format!("(https://raw.githubusercontent.com/keylint/keylint/main/{PICTURE})");
    assert!(fs::read_to_string(root.join("README.md")).unwrap().contains(&address));
}
