//! The threads that run tasks, and the context of a task.
//!
//! **Invariant:** every task gives a response: a panic becomes an error, and the thread continues with the next task.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gen_lsp_types::{Diagnostic, Uri};
use lsp_server::{RequestId, ResponseError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::main_loop::Event;
use super::snapshot::{Cancelled, CheckError, Checked, Opened, Snapshot};
use crate::engine::contained;

/// Error codes of the protocol.
pub mod code {
    /// The parameters are malformed.
    pub const INVALID_PARAMS: i32 = -32_602;
    /// The server failed.
    pub const INTERNAL: i32 = -32_603;
    pub(in crate::server) const REQUEST_CANCELLED: i32 = -32_800;
    pub(in crate::server) const CONTENT_MODIFIED: i32 = -32_801;
    pub(in crate::server) const SERVER_CANCELLED: i32 = -32_802;
    pub(in crate::server) const REQUEST_FAILED: i32 = -32_803;
}

/// Why a request has no result.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The error of the response.
    pub error: ResponseError,
    /// A message for the user, besides the response.
    pub(super) trouble: Option<CheckError>,
}

impl Failure {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { error: ResponseError { code, message: message.into(), data: None }, trouble: None }
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message)
    }

    pub(super) fn cancelled() -> Self {
        Self::new(code::REQUEST_CANCELLED, "the request was cancelled")
    }

    /// The document has changed since the request.
    pub(super) fn stale(method: &str) -> Self {
        const MESSAGE: &str = "the document has changed";
        if method != "textDocument/diagnostic" {
            return Self::new(code::CONTENT_MODIFIED, MESSAGE);
        }
        // This error makes the client request diagnostics again.
        let mut failure = Self::new(code::SERVER_CANCELLED, MESSAGE);
        failure.error.data = Some(serde_json::json!({"retriggerRequest": true}));
        failure
    }

    /// The document was closed.
    pub(super) fn gone() -> Self {
        Self::new(code::REQUEST_FAILED, "the document is not open")
    }
}

impl From<CheckError> for Failure {
    fn from(trouble: CheckError) -> Self {
        match &trouble {
            CheckError::Cancelled => Self::cancelled(),
            CheckError::Config(error) => {
                Self { trouble: Some(trouble.clone()), ..Self::new(code::REQUEST_FAILED, error.to_string()) }
            }
            CheckError::Baseline(message) => {
                Self { trouble: Some(trouble.clone()), ..Self::new(code::REQUEST_FAILED, message.clone()) }
            }
        }
    }
}

/// The context of a request.
pub(super) struct RequestContext<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) is_cancelled: Cancelled<'a>,
    /// Sends a notification while the task continues.
    pub(super) notify: &'a (dyn Fn(&str, Value) + Sync),
}

impl<'a> RequestContext<'a> {
    /// The open document with a URI, or the notebook of a cell.
    pub(super) fn document(&self, uri: &Uri) -> Option<(&'a Path, &'a Opened)> {
        let found = self.snapshot.open.iter().find(|(_, opened)| opened.has_uri(uri));
        found.map(|(path, opened)| (path.as_path(), opened))
    }
}

/// The result of a task.
pub(super) enum Finished {
    /// The response to a request.
    Answer {
        id: RequestId,
        /// The document it is about.
        about: Option<PathBuf>,
        /// The epoch of the snapshot that it used.
        epoch: u64,
        result: Result<Value, Failure>,
    },
    /// Diagnostics to push.
    Checked { path: PathBuf, result: Result<(Arc<Checked>, Published), Failure> },
}

/// The diagnostics of one document, by URI and version.
pub(super) type Published = Vec<(Uri, Option<i32>, Vec<Diagnostic>)>;

/// A task.
pub(super) type Task = Box<dyn FnOnce() -> Finished + Send>;

/// Whether a request was cancelled.
pub(super) type Flag = Arc<AtomicBool>;

/// How long after a scan of the workspace the memory that it needed goes back to the system. The allocator keeps freed memory for a second.
pub(super) const REST: Duration = Duration::from_secs(2);

/// Runs tasks until the queue is closed. If `rest` is set, freed memory is returned to the system after that much idle time.
pub(super) fn work(tasks: &Receiver<Task>, events: &Sender<Event>, rest: Option<Duration>) {
    let mut next = tasks.recv().ok();
    while let Some(task) = next {
        // Tasks catch their own panics; this catches those of the code around them.
        if let Ok(finished) = contained(task)
            && events.send(Event::Finished(Box::new(finished))).is_err()
        {
            return;
        }
        let resting = rest.map(|rest| tasks.recv_timeout(rest));
        next = match resting {
            Some(Ok(task)) => Some(task),
            Some(Err(RecvTimeoutError::Disconnected)) => None,
            Some(Err(RecvTimeoutError::Timeout)) => {
                return_memory();
                tasks.recv().ok()
            }
            None => tasks.recv().ok(),
        };
    }
}

/// Returns memory that was freed a while ago to the system. The allocator looks for it when a thread that has allocated ends, and not
/// while the process waits.
fn return_memory() {
    if let Ok(brief) = thread::Builder::new().spawn(|| drop(black_box(Box::new(0_u8)))) {
        // It cannot panic.
        let _ = brief.join();
    }
}

/// The task that answers one request.
pub(super) struct Job {
    pub(super) id: RequestId,
    pub(super) params: Value,
    pub(super) about: Option<PathBuf>,
    pub(super) snapshot: Snapshot,
    pub(super) flag: Flag,
    pub(super) notify: Arc<Mutex<Sender<String>>>,
}

impl Job {
    /// The task that passes the parameters to `handler`.
    pub(super) fn task<P, R>(self, handler: fn(&RequestContext<'_>, &P) -> Result<R, Failure>) -> Task
    where
        P: DeserializeOwned + 'static,
        R: Serialize + 'static,
    {
        Box::new(move || {
            let Self { id, params, about, snapshot, flag, notify } = self;
            let is_cancelled = || flag.load(Ordering::Relaxed);
            let notify = |method: &str, params: Value| {
                let message = serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
                // If the receiver is closed, the client has disconnected.
                let _ = notify.lock().map(|sender| sender.send(message));
            };
            let result = if is_cancelled() {
                Err(Failure::cancelled())
            } else {
                let request = RequestContext { snapshot: &snapshot, is_cancelled: &is_cancelled, notify: &notify };
                respond(params, |params| handler(&request, params))
            };
            Finished::Answer { id, about, epoch: snapshot.epoch, result }
        })
    }
}

/// The result of a handler for parameters, even if they are malformed or the handler panics.
pub fn respond<P, R>(params: Value, handler: impl FnOnce(&P) -> Result<R, Failure>) -> Result<Value, Failure>
where
    P: DeserializeOwned,
    R: Serialize,
{
    let params: P = serde_json::from_value(params)
        .map_err(|error| Failure::new(code::INVALID_PARAMS, format!("invalid parameters: {error}")))?;
    let result = contained(|| handler(&params));
    let result = result.unwrap_or_else(|message| Err(Failure::internal(format!("keylint failed: {message}"))))?;
    serde_json::to_value(result).map_err(|error| Failure::internal(error.to_string()))
}
