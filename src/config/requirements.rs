//! Requirements of a package in the metadata of a project: requirement files, `pyproject.toml`, `setup.cfg`, `setup.py`, environments of conda.
//!
//! **Invariant:** a requirement without an upper limit is a mention with the limit `None`; text that is not a requirement is not a mention.

use super::jax_version::{JaxPin, JaxVersion};

/// The operators on versions, longer ones first.
const OPERATORS: [&str; 8] = ["===", "==", "~=", "!=", "<=", ">=", "<", ">"];

/// A requirement and its limit on the newest version.
pub type Mention = Option<JaxPin>;

/// The mentions of the packages in a file, whose format follows from its name.
pub fn mentions(name: &str, text: &str, packages: &[String]) -> Vec<Mention> {
    let of_line = |line: &str| mention(line, packages);
    match name {
        "pyproject.toml" => of_pyproject(text, packages),
        // `install_requires = jax<0.4` and the lines below it.
        "setup.cfg" => {
            text.lines().filter_map(|line| of_line(line.split_once(" = ").map_or(line, |(_, of)| of))).collect()
        }
        "environment.yml" | "environment.yaml" => text.lines().filter_map(|line| of_conda(line, packages)).collect(),
        // A bare name may mean anything: a keyword, or the name of the project.
        "setup.py" => text.split(['"', '\'']).filter_map(of_line).flatten().map(Some).collect(),
        _ => text.lines().filter_map(of_line).collect(),
    }
}

/// Parses a requirement such as `jax[cuda12]>=0.4.1,<0.5 ; python_version > "3.9"`; `None` if it is not for one of the packages.
fn mention(written: &str, packages: &[String]) -> Option<Mention> {
    let written = written.split([';', '#', '\\']).next()?.split(" --").next()?.trim();
    let end = written.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(written.len());
    let (name, rest) = written.split_at(end);
    let name = name.to_ascii_lowercase().replace('_', "-");
    if !packages.contains(&name) {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('[').map_or(Some(rest), |extras| Some(extras.split_once(']')?.1))?.trim();
    let is_requirement = rest.is_empty() || rest.starts_with(['<', '>', '=', '!', '~', '(', '@']);
    is_requirement.then(|| newest(rest.trim_matches(['(', ')'])))
}

/// Parses an item of a list of dependencies: `- conda-forge::jax=0.4.19=py310_0`, and below `pip:` an ordinary requirement. With one `=`, conda
/// accepts any further numbers.
fn of_conda(line: &str, packages: &[String]) -> Option<Mention> {
    let item = line.trim().strip_prefix("- ")?.trim().trim_matches(['"', '\'']);
    let item = item.split_once("::").map_or(item, |(_, package)| package);
    let of_one = item.split_once('=').filter(|(name, version)| {
        !name.ends_with(['<', '>', '!', '~']) && version.starts_with(|first: char| first.is_ascii_digit())
    });
    match of_one {
        Some((name, version)) => {
            let version = version.split(['=', ' ']).next().unwrap_or(version);
            mention(&format!("{}=={}.*", name.trim(), version.trim_end_matches(".*")), packages)
        }
        None => mention(item, packages),
    }
}

/// The limit that clauses such as `>=0.4.1,<0.5` put on the newest version.
fn newest(clauses: &str) -> Mention {
    clauses.split(',').filter_map(|clause| of_clause(clause.trim())).min_by_key(|pin| (pin.newest(), !pin.is_exact()))
}

fn of_clause(clause: &str) -> Mention {
    let operator = OPERATORS.into_iter().find(|operator| clause.starts_with(operator))?;
    let written = clause[operator.len()..].split_whitespace().next()?;
    let family = written.strip_suffix(".*");
    let version = JaxVersion::parse(&padded(family.unwrap_or(written)))?;
    let parts = family.unwrap_or(written).split('.').count();
    match operator {
        "==" | "===" if family.is_none() => Some(JaxPin::Exact(version)),
        "==" => Some(JaxPin::Below(version.after(parts))),
        "~=" if parts > 1 => Some(JaxPin::Below(version.after(parts - 1))),
        "<=" => Some(JaxPin::Below(version.after(3))),
        "<" => Some(JaxPin::Below(version)),
        _ => None,
    }
}

/// A version of at least two numbers.
fn padded(written: &str) -> String {
    if written.contains('.') { written.to_owned() } else { format!("{written}.0") }
}

/// Parses poetry's notation: `^0.4.1`, `~0.4`, `0.4.30`, and ordinary clauses.
fn of_poetry(written: &str) -> Mention {
    let written = written.trim();
    if let Some(base) = written.strip_prefix('^') {
        let version = JaxVersion::parse(&padded(base))?;
        let parts = base.split('.').count();
        // A caret fixes everything up to the first number that is not 0.
        let kept = if version.major > 0 || parts == 1 {
            1
        } else if version.minor > 0 || parts == 2 {
            2
        } else {
            3
        };
        return Some(JaxPin::Below(version.after(kept)));
    }
    if let Some(base) = written.strip_prefix('~').filter(|base| !base.starts_with('=')) {
        let version = JaxVersion::parse(&padded(base))?;
        return Some(JaxPin::Below(version.after(base.split('.').count().min(2))));
    }
    if written.starts_with(|first: char| first.is_ascii_digit()) {
        let clause = format!("=={written}");
        return of_clause(&clause);
    }
    newest(written)
}

fn of_pyproject(text: &str, packages: &[String]) -> Vec<Mention> {
    if !packages.iter().any(|package| text.contains(package.as_str())) {
        return Vec::new();
    }
    let Ok(document) = text.parse::<toml::Table>() else { return Vec::new() };
    let at = |path: &[&str]| -> Option<&toml::Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(document.get(*first)?, |value, key| value.get(key))
    };
    let groups = [&["project", "optional-dependencies"][..], &["dependency-groups"]];
    let groups = groups.into_iter().filter_map(at).filter_map(toml::Value::as_table).flat_map(|table| table.values());
    let lists = at(&["project", "dependencies"]).into_iter().chain(groups);
    let written = lists.filter_map(toml::Value::as_array).flatten().filter_map(toml::Value::as_str);
    let mut mentions: Vec<Mention> = written.filter_map(|written| mention(written, packages)).collect();

    let groups = at(&["tool", "poetry", "group"]).and_then(toml::Value::as_table);
    let groups = groups.into_iter().flat_map(|table| table.values()).filter_map(|group| group.get("dependencies"));
    let own = ["dependencies", "dev-dependencies"].into_iter().filter_map(|name| at(&["tool", "poetry", name]));
    for table in own.chain(groups).filter_map(toml::Value::as_table) {
        for (_, value) in table.iter().filter(|(name, _)| packages.contains(&name.to_ascii_lowercase())) {
            let version = value.as_str().or_else(|| value.get("version")?.as_str());
            mentions.push(version.and_then(of_poetry));
        }
    }
    mentions
}
