//! The identity of a rule: its code and its name, as one value that is cheap to copy.
//!
//! **Invariant:** the table below is the only list of rules. Codes ascend, and no code is ever given to another rule.
//! Text becomes a [`RuleId`] at the edges only: options, comments, baselines.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Passes the table of all rules to another macro: first those whose findings the run itself makes, then those over facts, each with its
/// module in `rules`.
///
/// A new rule is one row here, `rules/<name>.md`, and `src/rules/<module>.rs`.
macro_rules! every_rule {
    ($macro:ident) => {
        $macro! {
            run: [
                SyntaxError "KEY001" "syntax-error",
                UnusedSuppression "KEY002" "unused-suppression",
                InvalidSuppression "KEY003" "invalid-suppression",
                UnreadableFile "KEY004" "unreadable-file",
                InternalError "KEY005" "internal-error",
            ]
            facts: [
                analysis_limited AnalysisLimited "KEY006" "analysis-limited",
                key_reused KeyReused "KEY101" "key-reused",
                key_reused_in_loop KeyReusedInLoop "KEY102" "key-reused-in-loop",
                key_used_after_split KeyUsedAfterSplit "KEY103" "key-used-after-split",
                key_derived_twice KeyDerivedTwice "KEY104" "key-derived-twice",
                seed_reused SeedReused "KEY105" "seed-reused",
                captured_key_in_transform CapturedKeyInTransform "KEY106" "captured-key-in-transform",
                stored_key_not_advanced StoredKeyNotAdvanced "KEY107" "stored-key-not-advanced",
                key_broadcast KeyBroadcast "KEY108" "key-broadcast",
                consumed_key_returned ConsumedKeyReturned "KEY109" "consumed-key-returned",
                split_discarded SplitDiscarded "KEY110" "split-discarded",
                caller_key_ignored CallerKeyIgnored "KEY111" "caller-key-ignored",
                key_buffer_indexed KeyBufferIndexed "KEY201" "key-buffer-indexed",
                key_arithmetic KeyArithmetic "KEY202" "key-arithmetic",
                key_axes_swapped KeyAxesSwapped "KEY203" "key-axes-swapped",
                key_shape_assumed KeyShapeAssumed "KEY204" "key-shape-assumed",
                key_dtype_assumed KeyDtypeAssumed "KEY205" "key-dtype-assumed",
                key_data_rewrapped KeyDataRewrapped "KEY206" "key-data-rewrapped",
                key_as_number KeyAsNumber "KEY207" "key-as-number",
                legacy_prngkey LegacyPrngkey "KEY301" "legacy-prngkey",
                removed_key_type RemovedKeyType "KEY302" "removed-key-type",
                private_prng_api PrivatePrngApi "KEY303" "private-prng-api",
                global_prng_impl GlobalPrngImpl "KEY304" "global-prng-impl",
                raw_key_bridge RawKeyBridge "KEY305" "raw-key-bridge",
                untyped_key_accepted UntypedKeyAccepted "KEY306" "untyped-key-accepted",
                key_impl_mismatch KeyImplMismatch "KEY307" "key-impl-mismatch",
                key_leaked_from_trace KeyLeakedFromTrace "KEY401" "key-leaked-from-trace",
                constant_key_in_trace ConstantKeyInTrace "KEY402" "constant-key-in-trace",
                host_rng_in_trace HostRngInTrace "KEY403" "host-rng-in-trace",
                unstable_seed UnstableSeed "KEY404" "unstable-seed",
                array_wrapper_as_key ArrayWrapperAsKey "KEY501" "array-wrapper-as-key",
                array_wrapper_crosses_transform ArrayWrapperCrossesTransform "KEY502" "array-wrapper-crosses-transform",
            ]
        }
    };
}

pub(crate) use every_rule;

/// Makes the enumeration of the table.
macro_rules! identities {
    (
        run: [$($run:ident $run_code:literal $run_name:literal,)*]
        facts: [$($module:ident $rule:ident $code:literal $name:literal,)*]
    ) => {
        /// A rule, by identity. Ordered as codes are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $(#[doc = concat!($run_code, ", `", $run_name, "`.")] $run,)*
            $(#[doc = concat!($code, ", `", $name, "`.")] $rule,)*
        }

        impl RuleId {
            /// Every rule, in the order of codes.
            pub const ALL: &[Self] = &[$(Self::$run,)* $(Self::$rule,)*];

            /// The code that is printed and never reassigned: `KEY101`.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$run => $run_code,)*
                    $(Self::$rule => $code,)*
                }
            }

            /// The name, which reads well after "ignore": `key-reused`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$run => $run_name,)*
                    $(Self::$rule => $name,)*
                }
            }
        }
    };
}

every_rule!(identities);

/// The subject of a rule, from the first digit of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `KEY0`: the run itself: unreadable files, comments.
    Run,
    /// `KEY1`: reuse and loss of keys.
    Reuse,
    /// `KEY2`: keys used as numbers.
    Buffer,
    /// `KEY3` and up: names and versions of the library.
    Library,
}

impl RuleId {
    /// The rule with this code, in any case.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.code().eq_ignore_ascii_case(code))
    }

    /// Whether its findings may be intended: numbers that repeat, as tests want them, or as a comment says; an implementation under which
    /// tests run the code.
    pub fn may_be_intended(self) -> bool {
        self.family() == Family::Reuse || matches!(self, Self::ConstantKeyInTrace | Self::GlobalPrngImpl)
    }

    /// What the rule is about.
    pub fn family(self) -> Family {
        match self.code().as_bytes().get(3) {
            Some(b'0') => Family::Run,
            Some(b'1') => Family::Reuse,
            Some(b'2') => Family::Buffer,
            _ => Family::Library,
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_code(&code).ok_or_else(|| serde::de::Error::custom("no rule has this code"))
    }
}
