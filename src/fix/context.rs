//! The file being fixed, and the queries that generators make about it.
//!
//! **Invariant:** results refer to the file before the fix; only the names reserved for accepted proposals grow.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::cross_module::CrossModuleUsage;
use super::imports::Imports;
use super::jax;
use super::key_uses::pair;
use super::layout;
use super::names::{MODULE, Names, ScopeId, ScopeKind};
use super::naming::Reserved;
use super::tree::{self, Step};
use crate::finding::{Applicability, Finding, Place};
use crate::ir::{self, FunctionId, FunctionKind};
use crate::models::{Callable, Class, Construct, Effect, Models, Param};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, FileId, Span};

/// What a replay has to show of a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The finding's claim no longer holds, and the same draws are made.
    Claim,
    /// The functions that hold these places draw from the very same keys as before.
    Keys(Vec<Place>),
    /// The same draws are made, each with its own key; the previous keys, if any, need not be compared.
    Own {
        /// A function that was removed, and the one that draws in its place.
        instead: Option<(&'static str, &'static str)>,
    },
    /// The same of each function that holds one of these places.
    Draws(Vec<Place>),
    /// The same, but what the edits insert may draw as well, from keys of its own.
    NewDraws(Vec<Place>),
    /// Keys change their implementation only: the functions that hold these places make the same draws, each with its own key, and the
    /// analysis sees keys at the same places.
    Implementation {
        /// The places.
        places: Vec<Place>,
        /// Whether raw keys become typed, as for [`Proof::Keys`].
        types_keys: bool,
    },
    /// Nothing: no operation changes, and the analysis sees the same keys at the same places.
    Nothing,
}

impl Proof {
    /// Whether raw keys become typed ones.
    pub fn types_keys(&self) -> bool {
        matches!(self, Self::Keys(_) | Self::Implementation { types_keys: true, .. })
    }
}

/// Edits that may resolve findings.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// What they do, as an imperative.
    pub message: String,
    /// Who may apply them, provided that they prove right.
    pub applicability: Applicability,
    /// Why only a person may apply them, where that is so.
    pub reason: Option<String>,
    /// What their replay has to show.
    pub proof: Proof,
    /// The edits, sorted.
    pub edits: Vec<Edit>,
    /// Positions of the findings that they resolve.
    pub resolves: Vec<usize>,
    /// Names that they introduce.
    pub names: Vec<Reserved>,
    /// Whether they leave a key that is `None` unchanged.
    pub is_optional: bool,
}

impl Proposal {
    /// Edits that change what is drawn; the replay of the finding's claim must confirm them.
    pub(super) fn new(message: String, mut edits: Vec<Edit>, resolves: Vec<usize>) -> Self {
        edits.sort_by_key(|edit| edit.span);
        let (applicability, proof) = (Applicability::Unsafe, Proof::Claim);
        Self { message, applicability, reason: None, proof, edits, resolves, names: Vec::new(), is_optional: false }
    }

    /// With another proof.
    pub(super) fn proved_by(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    /// With the names that it introduces.
    pub(super) fn naming(self, names: Vec<Reserved>) -> Self {
        Self { names, ..self }
    }

    /// With another applicability.
    pub(super) fn applied(self, applicability: Applicability) -> Self {
        Self { applicability, ..self }
    }

    /// Makes the proposal display-only.
    pub fn make_display_only(&mut self, why: &str) {
        self.applicability = Applicability::Display;
        self.reason.get_or_insert_with(|| why.to_owned());
    }

    /// The same, if there is a reason.
    pub(super) fn display_only_if(mut self, is_doubtful: bool, why: &str) -> Self {
        if is_doubtful {
            self.make_display_only(why);
        }
        self
    }
}

/// Two calls that a comment allows to share a key; every fix keeps their keys equal.
#[derive(Clone, Copy, Debug)]
pub struct KeptPair {
    /// The calls of the finding.
    pub reported: [Span; 2],
    /// The calls that the comment means.
    pub calls: [Span; 2],
}

/// Lines beyond which a reader would not look back for the origin of a key.
const FAR: usize = 12;

/// The file being fixed.
pub struct FixContext<'a> {
    /// The file.
    pub file: FileId,
    pub(super) text: &'a str,
    pub(super) module: &'a ast::ModModule,
    pub(super) models: &'a Models,
    pub(super) names: Names<'a>,
    pub(super) imports: Imports<'a>,
    ir: OnceCell<ir::Module>,
    cells: Vec<Span>,
    has_marks: bool,
    usage: Option<&'a CrossModuleUsage>,
    kept: Vec<KeptPair>,
    pub(super) claimed: Vec<Reserved>,
    resolved: BTreeSet<usize>,
}

impl<'a> FixContext<'a> {
    /// The context of a file, with the models; `roots` are further names of the library's root package.
    pub fn new(file: FileId, text: &'a str, module: &'a ast::ModModule, models: &'a Models, roots: &[String]) -> Self {
        let names = Names::of(module);
        let imports = Imports::of(module, roots);
        Self {
            file,
            text,
            module,
            models,
            names,
            imports,
            ir: OnceCell::new(),
            cells: Vec::new(),
            has_marks: false,
            usage: None,
            kept: Vec::new(),
            claimed: Vec::new(),
            resolved: BTreeSet::new(),
        }
    }

    /// Sets the positions of a notebook's cells in the text.
    #[must_use]
    pub fn in_cells(mut self, cells: impl IntoIterator<Item = Span>) -> Self {
        self.cells = cells.into_iter().collect();
        self
    }

    /// Sets whether the file is a script in which comments mark cells.
    #[must_use]
    pub fn with_marks(mut self, has_marks: bool) -> Self {
        self.has_marks = has_marks;
        self
    }

    /// Sets how the project around the file uses its names.
    #[must_use]
    pub fn in_project(mut self, usage: &'a CrossModuleUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the findings that comments ignore; `others` are the remaining findings.
    #[must_use]
    pub fn keeping(mut self, ignored: &[Finding], others: &[Finding]) -> Self {
        let pairs: Vec<_> = others.iter().filter_map(|finding| pair(&self, finding)).collect();
        let kept = ignored.iter().filter_map(|finding| {
            let [first, second] = pair(&self, finding)?;
            let is_alike = |one: &ast::ExprCall| self.slice(span_of(one)) == self.slice(span_of(second));
            // The finding names the first of all calls that share the key. The comment may mean another one.
            let is_of_key = |both: &&[&ast::ExprCall; 2]| both.iter().any(|one| span_of(*one) == span_of(first));
            let mut same = pairs.iter().filter(is_of_key).flatten().filter(|one| is_alike(one));
            let meant = if is_alike(first) { first } else { same.next().copied().unwrap_or(first) };
            let [reported, calls] = [[first, second], [meant, second]].map(|both| both.map(span_of));
            Some(KeptPair { reported, calls })
        });
        self.kept = kept.collect();
        self
    }

    /// The pairs of calls that must keep one key.
    pub fn kept(&self) -> &[KeptPair] {
        &self.kept
    }

    /// The calls that must keep the key of a call.
    pub(super) fn kept_with(&self, call: Span) -> Vec<Span> {
        let other = |KeptPair { calls: [one, other], .. }: &KeptPair| match (*one == call, *other == call) {
            (true, false) => Some(*other),
            (false, true) => Some(*one),
            _ => None,
        };
        self.kept.iter().filter_map(other).collect()
    }

    /// The operations of the file, with all functions: code that the analysis skips is edited as well.
    pub fn ir(&self) -> &ir::Module {
        self.ir.get_or_init(|| ir::lower(self.file, self.module, &|_| Vec::new()))
    }

    /// The function of the IR that a scope is, if it is a module or a `def`.
    pub(super) fn function_of(&self, scope: ScopeId) -> Option<FunctionId> {
        let of = &self.names.scopes[scope];
        if of.kind == ScopeKind::Module {
            return Some(ir::Module::BODY);
        }
        let functions = (0u32..).map(FunctionId).zip(&self.ir().functions);
        let mut own = functions.filter(|(_, function)| function.kind == FunctionKind::Def && function.full == of.full);
        own.next().map(|(id, _)| id)
    }

    /// Whether another module may use a variable of this one, or `__all__` lists it. A notebook is never imported.
    pub(super) fn is_exported(&self, name: &str) -> bool {
        let is_used_elsewhere =
            !self.is_notebook() && self.usage.is_some_and(|usage| usage.is_used_elsewhere(self.file, name));
        is_used_elsewhere || self.names.is_listed(name)
    }

    /// The same of a variable of a scope: other modules see only those of the module.
    pub(super) fn is_exported_from(&self, scope: ScopeId, name: &str) -> bool {
        self.names.scopes[scope].kind == ScopeKind::Module && self.is_exported(name)
    }

    /// Whether functions of this name may run under a trace, as far as the project shows.
    pub(super) fn is_traced(&self, name: &str) -> bool {
        self.usage.is_none_or(|usage| usage.is_traced(name))
    }

    /// Whether anything in the project runs under a trace.
    pub(super) fn has_traces(&self) -> bool {
        self.usage.is_none_or(CrossModuleUsage::has_traces)
    }

    /// Whether another module of the project makes keys, as far as the project shows.
    pub(super) fn others_make_keys(&self) -> bool {
        self.usage.is_none_or(|usage| usage.others_make_keys(self.file))
    }

    /// What the project mentions that no JAX with typed keys has.
    pub(super) fn older(&self) -> Option<&str> {
        self.usage.and_then(CrossModuleUsage::older)
    }

    /// Whether the file is a notebook.
    pub(super) fn is_notebook(&self) -> bool {
        !self.cells.is_empty()
    }

    /// Whether people run code of a scope in cells, in any order and again: in a notebook, or at the top level of a script with marks.
    pub(super) fn is_run_in_cells(&self, scope: ScopeId) -> bool {
        self.is_notebook() || self.has_marks && scope == MODULE
    }

    /// Whether two places are in one cell; a file that is not a notebook is one cell.
    pub(super) fn is_in_one_cell(&self, first: Span, second: Span) -> bool {
        let cell = |span: Span| self.cells.iter().position(|cell| cell.contains(span.start));
        cell(first) == cell(second)
    }

    /// Whether two places are near each other: few lines are between them, and no cell ends there.
    pub(super) fn are_near(&self, first: Span, second: Span) -> bool {
        let between = self.slice(Span::new(first.end.min(second.start), second.start));
        self.is_in_one_cell(first, second) && memchr::memchr_iter(b'\n', between.as_bytes()).count() <= FAR
    }

    /// The edit that puts a statement before another, and before the comment that describes it. The start of a cell stays in place.
    pub(super) fn before(&self, start: u32, code: &str) -> Edit {
        let at = layout::with_comment(self.text, start);
        let begins = |cell: &Span| self.slice(Span::new(cell.start, at.max(cell.start))).trim().is_empty();
        let is_first = self.cells.iter().any(|cell| cell.contains(at) && begins(cell));
        layout::before(self.text, if is_first { start } else { at }, code)
    }

    /// Whether an expression has a name that keys have.
    pub(super) fn is_keyish(&self, code: &str) -> bool {
        self.models.words.is_keyish(code)
    }

    /// The edit that puts an import before the first one of the library.
    pub(super) fn import_before_others(&self, code: &str) -> Option<Edit> {
        let is_below = |name: &str| name.split('.').next() == Some(&self.imports.root);
        let first = self.module.body.iter().find(|statement| match statement {
            Stmt::Import(import) => import.names.iter().any(|alias| is_below(alias.name.as_str())),
            Stmt::ImportFrom(import) => import.module.as_ref().is_some_and(|module| is_below(module.as_str())),
            _ => false,
        })?;
        Some(layout::before(self.text, span_of(first).start, code))
    }

    /// Reserves the names of a proposal, unless it is only displayed, and records what it resolves.
    pub fn accept(&mut self, proposal: &Proposal) {
        if proposal.applicability != Applicability::Display {
            self.claimed.extend(proposal.names.iter().cloned());
        }
        self.resolved.extend(proposal.resolves.iter().copied());
    }

    /// Whether an accepted proposal resolves the finding at this position.
    pub(super) fn is_resolved(&self, index: usize) -> bool {
        self.resolved.contains(&index)
    }

    /// The text of a node.
    pub(super) fn code(&self, expr: &Expr) -> &'a str {
        self.slice(span_of(expr))
    }

    pub(super) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The span of a place in this file.
    pub(super) fn here(&self, place: Place) -> Option<Span> {
        (place.file == self.file).then_some(place.span)
    }

    /// The canonical path that an expression denotes.
    pub(super) fn path_of(&self, expr: &Expr) -> Option<String> {
        self.imports.path_of(&self.names, self.names.scope_at(span_of(expr).start), expr)
    }

    /// The model of the function that an expression denotes.
    pub(super) fn model_of(&self, function: &Expr) -> Option<&'a Callable> {
        self.models.callable(&self.path_of(function)?)
    }

    /// Whether a callee is the builtin of this name.
    pub(super) fn is_builtin(&self, callee: &Expr, builtin: &str) -> bool {
        let is_bound = || self.names.binder(self.names.scope_at(span_of(callee).start), builtin).is_some();
        matches!(callee, Expr::Name(name) if name.id.as_str() == builtin) && !is_bound()
    }

    /// Whether a call is one of `jax.random.split`.
    pub(super) fn is_split(&self, call: &ast::ExprCall) -> bool {
        self.path_of(&call.func).is_some_and(|path| path == jax::SPLIT)
    }

    /// The seed that a call makes a key from, by the models.
    pub(super) fn seed_of<'e>(&self, call: &'e ast::ExprCall) -> Option<&'e Expr> {
        match self.model_of(&call.func)? {
            Callable { effect: Effect::Seed { seed, .. }, params, .. } => argument(params, call, seed),
            _ => None,
        }
    }

    /// The seed that a call makes a stream of keys from, by the models.
    pub(super) fn stream_seed_of<'e>(&self, call: &'e ast::ExprCall) -> Option<&'e Expr> {
        match self.models.class(&self.path_of(&call.func)?)? {
            // If the keywords are separate streams, the first one is the seed.
            Class { construct: Construct::Stream { seeds, .. }, params, .. } => {
                argument(params, call, seeds.first()?).or_else(|| Some(&call.arguments.keywords.first()?.value))
            }
            _ => None,
        }
    }

    /// Whether a call counts up from zero, as `jnp.arange(n)` does, and how far.
    pub(super) fn counted<'e>(&self, expr: &'e Expr) -> Option<&'e Expr> {
        let Expr::Call(call) = expr else { return None };
        let ([length], true) = (&call.arguments.args[..], call.arguments.keywords.is_empty()) else { return None };
        self.models.is_counting(&self.path_of(&call.func)?).then_some(length)
    }

    /// A library function as this file would write it at an offset; where a call that is fixed names its module, so does the
    /// spelling.
    pub(super) fn spelled(&self, offset: u32, path: &str, like: Option<&ast::ExprCall>) -> Option<String> {
        let scope = self.names.scope_at(offset);
        let (module, function) = path.rsplit_once('.')?;
        if let Some(Expr::Attribute(attribute)) = like.map(|call| &*call.func)
            && self.imports.path_of(&self.names, scope, &attribute.value).as_deref() == Some(module)
        {
            return Some(format!("{}.{function}", self.code(&attribute.value)));
        }
        self.imports.spelling(&self.names, scope, path)
    }

    /// Positions of the findings that pass a test, all of this file.
    pub(super) fn matching(&self, findings: &[Finding], test: impl Fn(&Finding) -> bool) -> Vec<usize> {
        let fits = |finding: &Finding| finding.primary.file == self.file && test(finding);
        (0..findings.len()).filter(|index| fits(&findings[*index])).collect()
    }

    /// The statements around a span.
    pub(super) fn steps(&self, span: Span) -> Vec<Step<'a>> {
        tree::steps(self.module, span)
    }

    /// The way to what follows a statement in its suite.
    pub(super) fn statements_after(&self, step: Step<'a>) -> Vec<Step<'a>> {
        let mut way = self.steps(span_of(step.statement()));
        way.pop();
        way.push(Step { suite: step.suite, index: step.index + 1 });
        way
    }
}

/// The argument of a call for a parameter.
fn argument<'e>(params: &[Param], call: &'e ast::ExprCall, name: &str) -> Option<&'e Expr> {
    let position = params.iter().position(|param| param.name == name);
    let positional = position.and_then(|position| call.arguments.args.get(position));
    positional.or_else(|| call.arguments.find_keyword(name).map(|keyword| &keyword.value))
}

/// Whether an expression can be evaluated twice, or elsewhere, without effect: names, attributes, constant items.
pub(super) fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) => true,
        Expr::Attribute(attribute) => is_plain(&attribute.value),
        Expr::Subscript(subscript) => {
            is_plain(&subscript.value)
                && matches!(&*subscript.slice, Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Name(_))
        }
        _ => false,
    }
}
