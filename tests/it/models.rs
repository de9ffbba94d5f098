//! Compares the API models with the public names of the libraries, as recorded in `fixtures/models/`.
//!
//! **Invariant:** a list of fixtures is read from disk, never repeated here; a library or version is added by adding
//! a file.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own fixtures has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use keylint::models::{
    Argument, Callable, Construct, Effect, Models, NameStatus, ParamKind, Problem, SeedKind, Yield, bound,
    path_of_dtype,
};

/// Methods of concrete arrays that the abstract class `jax.Array`, which users name, does not list.
const CONCRETE: &[&str] =
    &["jax.Array.__array__", "jax.Array.block_until_ready", "jax.Array.tobytes", "jax.Array.tolist"];

/// One recorded name: `None` if Python does not know the signature or the name cannot be called.
type Recorded = BTreeMap<String, Option<Vec<String>>>;

fn recorded() -> BTreeMap<String, Recorded> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/models");
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let names = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?.to_owned();
            let mut rest: Vec<String> = words.map(str::to_owned).collect();
            if rest.first().is_some_and(|word| word == "class") {
                rest.remove(0);
            }
            let reported = !matches!(rest.as_slice(), [word] if word == "?" || word == "value");
            Some((name, reported.then_some(rest)))
        });
        all.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), names.collect());
    }
    assert!(all.len() > 10, "the recorded lists are missing");
    all
}

/// The built-in model files: origin and text.
fn files() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules/models");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let models = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    models.map(|path| (path.file_name().unwrap().to_string_lossy().into(), fs::read_to_string(path).unwrap())).collect()
}

/// Parameters in the notation of model files.
fn written(callable: &Callable) -> Vec<String> {
    let mut words = Vec::new();
    let mut keyword_only = false;
    for param in &callable.params {
        match param.kind {
            ParamKind::Positional => words.push(param.name.clone()),
            ParamKind::Rest => {
                keyword_only = true;
                words.push(format!("*{}", param.name));
            }
            ParamKind::KeywordRest => words.push(format!("**{}", param.name)),
            ParamKind::KeywordOnly => {
                if !keyword_only {
                    keyword_only = true;
                    words.push("*".to_owned());
                }
                words.push(param.name.clone());
            }
        }
    }
    words
}

fn problems(text: &str) -> Vec<Problem> {
    Models::parse(text, "my.toml").expect_err("this text has problems")
}

fn shown(text: &str) -> Vec<String> {
    problems(text).iter().map(ToString::to_string).collect()
}

#[test]
fn every_file_loads() {
    let list = include_str!("../../src/models/mod.rs");
    for (origin, text) in files() {
        assert!(list.contains(&format!("rules/models/{origin}\", include_str!")), "{origin} is not in `FILES`");
        if let Err(problems) = Models::parse(&text, &origin) {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
    }
}

#[test]
fn no_path_has_rows_in_two_files() {
    let mut seen = BTreeMap::new();
    for (origin, text) in files() {
        let models = Models::parse(&text, &origin).unwrap();
        let callables = models.callables().into_iter().map(|row| ("callable", row.path.clone()));
        let namespaces = models.namespaces().into_iter().map(|row| ("namespace", row.path.clone()));
        let classes = models.classes().into_iter().map(|row| ("callable", row.path.clone()));
        let annotations = models.annotations().into_iter().map(|row| ("annotation", row.path.clone()));
        let aliases = models.aliases().into_iter().map(|(from, _)| ("alias", from.to_owned()));
        for row in callables.chain(namespaces).chain(classes).chain(annotations).chain(aliases).collect::<Vec<_>>() {
            if let Some(other) = seen.insert(row.clone(), origin.clone()) {
                panic!("{row:?} stands in {other} and in {origin}");
            }
        }
    }
}

#[test]
fn every_random_function_since_0_4_16_has_a_row() {
    let models = Models::builtin();
    let mut missing = Vec::new();
    for (list, names) in recorded().iter().filter(|(list, _)| list.starts_with("jax_random_")) {
        for (name, params) in names {
            let has_row = models.callable(name).is_some_and(|row| row.exact);
            if params.is_some() && !has_row {
                missing.push(format!("{list}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_path_of_a_recorded_module_exists() {
    let models = Models::builtin();
    let lists = recorded();
    let names: BTreeSet<&str> = lists.values().flat_map(|list| list.keys().map(String::as_str)).collect();
    let module = |path: &str| path.rsplit_once('.').map_or(String::new(), |(module, _)| module.to_owned());
    let modules: BTreeSet<String> = names.iter().map(|name| module(name)).collect();
    let callables = models.callables().into_iter().filter(|row| row.removed.is_none()).map(|row| row.path.as_str());
    let classes = models.classes().into_iter().map(|row| row.path.as_str());
    let unknown: Vec<&str> = callables
        .chain(classes)
        .filter(|path| modules.contains(&module(path)) && !names.contains(path) && !CONCRETE.contains(path))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn params_equal_the_real_signatures() {
    let models = Models::builtin();
    let lists = recorded();
    let mut wrong = Vec::new();
    for row in models.callables().into_iter().filter(|row| row.removed.is_none()) {
        // NumPy's rows name what matters of signatures that differ between its versions and its two dispatchers.
        if row.path.starts_with("numpy.") || row.params.is_empty() {
            continue;
        }
        // Lists of one library sort by version as text; what matters is that one of them agrees.
        let real: Vec<&Vec<String>> = lists.values().filter_map(|list| list.get(&row.path)?.as_ref()).collect();
        if !real.is_empty() && !real.contains(&&written(row)) {
            wrong.push(format!("{}: {:?} but really {real:?}", row.path, written(row)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of the parameters that carry keys, as far as the effect names them.
fn keys_of(row: &Callable) -> &[String] {
    match &row.effect {
        Effect::Sample { keys, .. } | Effect::Consume { keys, .. } => keys,
        Effect::Split { key, .. } | Effect::Fold { key, .. } | Effect::Clone { key } | Effect::KeyData { key } => {
            std::slice::from_ref(key)
        }
        _ => &[],
    }
}

#[test]
fn key_parameters_have_one_position_in_all_versions() {
    let models = Models::builtin();
    for (list, names) in recorded().iter().filter(|(list, _)| list.starts_with("jax_")) {
        for (name, params) in names {
            let (Some(params), Some(row)) = (params, models.callable(name)) else { continue };
            for key in keys_of(row) {
                let real = params.iter().take_while(|word| *word != "*").position(|word| word == key);
                assert_eq!(row.position(key), real, "{list}: {name}: {key}");
            }
        }
    }
}

#[test]
fn samplers_are_called_with_the_key_first() {
    for row in Models::builtin().callables() {
        if let Effect::Sample { keys, .. } = &row.effect {
            assert_eq!((keys.as_slice(), row.position("key")), (&["key".to_owned()][..], Some(0)), "{}", row.path);
        }
    }
}

#[test]
fn equivalents_name_samplers_with_their_parameters() {
    let models = Models::builtin();
    for row in models.equivalents() {
        let sampler = models.callable(&row.sampler).unwrap();
        assert!(matches!(sampler.effect, Effect::Sample { .. }), "{}", row.path);
        assert!(sampler.position("shape").is_some(), "{}", row.path);
        assert_eq!(sampler.position("shape"), Some(1 + row.own.len()), "{}", row.path);
        assert!(row.bounds.is_empty() || sampler.param("minval").is_some(), "{}", row.path);
        assert!(models.callable(&row.path).is_some_and(|host| host.host.is_some()), "{}", row.path);
    }
}

#[test]
fn aliases_have_targets() {
    let models = Models::builtin();
    let mut rows: Vec<&str> = models.callables().into_iter().map(|row| row.path.as_str()).collect();
    rows.extend(models.namespaces().into_iter().map(|row| row.path.as_str()));
    rows.extend(models.classes().into_iter().map(|row| row.path.as_str()));
    rows.extend(models.annotations().into_iter().map(|row| row.path.as_str()));
    for (from, to) in models.aliases() {
        let path = models.canonical(to, &[]);
        let is_row = |row: &&str| row.strip_prefix(&*path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        assert!(to == "builtins.None" || rows.iter().any(is_row), "{from} is another name of {to}, which is nothing");
    }
}

#[test]
fn roots_and_aliases_are_one_library() {
    let models = Models::builtin();
    let path = |name: &str| models.callable(name).map(|row| row.path.as_str());
    assert_eq!(path("jax.random.uniform"), Some("jax.random.uniform"));
    assert_eq!(path("olympus.random.uniform"), Some("jax.random.uniform"));
    assert_eq!(path("jax._src.random.uniform"), Some("jax.random.uniform"));
    assert_eq!(path("jax.tree_map"), Some("jax.tree_util.tree_map"));
    assert_eq!(path("olympus.tree_map"), Some("jax.tree_util.tree_map"));
    assert_eq!(path("flax.linen.initializers.he_normal"), Some("jax.nn.initializers.he_normal"));
    assert_eq!(path("flax.linen.initializers.zeros_init"), Some("flax.linen.initializers.zeros_init"));
    // Functions by the paths of the inner modules that define them, which rows of that module hide.
    assert_eq!(path("jax._src.lax.control_flow.loops.scan"), Some("jax.lax.scan"));
    assert_eq!(path("equinox.internal._loop.loop.while_loop"), Some("equinox.internal.while_loop"));
    assert_eq!(path("flax.nnx.nn.initializers.he_normal"), Some("jax.nn.initializers.he_normal"));
    assert_eq!(path("flax.linen.transforms.scan"), Some("flax.linen.scan"));
    assert!(models.class("haiku._src.base.PRNGSequence").is_some());
    assert_eq!(path("jax.unknown.Unknown.vmap").filter(|path| path.ends_with("vmap")), None);
    assert_eq!(path("jax.numpy.random.normal").filter(|path| path.ends_with("normal")), None);
    assert!(models.claims("flax.linen.scan", &[]) && !models.claims("flax.linen.transforms.scan", &[]));
    assert_eq!(path("mine.random.uniform"), None);
    let roots = ["mine".to_owned()];
    assert_eq!(models.canonical("mine.random.uniform", &roots), "jax.random.uniform");
    assert_eq!(models.rooted("mine.tree_map", &roots), "jax.tree_map");
    assert_eq!(models.rooted("olympus", &[]), "jax");
    assert_eq!(models.rooted("olympusish.random", &[]), "olympusish.random");
    assert!(models.mentions("olympus.numpy.sum", &[]));
    assert!(!models.mentions("mine.numpy.sum", &[]));
}

#[test]
fn namespaces_cover_members_without_a_row() {
    let models = Models::builtin();
    let effect = |name: &str| models.callable(name).map(|row| (row.exact, row.effect.clone()));
    assert_eq!(effect("jax.numpy.sum"), Some((false, Effect::Pure { numeric: true, many: false, counts: false })));
    assert_eq!(
        effect("jax.numpy.linalg.norm"),
        Some((false, Effect::Pure { numeric: true, many: false, counts: false }))
    );
    assert_eq!(effect("jax.random.not_yet_written"), Some((false, Effect::Observe)));
    assert_eq!(effect("numpy.random.uniform"), Some((false, Effect::Observe)));
    assert_eq!(effect("my_project.normal"), None);
    assert_eq!(effect("jax.numpy.equal"), Some((true, Effect::Pure { numeric: false, many: false, counts: false })));
}

#[test]
fn classes_are_not_functions() {
    let models = Models::builtin();
    for path in ["haiku.PRNGSequence", "flax.nnx.Rngs", "jax.experimental.random.stateful_rng"] {
        assert!(models.callable(path).is_none(), "{path}");
        assert!(matches!(models.class(path).unwrap().construct, Construct::Stream { .. }), "{path}");
    }
    assert!(models.callable("haiku.PRNGSequence.take").is_none());
    let rngs = models.class("flax.nnx.Rngs").unwrap();
    assert_eq!(rngs.method("params"), Some(Yield::Key));
    assert_eq!(rngs.method("normal"), Some(Yield::Number));
    let keywords = [("params".into(), 2), ("default".into(), 3)];
    assert_eq!(bound(&rngs.params, "default", &[1], &keywords[..1]), [&1]);
    assert_eq!(bound(&rngs.params, "default", &[], &keywords), [&3]);
    assert_eq!(bound(&rngs.params, "**rngs", &[], &keywords), [&2]);
    assert!(matches!(models.class("equinox.Module").unwrap().construct, Construct::Record { frozen: true, .. }));
}

#[test]
fn arguments_bind_to_parameters() {
    let models = Models::builtin();
    let uniform = models.callable("jax.random.uniform").unwrap();
    assert_eq!(uniform.argument("key", 1, &[]), Some(Argument::Positional(0)));
    assert_eq!(uniform.argument("key", 0, &["shape", "key"]), Some(Argument::Keyword(1)));
    assert_eq!(uniform.argument("shape", 1, &[]), None);
    assert_eq!(uniform.position("out_sharding"), None);
    let cond = models.callable("jax.lax.cond").unwrap();
    assert_eq!(cond.argument("operands", 5, &[]), Some(Argument::Rest(3)));
    assert_eq!(cond.argument("operands", 3, &["operand"]), None);
    assert_eq!(cond.argument("operand", 3, &["operand"]), Some(Argument::Keyword(0)));
    let eval_shape = models.callable("jax.eval_shape").unwrap();
    assert_eq!(eval_shape.argument("kwargs", 1, &["fun", "x"]), Some(Argument::KeywordRest));
    assert_eq!(eval_shape.argument("kwargs", 1, &["fun"]), None);
    let layer = models.callable("haliax.nn.Linear.init").unwrap();
    assert_eq!(layer.argument("key", 2, &["out_first", "key"]), Some(Argument::Keyword(1)));
    assert_eq!(layer.argument("key", 2, &[]), None);
}

#[test]
fn constructors_determine_kinds() {
    let models = Models::builtin();
    let kind = |name: &str| match models.callable(name).map(|row| &row.effect) {
        Some(Effect::Seed { kind, .. }) => Some(*kind),
        _ => None,
    };
    assert_eq!(kind("jax.random.key"), Some(SeedKind::Typed));
    assert_eq!(kind("jax.random.PRNGKey"), Some(SeedKind::Raw));
    assert_eq!(kind("jax.random.split"), None);
}

#[test]
fn factories_name_what_they_make() {
    let Effect::Factory { makes } = &Models::builtin().callable("jax.nn.initializers.normal").unwrap().effect else {
        panic!("an initialiser is made by a factory");
    };
    assert_eq!(makes.path, "jax.nn.initializers.normal()");
    assert_eq!(makes.effect, Effect::Sample { keys: vec!["key".to_owned()], rows: None });
    assert_eq!(Models::builtin().callable("jax.nn.initializers.zeros").unwrap().effect, Effect::Observe);
}

#[test]
fn every_operation_has_a_row() {
    let all: String = files().into_iter().map(|(_, text)| text).collect();
    for effect in ["shape", "tree", "shape-of", "builtin"] {
        let text = format!("[[callable]]\npath = \"my.f\"\nparams = [\"x\"]\neffect = \"{effect}\"\nop = \"\"\n");
        let message = &problems(&text)[0].message;
        let names: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        assert!(names.len() > 3, "{message}");
        for name in names {
            assert!(all.contains(&format!("op = \"{name}\"")), "no row has the operation {name} of {effect}");
        }
    }
}

#[test]
fn protocols_are_found_by_method() {
    let models = Models::builtin();
    assert!(models.protocols("init").iter().any(|row| row.libraries == ["flax"] && row.key.position == Some(0)));
    assert!(models.protocols("apply").iter().any(|row| row.libraries == ["haiku"] && row.key.position == Some(1)));
    assert!(models.protocols("no_such_method").is_empty());
}

#[test]
fn problems_have_positions() {
    let text = "[[callable]]\npath = \"my.f\"\nparams = [\"key\"]\neffect = \"consume\"\nkye = \"key\"\n";
    let found = problems(text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].row, found[0].column), (5, 1));
    assert_eq!(&text[found[0].span.start as usize..found[0].span.end as usize], "kye");
    assert!(found[0].message.starts_with("unknown field `kye`"), "{}", found[0].message);
    assert!(found[0].to_string().starts_with("my.toml:5:1: "));
}

#[test]
fn one_bad_row_does_not_hide_the_next() {
    let text = r#"
[[callable]]
path = "my.f"
params = ["key"]
effect = "nonsense"

[[callable]]
path = "my.g"
params = ["key"]
effect = "consume"
key = "rng"

[[callable]]
path = "my.h"
params = ["key", "key"]
effect = "sample"
axes = "key"

[[callable]]
effect = "observe"

[[callable]]
path = "my..i"
effect = "builtin"
op = "lenght"

[[callable]]
path = "my.j"
effect = "transform"
returns = "function"

[[callable]]
path = "my.k"
effect = "observe"
since = "soon"

[[callable]]
path = "my.k"
effect = "observe"

[[classes]]
path = "my.C"

[[annotation]]
path = "my.K"
kind = "typed"
rank = "many"

[[protocol]]
method = "draw"
libraries = []
effect = "consume"

[[reported]]
path = "my.gone"
removed = "once"
instead = "write `my.here`"

[[reported]]
path = "my.hidden"
removed = "1.0"
private = true
instead = "write `my.here`"

[callables]
"#;
    // Lists of all names would repeat the schema; the start of a message is enough.
    let starts: Vec<String> = shown(text).iter().map(|line| line.chars().take(64).collect()).collect();
    let expected = [
        "my.toml:5:10: unknown variant `nonsense`, expected one of `seed`",
        "my.toml:11:1: `rng` is not among `params`",
        "my.toml:15:1: the parameter `key` is listed twice",
        "my.toml:17:1: `axes` has no meaning for this effect",
        "my.toml:19:1: a row needs `path` or `paths`",
        "my.toml:22:1: `my..i` is not a dotted name",
        "my.toml:25:1: unknown variant `lenght`, expected one of `abs`, `",
        "my.toml:27:1: this effect needs `runs`",
        "my.toml:35:1: expected a version such as `0.4.16`",
        "my.toml:37:1: `my.k` has two rows",
        "my.toml:41:3: unknown table `classes`, expected one of `library`",
        "my.toml:47:8: expected a number of axes or `shape`",
        "my.toml:51:1: a protocol needs at least one library",
        "my.toml:56:1: expected a version such as `0.4.16`",
        "my.toml:59:1: a row needs either `removed` or `private = true`",
        "my.toml:65:2: unknown table `callables`, expected one of `librar",
    ];
    assert_eq!(starts, expected);
}

#[test]
fn broken_toml_is_a_problem() {
    let found = problems("[[callable]\npath = 1\n");
    assert_eq!(found[0].row, 1);
    assert!(Models::parse("", "my.toml").is_ok());
    assert_eq!(shown("callable = 1\n"), ["my.toml:1:1: expected an array of tables, found integer"]);
}

#[test]
fn reported_names_cover_what_is_below_them() {
    let rows = "[[reported]]\npath = \"my.old\"\nremoved = \"1.2\"\ninstead = \"write `my.new`\"\n\n\
                [[reported]]\nof-dtype = [\"_secret\"]\nprivate = true\ninstead = \"ask\"\n";
    let models = Models::parse(rows, "my.toml").unwrap();
    let status = |path: &str| models.reported(path).map(|name| name.status);
    assert_eq!(status("my.old"), Some(NameStatus::Removed([1, 2, 0])));
    assert_eq!(status("my.old.part"), Some(NameStatus::Removed([1, 2, 0])));
    assert_eq!((status("my.older"), status("my")), (None, None));
    assert!(models.is_reported_of_dtype("_secret") && !models.is_reported_of_dtype("shape"));
    assert_eq!(status(&path_of_dtype("_secret")), Some(NameStatus::Private));
}

#[test]
fn user_rows_override_built_in_ones() {
    let mut models = Models::builtin().clone();
    let mine = "[[callable]]\npath = \"optax.add_noise\"\nparams = [\"eta\"]\neffect = \"observe\"\n\
                [[callable]]\npath = \"my.draw\"\nparams = [\"n\", \"*\", \"key\"]\neffect = \"consume\"\n";
    models.merge(Models::parse(mine, "my.toml").unwrap());
    assert_eq!(models.callable("optax.add_noise").unwrap().effect, Effect::Observe);
    let draw = models.callable("my.draw").unwrap();
    assert_eq!(draw.argument("key", 1, &["key"]), Some(Argument::Keyword(0)));
    assert_eq!(draw.position("key"), None);
}

/// The names that the loader lists if a word is unknown: tables, keys, or names of effects.
fn listed(text: &str) -> Vec<String> {
    let found = problems(text);
    let (_, list) = found[0].message.split_once("expected").unwrap_or_else(|| panic!("{}", found[0].message));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/models.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(Models::parse(example, "my.toml").is_ok(), "{:?}", shown(example));
    let section = |table: &str| {
        let mut sections = page.split("\n## ").skip(1);
        let is_meant =
            |section: &&str| section.lines().next().is_some_and(|title| title.contains(&format!("[{table}]")));
        sections.find(is_meant).unwrap_or_else(|| panic!("no section for {table}"))
    };
    let tables = listed("[[none]]\n");
    assert!(tables.len() > 7, "{tables:?}");
    let mut missing = Vec::new();
    let mut look = |table: &str, text: &str| {
        let reported = section(table);
        let words = listed(text);
        assert!(!words.is_empty(), "{table}: {words:?}");
        // A key may be shown with its value: `many = true`.
        let is_reported =
            |word: &String| [format!("`{word}`"), format!("`{word} = ")].iter().any(|form| reported.contains(form));
        missing.extend(words.into_iter().filter(|word| !is_reported(word)).map(|word| format!("{table}: {word}")));
    };
    for table in &tables {
        // The heading says whether there are many of a table.
        let heading =
            if page.contains(&format!("`[[{table}]]`")) { format!("[[{table}]]") } else { format!("[{table}]") };
        look(table, &format!("{heading}\nnone = 0\n"));
    }
    look("callable", "[[callable]]\nmakes = { none = 0 }\n");
    look("protocol", "[[protocol]]\nkey = { none = 0 }\n");
    for (table, key) in [
        ("callable", "effect"),
        ("callable", "kind"),
        ("callable", "runs"),
        ("callable", "returns"),
        ("callable", "result"),
        ("class", "construct"),
        ("class", "call"),
        ("annotation", "kind"),
        ("protocol", "effect"),
        ("typed", "keys"),
        ("array-object", "takes"),
        ("array-object", "registers"),
    ] {
        look(table, &format!("[[{table}]]\n{key} = \"none\"\n"));
    }
    for effect in ["number", "shape-of"] {
        let row = "path = \"my.f\"\nparams = [\"x\"]\nop = \"none\"";
        look("callable", &format!("[[callable]]\neffect = \"{effect}\"\n{row}\n"));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
