//! The language server.
//!
//! One thread reads messages, one writes them, the main loop ([`main_loop`]) owns the session ([`session`]) and passes snapshots of it
//! ([`snapshot`]) to workers ([`workers`]), one of which is reserved for long tasks. Every request has its own file; [`requests`] lists
//! them.
//!
//! **Invariant:** what is reported for a file is what `keylint check` reports for the same text with the same configuration. Standard
//! output carries the protocol and nothing else.

pub mod client;
pub mod code_action;
mod diagnostics;
pub mod documents;
mod edits;
mod fix_all;
mod hints;
pub mod hover;
mod lineage;
mod main_loop;
mod notebook;
mod notifications;
mod places;
mod progress;
mod pull;
mod push;
mod requests;
mod session;
pub mod settings;
mod snapshot;
pub mod transport;
pub mod workers;
mod workspace;

use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use main_loop::{Event, MainLoop, TaskQueues};
use transport::Incoming;

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client sent a shutdown request before it disconnected.
    Orderly,
    /// The client disconnected without a shutdown request.
    Abrupt,
}

/// The streams of a server.
pub struct Streams<'a> {
    /// The messages of the client.
    pub input: &'a mut (dyn Read + Send),
    /// The messages to the client.
    pub output: &'a mut (dyn Write + Send),
    /// Messages to people.
    pub log: &'a mut dyn Write,
}

/// Serves one client until it disconnects. `start` is the folder of files outside all workspace folders.
pub fn serve(streams: Streams<'_>, start: PathBuf, home: Option<PathBuf>) -> Ended {
    let Streams { input, output, log } = streams;
    let (events, arriving) = mpsc::channel();
    let (out, outgoing) = mpsc::channel::<String>();
    let (documents, document_tasks) = mpsc::channel();
    let (workspace, workspace_tasks) = mpsc::channel();
    thread::scope(|scope| {
        let reader = events.clone();
        scope.spawn(move || read(input, &reader));
        let writer = events.clone();
        scope.spawn(move || {
            for message in outgoing {
                if let Err(error) = transport::write(output, &message) {
                    // The loop may have ended before.
                    let _ = writer.send(Event::Closed(Some(format!("cannot write to the client: {error}"))));
                    return;
                }
            }
        });
        let events = &events;
        let workers = events.clone();
        scope.spawn(move || workers::work(&document_tasks, &workers, None));
        let workers = events.clone();
        scope.spawn(move || workers::work(&workspace_tasks, &workers, Some(workers::REST)));
        MainLoop::new(out, log, TaskQueues { documents, workspace }, start, home).run(&arriving)
    })
}

/// Reads messages until the client disconnects.
fn read(input: &mut dyn Read, events: &mpsc::Sender<Event>) {
    let mut input = BufReader::new(input);
    loop {
        let event = match transport::read(&mut input) {
            Ok(Some(incoming)) => Event::Arrived(incoming),
            Ok(None) => Event::Closed(None),
            Err(error) => Event::Closed(Some(format!("cannot read from the client: {error}"))),
        };
        let is_last = match &event {
            Event::Arrived(Incoming::Message(lsp_server::Message::Notification(note))) => note.method == "exit",
            Event::Arrived(_) => false,
            Event::Closed(_) | Event::Finished(_) => true,
        };
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}
