//! Words that programs use for things that no library has a name for: what keys and targets are called.
//!
//! **Invariant:** a word alone never causes a finding; it is used in addition to other evidence.

use std::ops::Range;

use serde::Deserialize;

/// Declares the lists of `[words]`. After `=>`: the method that tests whether a word is in a list, if that is all that is needed.
macro_rules! lists {
    ($($(#[$doc:meta])+ $list:ident $(=> $asks:ident)?,)+) => {
        /// The words of `[words]`, each a whole word of a name unless documented otherwise.
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Words {
            /// What one key and several keys are called, as one word of a name.
            plurals: Vec<[String; 2]>,
            $($(#[$doc])+ $list: Vec<String>,)+
        }

        impl Words {
            /// Adds the words of `other`.
            pub(super) fn merge(&mut self, other: Self) {
                self.plurals.extend(other.plurals);
                $(self.$list.extend(other.$list);)+
            }

            $($(
                #[doc = concat!("Whether a word is one of `", stringify!($list), "`.")]
                pub fn $asks(&self, word: &str) -> bool {
                    holds(&self.$list, word)
                }
            )?)+
        }
    };
}

lists! {
    /// Whole names of keys and seeds.
    keys,
    /// Ends of such names.
    key_endings,
    /// Parts of names that keys and seeds mostly have.
    key_parts,
    /// Parts of names that only keys have.
    unmistakable_keys,
    /// Last names of types that are neither keys nor seeds.
    other_types => is_other_type,
    /// Last names of types that admit each of their arguments: `Optional[A]`.
    unions => is_union,
    /// Last names of type qualifiers: `Final[A]`.
    type_qualifiers => qualifies_type,
    /// Last names of types that admit everything.
    any_types => is_any_type,
    /// Last names of types of containers whose elements are all of the type that is the argument.
    sequence_types => is_sequence_type,
    /// Last names of types of mappings.
    mapping_types => is_mapping_type,
    /// Words for a target network.
    targets,
    /// Words for a network that predicts what the target computes.
    predictors,
    /// Words of names of seeds that are numbers, not keys.
    seeds,
    /// Last names of base classes of tests.
    test_cases => is_test_case,
    /// Names of functions that show their arguments to people.
    logs => is_log,
    /// Names of functions that combine the lanes of a mapped function.
    collectives => is_collective,
    /// Names of functions that bring elements of an array to other places, or sums of them.
    moving => moves_elements,
    /// First words of names of functions that check something.
    assertions,
    /// Words in names of functions that save or encode their arguments.
    savings,
    /// Names of Python's functions and types whose results are numbers.
    numbers => makes_number,
    /// Names of Python's functions and types whose results are strings or bytes.
    texts => makes_text,
    /// Names of Python's functions that collect their arguments.
    collections => collects,
    /// Names of functions that test whether two values are equal.
    equalities => tests_equality,
    /// What compares ways to do one thing, as one word of a name.
    comparisons,
    /// What makes a part of a program's state, as one word of the name of a function.
    constructions,
    /// What makes such a part, as a rule once, as one word of such a name.
    makers,
    /// What makes such a part once or more often, as one word of such a name.
    resets,
    /// What evaluates or shows a result, as one word of the name of a function or script.
    evaluations,
    /// What a key is for that only evaluates, as one word of its name.
    evaluation_keys,
    /// What measures how good a result is, as one word of the name of a function.
    measurements,
    /// What trains, as one word of such a name.
    trainings,
    /// What searches by evaluating candidates, as one word of such a name.
    searches,
    /// Parts of names of versions.
    versions,
    /// Words for the parameters of a network, as one word of a name.
    network_parameters,
    /// Words for a placeholder key, as one word of its name.
    placeholders,
    /// What authors call keys and random numbers, in the singular.
    randomness,
    /// Phrases by which a comment or docstring says that a key is shared on purpose. In them `KEY` is a word for randomness, and `*`
    /// stands for up to two words.
    shared_on_purpose,
    /// Further phrases, for comments beside a draw only.
    said_beside,
    /// Phrases of comments and docstrings which say that a constant key is fixed on purpose.
    fixed_on_purpose,
    /// Words of a text about a constant key by which its author means to replace it later.
    shortcuts,
    /// Further phrases, for clauses of few words beside a draw.
    said_alone,
    /// Words that may not be between the words of a phrase.
    joints,
    /// Words right after a phrase that make it a statement about a number: `the same noise level`.
    measures,
    /// Words before a phrase that deny it.
    denials,
    /// Words in whose company a phrase is a complaint.
    complaints,
    /// Verbs after a phrase that make it a statement about keys in general: `the same key gives the same numbers`.
    laws,
    /// Words after a phrase that forbid what it says, or deny that it is so, if one of `refused_by` comes before: `must not`.
    refusals,
    /// Verbs before a refusal.
    refused_by,
    /// Words of a clause of a docstring that speaks of callers or of something else.
    of_callers,
    /// Words after a phrase that say that it speaks of what keys are.
    natures,
}

/// Most words that a `*` of a phrase matches.
const BETWEEN: usize = 2;

/// Words after a phrase among which its verb is: `the same key always gives`.
const ADVERBS: usize = 2;

/// Words after a phrase among which its negation is: `common random numbers are not used`.
const VERB: usize = 3;

/// Most words of a clause that only says that something is on purpose.
const ALONE: usize = 3;

fn holds(words: &[String], word: &str) -> bool {
    words.iter().any(|one| one == word)
}

impl Words {
    /// Whether a function of this name saves or encodes its argument.
    pub fn saves(&self, name: &str) -> bool {
        name.split('_').any(|word| holds(&self.savings, word))
    }

    /// Whether a function of this name checks something.
    pub fn is_assertion(&self, name: &str) -> bool {
        let word = name.trim_start_matches('_').split('_').next().unwrap_or_default();
        self.assertions.iter().any(|one| word == one || name.starts_with(one.as_str()) && one == "assert")
    }

    /// Whether a name indicates a key or a seed. Evidence only for a parameter that nothing reads, and for the argument in the key position
    /// of a method.
    pub fn names_a_key(&self, name: &str) -> bool {
        let name = name.trim_start_matches('_');
        holds(&self.keys, name) || self.key_endings.iter().any(|end| name.ends_with(end.as_str()))
    }

    /// Whether a word of a name means a seed.
    pub fn names_a_seed(&self, name: &str) -> bool {
        name.split('_').any(|word| holds(&self.seeds, word))
    }

    /// What keys are called, as one word of a name: each with what several are called.
    pub fn key_words(&self) -> impl Iterator<Item = (&str, &str)> {
        self.plurals.iter().map(|[one, several]| (one.as_str(), several.as_str()))
    }

    /// Whether a word of a name means one or several keys.
    pub fn is_key_word(&self, word: &str) -> bool {
        self.key_words().any(|(one, several)| word == one || word == several)
    }

    /// Whether a name indicates several keys.
    pub fn names_several_keys(&self, name: &str) -> bool {
        self.key_words().any(|(_, several)| name.ends_with(several))
    }

    /// Whether an expression has a name that keys and seeds usually have: `dropout_key`, `rngs[0]`, `k2`.
    pub fn is_keyish(&self, code: &str) -> bool {
        let head = code.split('[').next().unwrap_or_default();
        let last = head.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let numbered = last.trim_end_matches(|one: char| one.is_ascii_digit() || one == '_');
        numbered == "k" || self.key_parts.iter().any(|part| last.contains(part.as_str()))
    }

    /// Whether the last word of a name is one for keys: `dropout_rng`, `subkey`, but not `rng_count`.
    pub fn ends_like_a_key(&self, name: &str) -> bool {
        let numbered = name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '_').to_ascii_lowercase();
        self.key_words().any(|(one, several)| numbered.ends_with(one) || numbered.ends_with(several))
    }

    /// Whether nothing but a key has such a name.
    pub fn is_unmistakable(&self, name: &str) -> bool {
        self.unmistakable_keys.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether a type is named for single keys, and nothing else: `PRNGKey`, `RNGKey`.
    pub fn names_a_key_type(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        name.ends_with("key") && self.is_unmistakable(&name)
    }

    /// Whether a name indicates a comparison: `compare_methods`, `benchmark`.
    pub fn names_a_comparison(&self, name: &str) -> bool {
        name.split('_').any(|word| holds(&self.comparisons, &word.to_ascii_lowercase()))
    }

    /// Whether a name indicates a function that makes a part of a program's state, once or more often: `init_layer`, `reset`.
    pub fn names_a_construction(&self, name: &str) -> bool {
        self.names_a_single_construction(name) || has_word(&self.resets, name)
    }

    /// Whether a name indicates a function that makes a part of a program's state, as a rule once: `create_train_state`.
    pub fn names_a_single_construction(&self, name: &str) -> bool {
        self.names_a_first_construction(name) || self.names_a_maker(name)
    }

    /// Whether a name indicates a function that makes an object: `create`, `make_env`.
    pub fn names_a_maker(&self, name: &str) -> bool {
        has_word(&self.makers, name)
    }

    /// Whether a name indicates a function that makes a part of a program's state before it is used: `init_layer`, `setup`.
    pub fn names_a_first_construction(&self, name: &str) -> bool {
        has_word(&self.constructions, name)
    }

    /// Whether a name indicates code that evaluates or shows a result and does not train: `main_eval`, `plot_samples`.
    pub fn names_an_evaluation(&self, name: &str) -> bool {
        has_word(&self.evaluations, name) && !self.names_training(name)
    }

    /// Whether the name of a key indicates that it is for an evaluation: `eval_key`, `val_rng`.
    pub fn names_a_key_for_evaluation(&self, name: &str) -> bool {
        has_word(&self.evaluation_keys, name)
    }

    /// Whether a name indicates the parameters of a network.
    pub fn names_network_parameters(&self, name: &str) -> bool {
        has_word(&self.network_parameters, name)
    }

    /// Whether a name indicates a function that measures what a program has computed so far: `compute_metrics`, `validate`.
    pub fn names_a_measurement(&self, name: &str) -> bool {
        has_word(&self.measurements, name)
    }

    /// Whether a name indicates code that trains: `train_and_evaluate`.
    pub fn names_training(&self, name: &str) -> bool {
        has_word(&self.trainings, name)
    }

    /// Whether a name indicates a search that evaluates candidates, whose results decide how it goes on: `evolve_population`.
    pub fn names_a_search(&self, name: &str) -> bool {
        has_word(&self.searches, name)
    }

    /// Whether a name indicates a placeholder key: `dummy_key`, `_unused_rng`.
    pub fn names_placeholder(&self, name: &str) -> bool {
        let is_key = |word: &String| holds(&self.randomness, word) || holds(&self.keys, word);
        self.names_placeholder_value(name) && plain_words(name).iter().any(is_key)
    }

    /// Whether a name indicates a placeholder of any kind: `dummy_state`.
    pub fn names_placeholder_value(&self, name: &str) -> bool {
        plain_words(name).iter().any(|word| holds(&self.placeholders, word))
    }

    /// Whether a name indicates a version: `__version__`, `JAX_VERSION`.
    pub fn names_a_version(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.versions.iter().any(|version| name.contains(version.as_str()))
    }

    /// Whether a name indicates a target network: `target_critic`, `qf1_target_params`.
    pub fn names_a_target(&self, name: &str) -> bool {
        name.split('_').any(|word| self.targets.iter().any(|target| word.eq_ignore_ascii_case(target)))
    }

    /// Whether a name indicates a network that is trained to predict what another one computes: it must not start as its copy.
    pub fn names_a_predictor(&self, name: &str) -> bool {
        has_word(&self.predictors, name)
    }

    /// The clause of a comment or docstring that says that a key is shared on purpose, or that a draw is not used.
    pub fn clause_on_sharing<'t>(&self, text: &'t str, is_docstring: bool) -> Option<&'t str> {
        let (beside, alone) =
            if is_docstring { (&[][..], &[][..]) } else { (&self.said_beside[..], &self.said_alone[..]) };
        self.clause(text, [&self.shared_on_purpose, beside], alone, is_docstring)
    }

    /// The clause of a comment or docstring about a constant key that says that it is fixed on purpose. A text that also complains says no such
    /// thing.
    pub fn clause_on_fixing<'t>(&self, text: &'t str) -> Option<&'t str> {
        let reverses = |word: &String| holds(&self.complaints, word) || holds(&self.shortcuts, word);
        self.clause(text, [&self.fixed_on_purpose, &[]], &[], false).filter(|_| !plain_words(text).iter().any(reverses))
    }

    /// The first clause of a text with one of some phrases, or with one that says enough in a short clause.
    fn clause<'t>(
        &self,
        text: &'t str,
        phrases: [&[String]; 2],
        alone: &[String],
        is_docstring: bool,
    ) -> Option<&'t str> {
        sentences(text).into_iter().find_map(|sentence| {
            let complains = plain_words(sentence).iter().any(|word| holds(&self.complaints, word));
            let mut clauses = sentence.split([',', ';', ':']).filter(|_| !complains);
            clauses.find(|clause| {
                let words = plain_words(clause);
                let alone = if words.len() <= ALONE { alone } else { &[] };
                let phrases = phrases.into_iter().flatten().chain(alone);
                let found: Vec<Range<usize>> = phrases.flat_map(|phrase| self.find(phrase, &words)).collect();
                let next = |end: usize| words[end..].iter().take(ADVERBS);
                let is_law = |end: usize| next(end).any(|word| holds(&self.laws, word));
                // A docstring tells callers what the same key always gives, and what else to read.
                let is_for_callers = is_docstring
                    && (words.iter().any(|word| holds(&self.of_callers, word))
                        || found.iter().any(|it| is_law(it.end)));
                !is_for_callers
                    && found.iter().any(|Range { start, end }| {
                        // "the same noise level" speaks of a number, but a key has none.
                        let is_key = words[*start..*end].last().is_some_and(|word| holds(&self.keys, word));
                        let is_measured = !is_key && words.get(*end).is_some_and(|word| holds(&self.measures, word));
                        let verb = &words[*end..(*end + VERB).min(words.len())];
                        let is_refused = verb.windows(2).any(|pair| match pair {
                            [verb, word] => holds(&self.refused_by, verb) && holds(&self.refusals, word),
                            _ => false,
                        });
                        let is_of_nature = next(*end).any(|word| holds(&self.natures, word));
                        !is_measured
                            && !is_law(*end)
                            && !words[..*start].iter().any(|word| holds(&self.denials, word))
                            && !is_refused
                            && !is_of_nature
                    })
            })
        })
    }

    /// Where a phrase is among words.
    fn find<'w>(&'w self, phrase: &'w str, words: &'w [String]) -> impl Iterator<Item = Range<usize>> + 'w {
        let parts: Vec<&str> = phrase.split_whitespace().collect();
        (0..words.len()).filter_map(move |at| Some(at..at + self.begins_with(&words[at..], &parts)?))
    }

    /// How many words of a text a phrase matches from its beginning, if it does.
    fn begins_with(&self, words: &[String], parts: &[&str]) -> Option<usize> {
        let Some((part, rest)) = parts.split_first() else { return Some(0) };
        if *part == "*" {
            let between = words.iter().take(BETWEEN).take_while(|word| !holds(&self.joints, word)).count();
            return (0..=between).find_map(|skipped| Some(skipped + self.begins_with(&words[skipped..], rest)?));
        }
        let (word, others) = words.split_first()?;
        let is_it = if *part == "KEY" { holds(&self.randomness, word) } else { word == part };
        self.begins_with(others, rest).filter(|_| is_it).map(|matched| matched + 1)
    }
}

/// The sentences of a text; questions are none.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in text.match_indices(['.', '!', '?']) {
        let after = at + mark.len();
        if text[after..].starts_with(|next: char| !next.is_whitespace()) {
            continue;
        }
        if mark != "?" {
            sentences.push(&text[start..at]);
        }
        start = after;
    }
    sentences.push(&text[start..]);
    sentences
}

/// Whether a name has one of some words: `main_eval` and `mainEval` have `eval`.
pub(super) fn has_word(words: &[String], name: &str) -> bool {
    let mut spaced = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_uppercase() && (before.is_lowercase() || before.is_numeric()) {
            spaced.push('_');
        }
        spaced.extend(letter.to_lowercase());
        before = letter;
    }
    spaced.split(|letter: char| !letter.is_alphanumeric()).any(|word| holds(words, word))
}

/// The words of a text, small and in the singular.
fn plain_words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let word = word.to_lowercase();
            let singular = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s'));
            singular.map_or_else(|| word.clone(), ToOwned::to_owned)
        })
        .collect()
}
