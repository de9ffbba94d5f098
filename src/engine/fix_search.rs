//! The search for fixes of one file's findings: proposed by `fix`, tried by analysing the patched text, and replayed.
//!
//! **Invariant:** a finding gets a fix only if the patched file parses, reads no variable that may be unbound and was not, and its analysis
//! reports neither the finding nor a new one; a fix that the replay refutes is withheld. The number of trials per file is bounded by a count.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::contain::contained;
use super::edited::{self, REUSE};
use super::effects::Effects;
use super::file_report::FileReport;
use super::project::Project;
use super::{Fixes, Job};
use crate::analysis::{ImportSnapshot, Program};
use crate::config::Shown;
use crate::finding::{Applicability, Confidence, Finding, Fix, Level, Place, RuleId, Verdict};
use crate::fix::{self, CrossModuleUsage, FixContext, KnownKey, Proof, Proposal, SingleKeys};
use crate::ir::{self, FunctionId};
use crate::judge::facts::{Facts, KeyFact, KeyKind, KeyUse, KeyValue, Role};
use crate::judge::{Remembered, reconcile};
use crate::python::{self, SourceKind};
use crate::rules::{self, FixAvailability};
use crate::text::{Edit, LineIndex, Span, apply_edits, moved};
use crate::verify::replay::{self, Comparison, Entry, Freedom, Replacement};

/// Trials for one file: analyses of a patched text.
const TRIALS: usize = 64;

/// Findings of one file for which fixes are searched.
const CONSIDERED: usize = 256;

/// Longest code that a reason shows, in characters.
const LONGEST_CODE: usize = 40;

/// Bytes that all trials for one file may analyse; only large files reach this before the limit on trials.
const TRIED_BYTES: usize = 4_000_000;

/// How often a proposal is retried with more conversions.
const CONVERSIONS: usize = 4;

/// Trials for a file whose analysis reaches a bound, and so takes the longest.
const HARD_TRIALS: usize = 3;

/// The findings of each report that are shown and get fixes, by index.
pub(super) fn wanted(job: &Job<'_>, project: &Project<'_>, reports: &[FileReport]) -> Vec<Vec<usize>> {
    let shown = |report: &FileReport| -> Vec<(usize, Level)> {
        let Some(path) = project.path_of(report.file) else { return Vec::new() };
        let settings = project.settings.for_file(path);
        let judged = report.findings.iter().map(|finding| settings.judge(finding)).enumerate();
        judged.filter(|(_, judged)| judged.shown == Shown::Yes).map(|(index, judged)| (index, judged.level)).collect()
    };
    let shown: Vec<_> = reports.iter().map(|report| (report, shown(report))).collect();
    let is_raw = |report: &FileReport, index: usize| report.findings[index].rule == RuleId::LegacyPrngkey;
    let raw = shown.iter().filter(|(report, shown)| shown.iter().any(|(index, _)| is_raw(report, *index)));
    // A baseline may accept all of them but one.
    let folds = raw.count() > 1 && project.settings.baseline.is_none();
    let is_wanted = |finding: &Finding, level: Level| {
        let has_fixes = rules::get(finding.rule).fix != FixAvailability::None;
        let is_requested = match job.fixes {
            Fixes::None => false,
            Fixes::All => true,
            Fixes::Listed => !(folds && finding.rule == RuleId::LegacyPrngkey),
            Fixes::At(span) => finding.primary.span.start <= span.end && span.start <= finding.primary.span.end,
        };
        // Notes are mostly in tests, which use equal seeds to make two results equal.
        has_fixes && is_requested && !(level == Level::Note && is_seeded_alike(finding))
    };
    let of_report = |(report, shown): &(&FileReport, Vec<(usize, Level)>)| {
        let wanted = shown.iter().filter(|(index, level)| is_wanted(&report.findings[*index], *level));
        wanted.map(|(index, _)| *index).collect()
    };
    shown.iter().map(of_report).collect()
}

/// Finds fixes for the `wanted` findings of a file.
///
/// `summary` and `snapshot` come from the run that found the findings.
pub(super) fn search_fixes(
    job: &Job<'_>,
    project: &Project<'_>,
    (program, usage): (&Program<'_>, &CrossModuleUsage),
    (report, summary, wanted): (&mut FileReport, &RunSummary, &[usize]),
    snapshot: &mut Option<ImportSnapshot>,
) {
    let member = project.members.iter().find(|member| member.file == report.file);
    let Some((member, original)) = member.zip(program.of_file(report.file)) else { return };
    // A panic in the search for fixes gives no fix; the findings are unaffected.
    let fixes = contained(|| {
        let kind = SourceKind::of_path(&member.display);
        let snapshot = Cell::new(snapshot.take());
        let replays = &replayable(project, program, program.modules().to_vec());
        let validator = FixValidator {
            job,
            project,
            program,
            usage,
            snapshot,
            original,
            kind,
            report,
            summary,
            whole: OnceCell::new(),
            partial: RefCell::default(),
            remembered: RefCell::default(),
            replays,
            states: RefCell::default(),
        };
        (validator.fixes(wanted), validator.snapshot.take())
    });
    let (fixes, there) = fixes.unwrap_or_default();
    *snapshot = there;
    for (index, fix) in fixes {
        report.findings[index].fix = Some(fix);
    }
}

/// A program made of these modules, as replays see it.
fn replayable<'a>(
    project: &'a Project<'_>,
    program: &Program<'_>,
    modules: Vec<&'a ir::Module>,
) -> replay::Project<'a> {
    let Project { models, settings, .. } = project;
    replay::Project::new(modules, project, models, &settings.roots).choosing(!program.choices.is_empty())
}

/// Whether a finding is about one seed that was passed twice.
fn is_seeded_alike(finding: &Finding) -> bool {
    finding.fix_hints.as_ref().is_some_and(|fix_hints| fix_hints.is_seeded_alike)
}

/// How many findings of a rule a function has: all of them, and those that count against a fix. A finding of low
/// confidence does not, unless it is about two keys from one seed: each new split raises the confidence of such a
/// finding.
type Counts = BTreeMap<(RuleId, String), (usize, usize)>;

/// What an analysis of a file found and ran, as far as it decides what a trial needs to run.
pub(super) struct RunSummary {
    counts: Counts,
    /// Whether the interpreter reached a bound.
    is_exhausted: bool,
    /// The functions that ran in the analysis of each entry; for the module's body, those that the body and the
    /// constructors ran.
    ran: FxHashMap<FunctionId, FxHashSet<FunctionId>>,
}

/// How many findings of each kind each function has. A bound that an edit reaches is not a mistake of the edit.
fn counts<'f>(findings: impl Iterator<Item = &'f Finding>) -> Counts {
    let mut counts = Counts::new();
    for finding in findings.filter(|finding| finding.rule != RuleId::AnalysisLimited) {
        let (all, certain) = counts.entry((finding.rule, finding.function.clone())).or_default();
        *all += 1;
        *certain += usize::from(finding.confidence > Confidence::Low || is_seeded_alike(finding));
    }
    counts
}

/// The analysis of one version of the file.
struct Analysis {
    summary: RunSummary,
    /// The findings of the file itself.
    findings: Vec<Finding>,
    keys: Vec<KeyFact>,
    /// Every expression of the file that is a key.
    values: Vec<KnownKey>,
    /// Every expression that is a container, an object or an array of keys.
    not_single: BTreeSet<Span>,
    /// Every expression that is used as a key, but is not known to be a single one.
    unproven: BTreeSet<Span>,
}

impl RunSummary {
    /// The summary of a file with these facts and findings, in which all functions were analysed.
    pub(super) fn of(facts: &mut Facts, findings: &[Finding]) -> Self {
        Self {
            counts: counts(findings.iter()),
            is_exhausted: !facts.exhausted.is_empty(),
            ran: std::mem::take(&mut facts.ran),
        }
    }

    /// The functions whose own analysis an edit can change: those that ran the edited code. `None` means all.
    ///
    /// Methods depend on what other methods store in their instances, so all methods are taken together.
    fn affected(&self, module: &ir::Module, edits: &[Edit]) -> Option<BTreeSet<FunctionId>> {
        let mut edited: BTreeSet<FunctionId> = BTreeSet::new();
        for edit in edits {
            edited.extend(module.functions_around(edit.span)?);
        }
        if self.ran.get(&ir::Module::BODY)?.iter().any(|function| edited.contains(function)) {
            return None;
        }
        let is_method = |id: &FunctionId| module.function(*id).class.is_some();
        let has_methods = edited.iter().any(is_method);
        let goes_through = |of: &FxHashSet<FunctionId>| edited.iter().any(|function| of.contains(function));
        let affected = self.ran.iter().filter(|(id, ran)| goes_through(ran) || has_methods && is_method(id));
        Some(affected.map(|(id, _)| *id).chain(edited.iter().copied()).collect())
    }
}

/// A proposal that holds, as it was converted, and its fix.
struct Tried {
    proposal: Proposal,
    fix: Fix,
    /// Whether no other finding replaces the one that it resolves.
    is_whole: bool,
}

/// The file being fixed, and the program around it.
struct FixValidator<'a, 'j, 'p> {
    job: &'a Job<'j>,
    project: &'a Project<'p>,
    program: &'a Program<'p>,
    usage: &'a CrossModuleUsage,
    /// The import snapshot of the program, once it was needed.
    snapshot: Cell<Option<ImportSnapshot>>,
    /// Index of the file's own module.
    original: usize,
    kind: SourceKind,
    report: &'a FileReport,
    /// The summary of the unpatched file.
    summary: &'a RunSummary,
    /// The analysis of the unpatched file, once a trial has needed it.
    whole: OnceCell<Rc<Analysis>>,
    /// The analyses of the unpatched file in which only some functions were run on their own.
    partial: RefCell<BTreeMap<BTreeSet<FunctionId>, Rc<Analysis>>>,
    /// What the analyses of the unpatched file found.
    remembered: RefCell<Remembered>,
    /// The program as replays see it, and the states of its replays.
    replays: &'a replay::Project<'a>,
    states: RefCell<replay::EntryStates<'a>>,
}

impl FixValidator<'_, '_, '_> {
    /// Fixes for the requested findings.
    fn fixes(&self, wanted: &[usize]) -> Vec<(usize, Fix)> {
        let text = &self.report.text;
        let cells = &self.report.cells;
        let parsed = python::parse_cells(text, cells, self.kind);
        // An error in one cell of a notebook does not prevent fixes in the others.
        let broken = python::broken_cells(&parsed, cells);
        if !parsed.problems.is_empty() && broken.is_empty() {
            return Vec::new();
        }
        let is_sound = |span: Span| !broken.iter().any(|cell| cell.span.contains(span.start));
        let findings = &self.report.findings;
        let mut cx =
            FixContext::new(self.report.file, text, &parsed.module, self.project.models, &self.project.settings.roots)
                .in_cells(cells.iter().map(|cell| cell.span))
                .with_marks(!python::marks(text, &parsed.comments).is_empty())
                .in_project(self.usage)
                .keeping(&self.report.ignored, findings);
        let wanted = fix::in_order(findings, wanted.to_vec());
        let mut fixes: BTreeMap<usize, Fix> = BTreeMap::new();
        let most = if self.summary.is_exhausted { HARD_TRIALS } else { TRIALS };
        let mut trials = most.min(TRIED_BYTES / text.len().max(1));
        let mut hopeless: BTreeSet<usize> = BTreeSet::new();
        // Whether to accept a fix even if the next conflicting pair is then reported: only once all proposals have been tried.
        let mut open: Vec<(usize, bool)> = wanted.iter().take(CONSIDERED).map(|index| (*index, false)).collect();
        let mut next = 0;
        while let Some(&(index, is_last)) = open.get(next) {
            next += 1;
            // Findings that another fix of the function does not resolve are tried after a new analysis.
            let is_beside = |fixed: &usize| {
                let fixed = &findings[*fixed];
                REUSE.contains(&fixed.rule) && fixed.function == findings[index].function
            };
            let waits = if is_last { fixes.keys().any(is_beside) } else { hopeless.contains(&index) };
            if fixes.contains_key(&index) || waits {
                continue;
            }
            let proposals = fix::proposals(&cx, findings, index);
            // Findings that every proposal would also fix would get the same proposals.
            let shared = |other: &usize| *other != index && proposals.iter().all(|one| one.resolves.contains(other));
            let shared: Vec<usize> =
                proposals.iter().flat_map(|one| one.resolves.iter().copied().filter(shared)).collect();
            let mut found: Option<Tried> = None;
            let mut is_partial = false;
            for proposal in proposals {
                if !proposal.edits.iter().all(|edit| is_sound(edit.span)) {
                    continue;
                }
                if trials == 0 {
                    return fixes.into_iter().collect();
                }
                trials -= 1;
                found = self.try_proposal(&cx, &parsed, index, &proposal, &mut trials);
                is_partial |= found.is_some();
                found = found.filter(|tried| tried.is_whole || is_last);
                if found.is_some() {
                    break;
                }
            }
            let Some(Tried { proposal, fix, .. }) = found else {
                hopeless.extend(&shared);
                open.extend(Some((index, true)).filter(|_| is_partial));
                continue;
            };
            cx.accept(&proposal);
            for resolved in &proposal.resolves {
                if wanted.contains(resolved) {
                    fixes.entry(*resolved).or_insert_with(|| fix.clone());
                }
            }
        }
        fixes.into_iter().collect()
    }

    /// The fix that a proposal amounts to, if it holds, and the proposal as it was converted.
    fn try_proposal(
        &self,
        cx: &FixContext<'_>,
        original: &python::Parsed,
        index: usize,
        proposal: &Proposal,
        trials: &mut usize,
    ) -> Option<Tried> {
        let mut proposal = proposal.clone();
        let types_keys = proposal.proof.types_keys();
        for _ in 0..CONVERSIONS {
            let text = apply_edits(&self.report.text, &proposal.edits).ok()?;
            let parsed = python::parse_cells(&text, &self.report.cells.edited(&proposal.edits), self.kind);
            if !python::is_as_sound(original, &parsed) {
                return None;
            }
            let effects = Effects::of(&text, &parsed.comments);
            let patched = ir::lower(self.report.file, &parsed.module, &|header| effects.on(header));
            if fix::reads_unbound(cx, &patched, &proposal.edits) {
                return None;
            }
            // Uses of the words of keys count in the whole file.
            let is_partial = !types_keys && self.program.has_same_functions(self.original, &patched);
            let affected = if is_partial { self.affected(&proposal) } else { None };
            let (entries, before) =
                affected.map_or_else(|| (None, self.whole()), |(entries, before)| (Some(entries), before));
            let before = &*before;
            let after = self.analyse(&patched, entries, None);
            let converted = fix::converted(cx, &proposal, &after.findings)?;
            if converted.edits == proposal.edits {
                let Project { models, settings, .. } = self.project;
                let there = FixContext::new(self.report.file, &text, &parsed.module, models, &settings.roots);
                if types_keys && let Some(used) = fix::use_of_words(&there, &proposal.edits, &after.values) {
                    proposal.make_display_only(&self.may_need_words(used, &proposal.edits));
                }
                let singles = SingleKeys {
                    text: &self.report.text,
                    before: &before.not_single,
                    after: &after.not_single,
                    unproven: &before.unproven,
                };
                if !singles.are_all_derived_from(&there, &proposal.edits) {
                    return None;
                }
                let findings = &self.report.findings;
                let before_findings = &before.findings;
                if !edited::keeps(cx.kept(), before_findings, &after.findings, &proposal.edits) {
                    return None;
                }
                let stays = |at: &usize| {
                    findings.get(*at).is_some_and(|one| hidden_pair_remains(before, &after, one, &proposal.edits))
                };
                let resolved: Vec<usize> = proposal.resolves.iter().copied().filter(|at| !stays(at)).collect();
                if !resolved.contains(&index) {
                    return None;
                }
                proposal.resolves = resolved;
                if proposal.proof == Proof::Claim
                    && edited::shares_a_key(before_findings, &after.findings, &proposal.edits)
                {
                    proposal.make_display_only("a key that the edit splits or draws from may be consumed elsewhere");
                }
                let fix = self.validated(before, &after, &patched, findings.get(index)?, &proposal)?;
                let is_whole = resolves(before, &after, findings, &proposal, false);
                return Some(Tried { proposal, fix, is_whole });
            }
            *trials = trials.checked_sub(1)?;
            proposal = converted;
        }
        None
    }

    /// The fix, if analysis and replay confirm it.
    fn validated(
        &self,
        before: &Analysis,
        after: &Analysis,
        patched: &ir::Module,
        finding: &Finding,
        proposal: &Proposal,
    ) -> Option<Fix> {
        let types_keys = proposal.proof.types_keys();
        if !resolves(before, after, &self.report.findings, proposal, true) || types_keys && hides_words(before, after) {
            return None;
        }
        let (verdict, gap) = match proposal.proof {
            _ if !self.job.verify => (Verdict::NotRun, "replays are switched off".to_owned()),
            Proof::Nothing => (same_keys(before, after, &proposal.edits), "the draws use different keys".to_owned()),
            Proof::Implementation { .. } => match self.replayed(patched, finding, proposal)? {
                (Verdict::Inconclusive, why) if why == replay::NO_DRAW => {
                    (keys_of_same_places(before, after, &proposal.edits), why)
                }
                replayed => replayed,
            },
            Proof::Claim | Proof::Keys(_) | Proof::Own { .. } | Proof::Draws(_) | Proof::NewDraws(_) => {
                self.replayed(patched, finding, proposal)?
            }
        };
        // A replay cannot show what was intended.
        let is_for_people = proposal.applicability == Applicability::Display;
        let verdict = if is_for_people && verdict == Verdict::Verified { Verdict::Inconclusive } else { verdict };
        let applicability = match verdict {
            Verdict::Verified => proposal.applicability,
            Verdict::NotRun => proposal.applicability.min(Applicability::Unsafe),
            Verdict::Inconclusive => Applicability::Display,
        };
        let why = proposal.reason.clone().filter(|_| is_for_people).unwrap_or(gap);
        let reason = (verdict != Verdict::Verified).then_some(why);
        let (message, edits) = (proposal.message.clone(), proposal.edits.clone());
        Some(Fix { message, applicability, verdict, reason, edits })
    }

    /// The analysis of the unpatched file.
    fn whole(&self) -> Rc<Analysis> {
        Rc::clone(self.whole.get_or_init(|| Rc::new(self.analyse_unpatched(None))))
    }

    /// The functions that need to be run on their own to try a proposal, and the analysis of the unpatched file in which only those are;
    /// `None` if all need to be.
    fn affected(&self, proposal: &Proposal) -> Option<(BTreeSet<FunctionId>, Rc<Analysis>)> {
        let whole = self.summary;
        let entries = whole.affected(self.program.module(self.original), &proposal.edits)?;
        // The findings in these functions must not depend on the others.
        let before = self.before(&entries);
        let mut concerned = proposal.resolves.iter().filter_map(|index| self.report.findings.get(*index));
        let is_alike = concerned.all(|finding| {
            let of = (finding.rule, finding.function.clone());
            before.summary.counts.get(&of) == whole.counts.get(&of)
        });
        is_alike.then_some((entries, before))
    }

    /// The analysis of the unpatched file in which only these functions are run on their own.
    fn before(&self, entries: &BTreeSet<FunctionId>) -> Rc<Analysis> {
        if let Some(known) = self.partial.borrow().get(entries) {
            return Rc::clone(known);
        }
        let analysis = Rc::new(self.analyse_unpatched(Some(entries.clone())));
        self.partial.borrow_mut().insert(entries.clone(), Rc::clone(&analysis));
        analysis
    }

    /// The analysis of the unpatched file, which repeats nothing that an earlier one did.
    fn analyse_unpatched(&self, entries: Option<BTreeSet<FunctionId>>) -> Analysis {
        self.analyse(self.program.module(self.original), entries, Some(&mut self.remembered.borrow_mut()))
    }

    /// The facts of the file in a program that has `module` for it.
    fn facts_of(&self, program: &Program<'_>, module: &ir::Module, remembered: Option<&mut Remembered>) -> Facts {
        let has_same_functions = self.program.has_same_functions(self.original, module);
        let mut snapshot = if has_same_functions { self.snapshot.take() } else { None };
        let there = snapshot.get_or_insert_with(|| self.project.snapshot_of(program));
        let facts = program.of_file(module.file).map(|index| (self.job.analyse)(there, program, index, remembered));
        if has_same_functions {
            self.snapshot.set(snapshot);
        }
        facts.unwrap_or_default()
    }

    /// The analysis of the file, if `module` were its module. If `entries` are given, no other functions are run on their own.
    fn analyse(
        &self,
        module: &ir::Module,
        entries: Option<BTreeSet<FunctionId>>,
        remembered: Option<&mut Remembered>,
    ) -> Analysis {
        let program = self.program.replacing(self.original, module).observing_kinds().selecting(entries);
        let mut facts = vec![self.facts_of(&program, module, remembered)];
        // A captured key that a reuse hides is reported once the reuse is fixed; that is not a mistake of the edit.
        let is_captured = |finding: &Finding| finding.rule == RuleId::CapturedKeyInTransform;
        let of_captured = |facts: &Facts| if facts.captured.is_empty() { Vec::new() } else { rules::check(facts) };
        let captured: Vec<Finding> = facts.iter().flat_map(of_captured).filter(is_captured).collect();
        reconcile(&mut facts, &|_| false);
        let is_exhausted = facts.iter().any(|facts| !facts.exhausted.is_empty());
        let mut findings: Vec<Finding> = facts.iter().flat_map(rules::check).collect();
        let counts = counts(findings.iter().filter(|finding| !is_captured(finding)).chain(&captured));
        findings.retain(|finding| finding.primary.file == self.report.file);
        let own = |value: &&KeyValue| value.place.file == self.report.file;
        let values = || facts.iter().flat_map(|facts| &facts.values).filter(own);
        let proven: BTreeSet<Span> = values().filter(|value| is_proven(value)).map(|value| value.place.span).collect();
        let unproven = values().map(|value| value.place.span).filter(|span| !proven.contains(span)).collect();
        let values = values().map(known_key).collect();
        let not_single = facts.iter().flat_map(|facts| &facts.not_single).map(|place| place.span).collect();
        let ran = facts.iter_mut().flat_map(|facts| std::mem::take(&mut facts.ran)).collect();
        let keys = facts.into_iter().flat_map(|facts| facts.keys).collect();
        let summary = RunSummary { counts, is_exhausted, ran };
        Analysis { summary, findings, keys, values, not_single, unproven }
    }

    /// Why keys stay raw: the code that may need words, and where it is before the edits.
    fn may_need_words(&self, used: Span, edits: &[Edit]) -> String {
        let FileReport { text, cells, .. } = self.report;
        let Span { start, end } = fix::place_before(used, edits).unwrap_or(used);
        let whole = text.get(start as usize..end as usize).unwrap_or_default();
        let words = &self.project.models.words;
        if !whole.split(|one: char| !one.is_alphanumeric() && one != '_').any(|name| words.ends_like_a_key(name)) {
            return "code in the file may need the words of a key".to_owned();
        }
        let line = whole.lines().next().unwrap_or_default();
        let code: String = if line.len() < whole.len() || line.chars().count() > LONGEST_CODE {
            line.chars().take(LONGEST_CODE).chain(['…']).collect()
        } else {
            line.to_owned()
        };
        let row = cells.line_column(&LineIndex::new(text), text, start, start).row;
        let cell = cells.around(start).map(|cell| format!("cell {}, ", cell.number)).unwrap_or_default();
        format!("`{code}` in {cell}line {row} may need the words of a key")
    }

    /// The verdict of the replay on a fix, and why it is not verified; `None` if it is refuted.
    fn replayed(&self, patched: &ir::Module, finding: &Finding, proposal: &Proposal) -> Option<(Verdict, String)> {
        let mut modules = self.program.modules().to_vec();
        modules[self.original] = patched;
        let after = replayable(self.project, self.program, modules);
        let states = &mut *self.states.borrow_mut();
        let comparison = match &proposal.proof {
            Proof::Keys(places) => {
                let edits = [(finding.primary.file, proposal.edits.as_slice())];
                replay::compare_keys((self.replays, states), &after, &edits, places)
            }
            Proof::Own { instead } => {
                let freedom = instead
                    .map_or(Freedom::None, |(gone, successor)| Freedom::Successor(Replacement { gone, successor }));
                replay::compare_draws((self.replays, states), &after, &proposal.edits, finding.primary, freedom)
            }
            Proof::Draws(places) | Proof::Implementation { places, .. } | Proof::NewDraws(places) => {
                let freedom =
                    if matches!(proposal.proof, Proof::NewDraws(_)) { Freedom::NewDraws } else { Freedom::None };
                let mut compare = |place: &Place| {
                    replay::compare_draws((self.replays, states), &after, &proposal.edits, *place, freedom)
                };
                let mut verdicts = places.iter().map(&mut compare);
                verdicts.find(|verdict| *verdict != Comparison::Verified).unwrap_or(Comparison::Verified)
            }
            Proof::Claim | Proof::Nothing => {
                let entry = Entry { place: finding.primary, claim: finding.evidence.clone() };
                replay::compare((self.replays, states), &after, &proposal.edits, &entry)
            }
        };
        match comparison {
            Comparison::Verified => Some((Verdict::Verified, String::new())),
            Comparison::Refuted(_) => None,
            Comparison::Inconclusive(why) => Some((Verdict::Inconclusive, why)),
        }
    }
}

/// Whether the findings to be resolved are gone and no function has more of any kind than before.
///
/// Of several pairs at one place only one is reported. If `is_lenient`, the next of them may be reported instead, or
/// one instead of several, and all rules about reuse count as one kind: a key may be split instead of drawn from.
fn resolves(before: &Analysis, after: &Analysis, findings: &[Finding], proposal: &Proposal, is_lenient: bool) -> bool {
    let resolved = || proposal.resolves.iter().filter_map(|index| findings.get(*index));
    let mut counts: BTreeMap<(RuleId, &str), usize> = BTreeMap::new();
    for finding in resolved() {
        *counts.entry((finding.rule, &finding.function)).or_default() += 1;
    }
    let of = |analysis: &Analysis, rule: RuleId, function: &str| {
        analysis.summary.counts.get(&(rule, function.to_owned())).copied().unwrap_or_default()
    };
    let is_next = |one: &Finding| {
        let at = |finding: &&Finding| moved(finding.primary.span.start, &proposal.edits) == one.primary.span.start;
        let mut there = resolved().filter(at).peekable();
        REUSE.contains(&one.rule)
            && one.confidence > Confidence::Low
            && there.peek().is_some()
            && !there.any(|finding| is_unchanged(finding, one, &proposal.edits))
    };
    let next = |rules: &[RuleId], function: &str| {
        let found = after.findings.iter().filter(|one| rules.contains(&one.rule) && one.function == function);
        if is_lenient { found.filter(|one| is_next(one)).count() } else { 0 }
    };
    let is_gone = counts.iter().all(|((rule, function), count)| {
        of(after, *rule, function).0 + count <= of(before, *rule, function).0 + next(&[*rule], function)
    });
    let reused = |analysis: &Analysis, function: &str| -> usize {
        REUSE.iter().map(|rule| of(analysis, *rule, function).1).sum()
    };
    let all = |analysis: &Analysis| -> usize {
        let of = analysis.summary.counts.iter().filter(|((rule, _), _)| REUSE.contains(rule));
        of.map(|(_, (_, certain))| certain).sum()
    };
    // Raw keys are reported once in a file: where the first of them is.
    let legacy = |analysis: &Analysis| -> usize {
        let of = analysis.summary.counts.iter().filter(|((rule, _), _)| *rule == RuleId::LegacyPrngkey);
        of.map(|(_, (_, certain))| certain).sum()
    };
    let is_next_legacy = |rule: RuleId| rule == RuleId::LegacyPrngkey && legacy(after) <= legacy(before);
    let has_no_more = |(rule, function): &(RuleId, String), certain: usize| {
        // A finding of an opt-in rule is not a mistake of an edit.
        let is_as_before =
            certain <= of(before, *rule, function).1 || rules::get(*rule).opt_in || is_next_legacy(*rule);
        if is_as_before || !is_lenient || !REUSE.contains(rule) {
            return is_as_before;
        }
        let own = REUSE.iter().filter_map(|rule| counts.get(&(*rule, function.as_str()))).sum::<usize>();
        let (now, then) = (reused(after, function), reused(before, function));
        now <= then.saturating_sub(own) + next(&REUSE, function) || all(after) < all(before)
    };
    is_gone && after.summary.counts.iter().all(|(of, (_, certain))| has_no_more(of, *certain))
}

/// Whether a finding after edits makes the same claim as one before them, about the same two consumptions: in the same words, or about a
/// variable that iterations of a loop consume. Edits may have renamed the key that a caller passes for that variable.
fn is_unchanged(before: &Finding, after: &Finding, edits: &[Edit]) -> bool {
    let consumptions = |finding: &Finding| {
        let evidence = finding.evidence.as_ref()?;
        Some([*evidence.first.last()?, *evidence.second.last()?])
    };
    let is_there = |(one, other): (Place, Place)| {
        let start = if one.file == before.primary.file { moved(one.span.start, edits) } else { one.span.start };
        one.file == other.file && start == other.span.start
    };
    let names = |finding: &Finding| finding.fix_hints.as_ref().map(|fix_hints| fix_hints.written.clone());
    let is_same_variable = before.rule == RuleId::KeyReusedInLoop
        && after.rule == before.rule
        && names(before).is_some_and(|written| written.iter().all(Option::is_some) && names(after) == Some(written));
    (before.message == after.message || is_same_variable)
        && consumptions(before)
            .zip(consumptions(after))
            .is_some_and(|(old, new)| old.into_iter().zip(new).all(is_there))
}

/// Whether, at the place of a finding, another pair with low confidence still shares a key, which the finding's pair
/// hid.
fn hidden_pair_remains(before: &Analysis, after: &Analysis, finding: &Finding, edits: &[Edit]) -> bool {
    let known = |other: &Finding| {
        let mut known = before.findings.iter();
        known.any(|one| {
            one.rule == other.rule
                && one.primary != finding.primary
                && moved(one.primary.span.start, edits) == other.primary.span.start
        })
    };
    let start = moved(finding.primary.span.start, edits);
    let is_suspicion = |one: &Finding| one.confidence == Confidence::Low && one.intent.is_none();
    let mut found = after.findings.iter().filter(|one| REUSE.contains(&one.rule) && is_suspicion(one));
    REUSE.contains(&finding.rule) && found.any(|one| one.primary.span.start == start && !known(one))
}

/// Whether findings about words used as keys or numbers are no longer reported although the edits do not fix them.
fn hides_words(before: &Analysis, after: &Analysis) -> bool {
    let count = |analysis: &Analysis| {
        let is_word = |finding: &&Finding| {
            matches!(finding.rule, RuleId::KeyBufferIndexed | RuleId::KeyArithmetic) && finding.level > Level::Note
        };
        analysis.findings.iter().filter(is_word).count()
    };
    count(after) < count(before)
}

/// An edit of annotations makes and consumes the very same keys at the very same places.
fn same_keys(before: &Analysis, after: &Analysis, edits: &[Edit]) -> Verdict {
    let same = before.keys.len() == after.keys.len()
        && before
            .keys
            .iter()
            .zip(&after.keys)
            .all(|(old, new)| old.text == new.text && moved(old.place.span.start, edits) == new.place.span.start);
    if same { Verdict::Verified } else { Verdict::Inconclusive }
}

/// The same, if the implementation of the keys may change.
fn keys_of_same_places(before: &Analysis, after: &Analysis, edits: &[Edit]) -> Verdict {
    let stays = |(old, new): (&KeyFact, &KeyFact)| moved(old.place.span.start, edits) == new.place.span.start;
    let same = before.keys.len() == after.keys.len() && before.keys.iter().zip(&after.keys).all(stays);
    if same { Verdict::Verified } else { Verdict::Inconclusive }
}

/// Whether the library made a key, or accepts it as an argument that can only be a single key.
fn is_proven(value: &KeyValue) -> bool {
    let is_single = |used: &KeyUse| matches!(used.role, Role::Sample | Role::Split | Role::Fold);
    value.kind != KeyKind::Unknown || value.uses.iter().any(is_single)
}

/// The key facts of an expression, as a fix needs them.
fn known_key(value: &KeyValue) -> KnownKey {
    let (is_raw, is_typed) = (value.kind == KeyKind::Raw, value.kind == KeyKind::Typed);
    KnownKey { span: value.place.span, is_raw, is_typed, is_array: value.is_array, is_called: value.is_called }
}
