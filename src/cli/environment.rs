//! Options from environment variables: `KEYLINT_OUTPUT_FORMAT` stands for `--output-format`.
//!
//! **Invariant:** the command line overrides the environment, including by the opposite of a flag; an empty variable counts as unset.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::args::Args;
use crate::config::variable;

/// The commands that check code, and so take their options from the environment.
const COMMANDS: [&str; 8] = ["check", "baseline", "create", "update", "prune", "config", "clean", "why"];

/// What turns a flag on, and what turns it off.
const ON: [&str; 4] = ["1", "true", "yes", "on"];
const OFF: [&str; 4] = ["0", "false", "no", "off"];

/// Parses the arguments of a process, and what its environment adds to them.
pub(super) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Args, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    protect_expressions(&mut arguments);
    let mut given = BTreeSet::new();
    collect_given(&Args::command().try_get_matches_from(&arguments)?, &mut given);
    let mut variables = BTreeSet::new();
    let mut command = with_defaults(Args::command(), &mut |option, has_opposite| {
        let value = value(option, &given, env).or_else(|| {
            // `KEYLINT_FIX=0` is `--no-fix`.
            let positive = option.get_long()?.strip_prefix("no-").filter(|_| has_opposite)?;
            let is_given = given.contains(option.get_id().as_str()) || given.contains(&positive.replace('-', "_"));
            let is_off = |value: &String| OFF.contains(&value.to_ascii_lowercase().as_str());
            env(&variable(positive)).filter(|value| !is_given && is_off(value)).map(|_| "true".to_owned())
        })?;
        variables.extend(option.get_long().map(str::to_owned));
        Some(value)
    });
    let mut error = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => {
            let mut args = Args::from_arg_matches(&matches)?;
            if let Some(selection) = args.command.selection_mut() {
                selection.variables = variables;
            }
            return Ok(args);
        }
        Err(error) => error,
    };
    // The command line alone was accepted, so a variable is wrong.
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) {
        let long = option.split_whitespace().next().unwrap_or_default().to_owned();
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable(long.trim_start_matches('-'))));
    }
    // A flag takes more words for yes and no than the parser knows.
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && values.iter().any(|value| value == "true")
    {
        let words = [ON, OFF].concat().into_iter().map(str::to_owned).collect();
        error.insert(ContextKind::ValidValue, ContextValue::Strings(words));
    }
    Err(error)
}

/// Puts a space before expressions of `keylint eval` that begin with `-`, so that the parser does not take `-normal(key(0))` for an option.
/// Its own setting for values with hyphens takes everything after the first value for one.
fn protect_expressions(arguments: &mut [OsString]) {
    for argument in arguments.iter_mut().skip_while(|argument| *argument != "eval") {
        let Some(name) = argument.to_str().filter(|text| text.starts_with('-')) else { continue };
        let name = name.trim_start_matches('-').split('=').next().unwrap_or_default();
        let is_option = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            && !name.starts_with(|first: char| first.is_ascii_digit());
        if !is_option {
            *argument = [OsString::from(" "), argument.clone()].into_iter().collect();
        }
    }
}

/// The identities of the options on the command line.
fn collect_given(matches: &ArgMatches, given: &mut BTreeSet<String>) {
    let is_given = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    given.extend(matches.ids().filter(is_given).map(|id| id.as_str().to_owned()));
    if let Some((_, inner)) = matches.subcommand() {
        collect_given(inner, given);
    }
}

/// The value from the environment, if neither the option nor its opposite is on the command line.
fn value(option: &Arg, given: &BTreeSet<String>, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let id = option.get_id().as_str();
    let opposite = id.strip_prefix("no_").map_or_else(|| format!("no_{id}"), str::to_owned);
    if given.contains(id) || given.contains(&opposite) {
        return None;
    }
    let value = env(&variable(option.get_long()?)).filter(|value| !value.is_empty())?;
    let is_flag = matches!(option.get_action(), ArgAction::SetTrue);
    if !is_flag {
        return option.get_action().takes_values().then_some(value);
    }
    let word = value.to_ascii_lowercase();
    Some(if ON.contains(&word.as_str()) {
        "true".to_owned()
    } else if OFF.contains(&word.as_str()) {
        "false".to_owned()
    } else {
        value
    })
}

/// Gives options the values that `value` has for them; it also gets whether the command has the opposite of the option.
fn with_defaults(command: Command, value: &mut dyn FnMut(&Arg, bool) -> Option<String>) -> Command {
    let names: BTreeSet<String> = command.get_arguments().map(|option| option.get_id().to_string()).collect();
    let has_opposite =
        |option: &Arg| option.get_id().as_str().strip_prefix("no_").is_some_and(|name| names.contains(name));
    let command = command.mut_args(|option| match value(&option, has_opposite(&option)) {
        Some(value) => option.default_value(value),
        None => option,
    });
    command
        .mut_subcommands(|inner| if COMMANDS.contains(&inner.get_name()) { with_defaults(inner, value) } else { inner })
}
