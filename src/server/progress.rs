//! Progress reports of long tasks, for clients that sent a token.
//!
//! **Invariant:** every progress report that begins also ends, even if the task is aborted; percentages never decrease.

use std::sync::{Mutex, PoisonError};

use gen_lsp_types::ProgressToken;
use serde_json::{Value, json};

use super::workers::RequestContext;

/// The progress of one task.
pub(super) struct Progress<'a> {
    notify: &'a (dyn Fn(&str, Value) + Sync),
    /// `None` if the client wants no reports.
    token: Option<Value>,
    reported: Mutex<usize>,
}

impl<'a> Progress<'a> {
    pub(super) fn begin(request: &RequestContext<'a>, token: Option<&ProgressToken>, title: &str) -> Self {
        let token = token.and_then(|token| serde_json::to_value(token).ok());
        let progress = Self { notify: request.notify, token, reported: Mutex::new(0) };
        progress.send(&json!({"kind": "begin", "title": title, "cancellable": true, "percentage": 0}));
        progress
    }

    /// Reports that `done` of `total` files are done.
    pub(super) fn report(&self, done: usize, total: usize) {
        if self.token.is_none() {
            return;
        }
        let percentage = (done * 100).checked_div(total).unwrap_or(100).min(100);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if percentage > *reported {
            *reported = percentage;
            self.send(
                &json!({"kind": "report", "percentage": percentage, "message": format!("{done} of {total} files")}),
            );
        }
    }

    pub(super) fn end(self) {
        drop(self);
    }

    fn send(&self, value: &Value) {
        if let Some(token) = &self.token {
            (self.notify)("$/progress", json!({"token": token, "value": value}));
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.send(&json!({"kind": "end"}));
    }
}
