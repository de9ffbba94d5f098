//! The main loop: receives messages, starts tasks, and sends results in order.
//!
//! **Invariant:** only the loop changes the session, one message at a time. An outdated result is never sent as current: diagnostics are
//! computed again, and other requests fail with an error that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gen_lsp_types::Uri;
use lsp_server::{Message, Notification, Request, RequestId, Response, ResponseError};
use serde_json::{Value, json};

use super::client::Client;
use super::session::Session;
use super::settings::Written;
use super::snapshot::CheckError;
use super::transport::Incoming;
use super::workers::{Failure, Finished, Flag, Job, Task, code};
use super::{Ended, requests};
use crate::engine::contained;

/// An event of the loop.
pub(super) enum Event {
    /// The client sent a message.
    Arrived(Incoming),
    /// The input ended, possibly with an error.
    Closed(Option<String>),
    /// A worker finished a task.
    Finished(Box<Finished>),
}

/// The subject of a request to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The settings of these folders.
    Configuration(Vec<String>),
    /// A request whose response is ignored.
    Nothing,
}

/// The queues of tasks.
pub(super) struct TaskQueues {
    /// Tasks that the user waits for.
    pub(super) documents: Sender<Task>,
    /// Tasks that take long.
    pub(super) workspace: Sender<Task>,
}

/// A request that a worker is processing.
struct Pending {
    flag: Flag,
    method: String,
    /// The number of changes of the workspace before the request was started.
    changes: u64,
}

/// A request that waits for something to change.
pub(super) struct DelayedRequest {
    id: RequestId,
    params: Value,
}

/// The state of the loop.
pub(super) struct MainLoop<'a> {
    out: Sender<String>,
    log: &'a mut dyn Write,
    pub(super) queues: TaskQueues,
    start: PathBuf,
    home: Option<PathBuf>,
    /// `None` until `initialize`.
    pub(super) session: Option<Session>,
    pub(super) is_shut_down: bool,
    pending: BTreeMap<RequestId, Pending>,
    delayed: Vec<DelayedRequest>,
    expected: BTreeMap<i32, Expected>,
    /// Number of requests sent to the client.
    request: i32,
    /// The documents to check, with the time at which each is due.
    pub(super) due: BTreeMap<PathBuf, Instant>,
    /// The documents that are being checked, and whether each has been open since the check started.
    pub(super) checking: BTreeMap<PathBuf, bool>,
    /// The number of times that something was saved, or settings or files changed.
    changes: u64,
    /// The last response to `workspace/diagnostic`, if any.
    answered: Option<requests::WorkspaceResponse>,
    /// The documents in `checking` that are checked again afterwards.
    pub(super) again: BTreeSet<PathBuf>,
    /// When diagnostics of a document were last pushed, and for which URIs.
    pub(super) published: BTreeMap<PathBuf, (Instant, BTreeSet<Uri>)>,
}

impl<'a> MainLoop<'a> {
    pub(super) fn new(
        out: Sender<String>,
        log: &'a mut dyn Write,
        queues: TaskQueues,
        start: PathBuf,
        home: Option<PathBuf>,
    ) -> Self {
        Self {
            out,
            log,
            queues,
            start,
            home,
            session: None,
            is_shut_down: false,
            pending: BTreeMap::new(),
            delayed: Vec::new(),
            expected: BTreeMap::new(),
            request: 0,
            due: BTreeMap::new(),
            checking: BTreeMap::new(),
            changes: 0,
            answered: None,
            again: BTreeSet::new(),
            published: BTreeMap::new(),
        }
    }

    /// Handles events until the client disconnects.
    pub(super) fn run(mut self, events: &Receiver<Event>) -> Ended {
        let ended = self.react(events);
        // Tasks whose results are no longer needed end early.
        for pending in self.pending.values() {
            pending.flag.store(true, Ordering::Relaxed);
        }
        ended
    }

    fn react(&mut self, events: &Receiver<Event>) -> Ended {
        loop {
            let event = match self.due.values().min() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Arrived(Incoming::Message(Message::Notification(note)))) if note.method == "exit" => {
                    return if self.is_shut_down { Ended::Orderly } else { Ended::Abrupt };
                }
                Ok(Event::Arrived(incoming)) => self.arrived(incoming),
                Ok(Event::Closed(error)) => {
                    if let Some(error) = error {
                        self.say(&error);
                    }
                    return if self.is_shut_down { Ended::Orderly } else { Ended::Abrupt };
                }
                Ok(Event::Finished(finished)) => self.finished(*finished),
                Err(RecvTimeoutError::Timeout) => self.check_due(),
                Err(RecvTimeoutError::Disconnected) => return Ended::Abrupt,
            }
        }
    }

    fn arrived(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::InvalidFrame(garbage) => {
                let error = json!({"code": garbage.code, "message": garbage.message});
                self.send(&json!({"jsonrpc": "2.0", "id": garbage.id, "error": error}));
            }
            Incoming::Message(Message::Request(request)) => self.request(request),
            Incoming::Message(Message::Response(response)) => {
                if let Err(message) = contained(|| self.response(response)) {
                    self.say(&format!("keylint failed on an answer: {message}"));
                }
            }
            Incoming::Message(Message::Notification(notification)) => {
                let method = notification.method.clone();
                match contained(|| self.notification(notification)) {
                    Ok(Ok(())) => {}
                    Ok(Err(problem)) => self.say(&format!("{method}: {problem}")),
                    Err(message) => self.say(&format!("keylint failed on {method}: {message}")),
                }
            }
        }
        let problems = self.session.as_mut().map(Session::take_problems).unwrap_or_default();
        for problem in problems {
            self.warn(&format!("keylint: {problem}"));
        }
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        if method == "initialize" && self.session.is_none() {
            let capabilities = self.initialize(&params);
            return self.answer(&id, Ok(capabilities));
        }
        if self.session.is_none() {
            return self.refuse(&id, lsp_server::ErrorCode::ServerNotInitialized as i32, "not initialized yet");
        }
        if self.is_shut_down || method == "initialize" {
            let message = if self.is_shut_down { "already shut down" } else { "already initialized" };
            return self.refuse(&id, lsp_server::ErrorCode::InvalidRequest as i32, message);
        }
        if method == "shutdown" {
            self.is_shut_down = true;
            self.due.clear();
            for DelayedRequest { id, .. } in std::mem::take(&mut self.delayed) {
                self.refuse(&id, code::REQUEST_CANCELLED, "the server is shutting down");
            }
            return self.answer(&id, Ok(Value::Null));
        }
        let answered = self.answered.filter(|answered| answered.changes == self.changes);
        if requests::waits(&method, &params, answered) {
            self.delayed.push(DelayedRequest { id, params });
            return;
        }
        self.start(id, &method, params);
    }

    /// Passes a request to a worker.
    fn start(&mut self, id: RequestId, method: &str, mut params: Value) {
        if method == "workspace/diagnostic" {
            self.begin_progress(&mut params);
        }
        let Some(session) = &self.session else { return };
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).and_then(|uri| Uri::parse(uri).ok());
        let flag = Flag::default();
        let job = Job {
            id: id.clone(),
            about: uri.map(|uri| session.path_of(&uri)),
            params,
            snapshot: session.snapshot(),
            flag: flag.clone(),
            notify: Arc::new(Mutex::new(self.out.clone())),
        };
        match requests::task(method, job) {
            None => self.refuse(&id, lsp_server::ErrorCode::MethodNotFound as i32, &format!("no method {method}")),
            Some((is_quick, task)) => {
                self.pending.insert(id, Pending { flag, method: method.to_owned(), changes: self.changes });
                let queue = if is_quick { &self.queues.documents } else { &self.queues.workspace };
                // The workers outlive the loop, so this cannot fail.
                let _ = queue.send(task);
            }
        }
    }

    /// Has the client show the progress of a request for which it gave no token.
    fn begin_progress(&mut self, params: &mut Value) {
        let shows = self.session.as_ref().is_some_and(|session| session.client().progress);
        if let Some(params) = params.as_object_mut().filter(|params| shows && !params.contains_key("workDoneToken")) {
            let token = json!(format!("keylint/{}", self.request));
            params.insert("workDoneToken".to_owned(), token.clone());
            self.ask("window/workDoneProgress/create", &json!({"token": token}), Expected::Nothing);
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let client = Client::new(&params["capabilities"]);
        let uri = |value: &Value| value.as_str().and_then(|uri| Uri::parse(uri).ok());
        let folders = params["workspaceFolders"].as_array().filter(|folders| !folders.is_empty());
        let roots: Vec<Uri> = if let Some(folders) = folders {
            folders.iter().filter_map(|folder| uri(&folder["uri"])).collect()
        } else {
            let path = || params["rootPath"].as_str().and_then(|path| Uri::from_file_path(path).ok());
            uri(&params["rootUri"]).or_else(path).into_iter().collect()
        };
        let written = Written::from_initialize(&params["initializationOptions"]);
        let offer = client.offer();
        self.session = Some(Session::new(client, self.start.clone(), self.home.clone(), &roots, written));
        json!({
            "capabilities": offer,
            "serverInfo": {"name": "keylint", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    fn response(&mut self, response: Response) {
        let id = response.id.to_string().parse::<i32>().ok();
        let expected = id.and_then(|id| self.expected.remove(&id));
        match (expected, response.response_result) {
            (Some(Expected::Configuration(folders)), Ok(Value::Array(values))) => {
                let request: Vec<(String, Value)> = folders.into_iter().zip(values).collect();
                self.configured(request);
            }
            (None, _) => self.say("a response without a request"),
            (Some(_), Err(error)) => self.say(&format!("the client refused: {}", error.message)),
            (Some(_), Ok(_)) => {}
        }
    }

    fn finished(&mut self, finished: Finished) {
        match finished {
            Finished::Answer { id, about, epoch, result } => {
                // A cancelled request got its response when it was cancelled.
                let Some(pending) = self.pending.remove(&id) else { return };
                let is_stale = about
                    .is_some_and(|path| self.session.as_ref().is_some_and(|session| session.changed_at(&path) > epoch));
                let result = match result {
                    _ if is_stale => Err(Failure::stale(&pending.method)),
                    // The user gets a message, and the client an empty response.
                    Err(Failure { trouble: Some(trouble), .. }) => {
                        self.report_trouble(&trouble);
                        Ok(requests::nothing(&pending.method))
                    }
                    result => result,
                };
                if let (true, Ok(value)) = (requests::is_long(&pending.method), &result) {
                    let has_items = value["items"].as_array().is_some_and(|items| !items.is_empty());
                    self.answered = Some(requests::WorkspaceResponse { changes: pending.changes, has_items });
                }
                self.answer(&id, result.map_err(|failure| failure.error));
            }
            Finished::Checked { path, result } => self.checked(path, result),
        }
    }

    /// Starts the requests that waited for a change.
    pub(super) fn wake(&mut self) {
        self.changes += 1;
        for DelayedRequest { id, params } in std::mem::take(&mut self.delayed) {
            self.start(id, "workspace/diagnostic", params);
        }
    }

    /// Cancels a request and responds to it at once.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        let delayed = self.delayed.iter().position(|delayed| delayed.id == *id).map(|index| self.delayed.remove(index));
        let pending = self.pending.remove(id);
        if let Some(pending) = &pending {
            pending.flag.store(true, Ordering::Relaxed);
        }
        if pending.is_some() || delayed.is_some() {
            self.answer(id, Err(Failure::cancelled().error));
        }
    }

    /// Sends a request to the client.
    pub(super) fn ask(&mut self, method: &str, params: &Value, expected: Expected) {
        self.request = self.request.wrapping_add(1);
        let id = self.request;
        self.expected.insert(id, expected);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn answer(&self, id: &RequestId, result: Result<Value, ResponseError>) {
        self.send(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    fn refuse(&self, id: &RequestId, code: i32, message: &str) {
        self.answer(id, Err(Failure::new(code, message).error));
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&self, message: &Value) {
        // If the client is gone, the reader detects it.
        let _ = self.out.send(message.to_string());
    }

    /// Reports a problem to the user, once.
    pub(super) fn report_trouble(&mut self, trouble: &CheckError) {
        let message = match trouble {
            CheckError::Config(error) => error.to_string(),
            CheckError::Baseline(message) => message.clone(),
            CheckError::Cancelled => return,
        };
        if self.session.as_mut().is_some_and(|session| session.tells(&message)) {
            self.notify("window/showMessage", &json!({"type": 1, "message": format!("keylint: {message}")}));
            self.say(&message);
        }
    }

    pub(super) fn warn(&mut self, message: &str) {
        self.notify("window/showMessage", &json!({"type": 2, "message": message}));
        self.say(message);
    }

    pub(super) fn say(&mut self, message: &str) {
        // Standard error may be closed; then the message is lost.
        let _ = writeln!(self.log, "{message}");
    }
}

impl MainLoop<'_> {
    fn notification(&mut self, notification: Notification) -> Result<(), String> {
        super::notifications::react(self, notification)
    }

    fn configured(&mut self, request: Vec<(String, Value)>) {
        super::notifications::configured(self, request);
    }
}
