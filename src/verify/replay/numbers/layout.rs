//! Arrays as `NumPy` prints them, which is how JAX prints them.
//!
//! Elements of one array are as wide as the widest, lines have at most 75 characters, and of an array of more than a
//! thousand elements each axis shows its three first and last. Numbers have at most eight decimal places. `NumPy` 2.4 is
//! the reference.
//!
//! **Invariant:** a printed array may have lost digits and elements; programs read a different, complete format.

use crate::prng::array::Array;
use crate::prng::dtype::{DType, DTypeKind};

/// Characters in a line.
pub const WIDTH: usize = 75;
/// Elements beyond which an array is elided.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of an elided axis.
const EDGE: usize = 3;
/// Decimal places shown.
const PRECISION: usize = 8;

/// The place an array is printed in.
pub struct Place {
    /// Characters before it on its first line.
    pub before: usize,
    /// Characters that follow its last line immediately.
    pub after: usize,
    /// The separator between two elements.
    pub separator: &'static str,
}

/// The elements in brackets.
pub fn layout(array: &Array, place: &Place) -> String {
    let is_elided = array.len() > THRESHOLD;
    let mut shown = vec![0];
    for &length in array.shape() {
        let items: Vec<usize> = items(length, is_elided).flatten().collect();
        shown = shown.iter().flat_map(|start| items.iter().map(move |item| start * length + item)).collect();
    }
    let texts = texts(array, &shown);
    let mut page = Page { array, place, is_elided, texts: texts.into_iter() };
    page.axis(0, place.before + 1, WIDTH.saturating_sub(place.after))
}

/// The items of an axis that are shown; `None` stands for the omitted ones.
fn items(length: usize, is_elided: bool) -> impl Iterator<Item = Option<usize>> {
    let (head, tail) = if is_elided && length > 2 * EDGE { (EDGE, length - EDGE) } else { (length, length) };
    let gap = (head < length).then_some(None);
    (0..head).map(Some).chain(gap).chain((tail..length).map(Some))
}

struct Page<'a> {
    array: &'a Array,
    place: &'a Place,
    is_elided: bool,
    /// The elements that are shown, in order.
    texts: std::vec::IntoIter<String>,
}

impl Page<'_> {
    /// One item of the axis before `axis`: an element, or the items of `axis` in brackets. Lines after the first begin with
    /// `indent` spaces and end before `width`.
    fn axis(&mut self, axis: usize, indent: usize, width: usize) -> String {
        let Some(&length) = self.array.shape().get(axis) else { return self.texts.next().unwrap_or_default() };
        let below = self.array.rank() - axis - 1;
        let separator = self.place.separator;
        let is_elided = self.is_elided;
        let mut lines = String::new();
        let mut line = 0;
        for (index, item) in items(length, is_elided).enumerate() {
            let text = match item {
                Some(_) => self.axis(axis + 1, indent + 1, width.saturating_sub(1)),
                None => "...".to_owned(),
            };
            if below > 0 {
                if index > 0 {
                    lines.push_str(separator.trim_end());
                    lines.push_str(&"\n".repeat(below));
                    lines.push_str(&" ".repeat(indent));
                }
                lines.push_str(&text);
                continue;
            }
            if index > 0 {
                lines.push_str(separator);
                line += separator.len();
                if indent + line + text.len() > width.saturating_sub(separator.trim_end().len().max(1)) {
                    lines.truncate(lines.trim_end().len());
                    lines.push('\n');
                    lines.push_str(&" ".repeat(indent));
                    line = 0;
                }
            }
            lines.push_str(&text);
            line += text.len();
        }
        format!("[{lines}]")
    }
}

/// The elements at some positions, as wide as each other.
fn texts(array: &Array, positions: &[usize]) -> Vec<String> {
    match array.dtype().kind() {
        DTypeKind::Real if array.dtype() != DType::Bfloat16 => reals(array, positions, false),
        DTypeKind::Complex => complexes(array, positions),
        // Elements of a type that `NumPy` does not know are printed one by one.
        DTypeKind::Real => positions.iter().map(|&position| general(array.number(position))).collect(),
        DTypeKind::Bool | DTypeKind::Signed | DTypeKind::Unsigned => {
            let texts: Vec<String> = positions.iter().map(|&position| element(array, position)).collect();
            let least = if array.dtype() == DType::Bool && array.rank() > 0 { "False".len() } else { 0 };
            let width = texts.iter().map(String::len).max().unwrap_or(0).max(least);
            texts.into_iter().map(|text| format!("{text:>width$}")).collect()
        }
    }
}

/// One element as Python writes it.
pub fn element(array: &Array, position: usize) -> String {
    let text = array.element_text(position);
    match (array.dtype().kind(), &*text) {
        (DTypeKind::Bool, "true") => "True".to_owned(),
        (DTypeKind::Bool, _) => "False".to_owned(),
        (DTypeKind::Complex, _) => complex(array, position),
        (_, "NaN") => "nan".to_owned(),
        (_, "Infinity") => "inf".to_owned(),
        (_, "-Infinity") => "-inf".to_owned(),
        _ => match text.split_once('e') {
            Some((digits, power)) => {
                let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
                format!("{digits}e{sign}{power:0>2}")
            }
            None => text,
        },
    }
}

/// A finite number in digits, before and after the point; with a power of ten, its sign and digits.
struct Decimal {
    whole: String,
    places: String,
    exponent: String,
}

/// A complex number as Python writes it.
fn complex(array: &Array, position: usize) -> String {
    let (real, imaginary) = array.complexes().get(position).copied().unwrap_or_default();
    let text = |part: f64| {
        let text = element(&Array::real(array.dtype().part(), part), 0);
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    if real == 0.0 && real.is_sign_positive() {
        return format!("{}j", text(imaginary));
    }
    let sign = if imaginary.is_sign_negative() && !imaginary.is_nan() { "" } else { "+" };
    format!("({}{sign}{}j)", text(real), text(imaginary))
}

/// Complex numbers: the real parts are as wide as each other, and so are the imaginary ones.
fn complexes(array: &Array, positions: &[usize]) -> Vec<String> {
    let part = |numbers: Vec<f64>, is_signed: bool| {
        let parts = Array::from_reals(array.dtype().part(), array.shape(), numbers);
        parts.map(|parts| reals(&parts, positions, is_signed)).unwrap_or_default()
    };
    let pairs = part(array.reals(), false).into_iter().zip(part(array.imaginaries(), true));
    let joined = |(real, imaginary): (String, String)| {
        let digits = imaginary.trim_end();
        format!("{real}{digits}j{}", &imaginary[digits.len()..])
    };
    pairs.map(joined).collect()
}

/// Numbers padded to one width, with a leading sign if requested.
fn reals(array: &Array, positions: &[usize], is_signed: bool) -> Vec<String> {
    let is_scientific = is_scientific(array, positions);
    let is_finite = |position: usize| array.number(position).is_finite();
    let signed = |text: String| if is_signed && !text.starts_with('-') { format!("+{text}") } else { text };
    let written = |array: &Array, position: usize, least: usize| {
        let decimal = if is_scientific { scientific } else { positional }(array, position, least);
        Decimal { whole: signed(decimal.whole), ..decimal }
    };
    let finite = positions.iter().copied().filter(|&position| is_finite(position));
    let decimals: Vec<Decimal> = finite.map(|position| written(array, position, 0)).collect();
    let widest = |part: fn(&Decimal) -> usize| decimals.iter().map(part).max().unwrap_or(0);
    let places = widest(|decimal| decimal.places.len());
    let exponent = widest(|decimal| decimal.exponent.len());
    // What follows the digits before the point; nothing does if no number is finite.
    let right = 1 + places + if is_scientific { 1 + exponent } else { 0 };
    let others = positions.iter().filter(|&&position| !is_finite(position));
    let other = others.map(|&position| signed(element(array, position)).len()).max().unwrap_or(0);
    let whole = widest(|decimal| decimal.whole.len()).max(other.saturating_sub(right));
    let text = |&position: &usize| {
        if !is_finite(position) {
            return format!("{:>width$}", signed(element(array, position)), width = whole + right);
        }
        let Decimal { whole: digits, places: rest, exponent } = written(array, position, places);
        let end = if is_scientific { format!("e{exponent}") } else { String::new() };
        format!("{digits:>whole$}.{rest:<places$}{end}")
    };
    positions.iter().map(text).collect()
}

/// Whether the numbers are too large, too small or too different to be printed without powers of ten.
fn is_scientific(array: &Array, positions: &[usize]) -> bool {
    let sizes = positions.iter().map(|&position| array.number(position).abs());
    let sizes: Vec<f64> = sizes.filter(|size| size.is_finite() && *size != 0.0).collect();
    let greatest = sizes.iter().copied().fold(0.0, f64::max);
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = match array.dtype() {
        DType::Float16 => 1e3,
        DType::Float32 => 1e6,
        _ => 1e8,
    };
    // Compared as numbers of the array's type.
    let rounded = |value: f64| Array::real(array.dtype(), value).number(0);
    !sizes.is_empty() && (greatest >= limit || least < rounded(1e-4) || rounded(greatest / least) > 1000.0)
}

/// The shortest digits that read back to the same element, but at most eight decimal places.
fn positional(array: &Array, position: usize, _: usize) -> Decimal {
    let (digits, exponent) = array.shortest(position);
    let digits = digits.chars().filter(char::is_ascii_digit).count();
    let decimals = usize::try_from(exponent).map_or_else(
        |_| digits.saturating_sub(1) + exponent.unsigned_abs() as usize,
        |exponent| digits.saturating_sub(1 + exponent),
    );
    let text = format!("{:.places$}", array.number(position), places = decimals.min(PRECISION));
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    Decimal { whole: whole.to_owned(), places: places.trim_end_matches('0').to_owned(), exponent: String::new() }
}

/// The same with a power of ten, and with at least `least` decimal places.
fn scientific(array: &Array, position: usize, least: usize) -> Decimal {
    let (digits, _) = array.shortest(position);
    let decimals = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let text = format!("{:.places$e}", array.number(position), places = decimals.min(PRECISION).max(least));
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    Decimal { whole: whole.to_owned(), places: places.to_owned(), exponent: format!("{sign}{exponent:0>2}") }
}

/// A number with at most six digits, as C prints it with `%g`.
fn general(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .to_owned();
    }
    let text = format!("{value:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&power) {
        trimmed(&format!("{value:.places$}", places = usize::try_from(5 - power).unwrap_or(0)))
    } else {
        format!("{}e{}{:02}", trimmed(digits), if power < 0 { '-' } else { '+' }, power.abs())
    }
}
