//! A small client of the language server: it starts the real executable and speaks to it over its standard streams.

#![expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent, and nowhere else")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The time limit for a response, on a machine under load.
const PATIENCE: Duration = Duration::from_mins(1);

/// A session with a separate server.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next_id: i64,
    /// The diagnostics that were last pushed, by URI.
    pub pushed: BTreeMap<String, Value>,
    /// The number of pushes.
    pub pushes: usize,
    /// Notifications other than diagnostics, in their order.
    pub heard: Vec<Value>,
    /// Requests of the server, in order; the response is null or `configuration`.
    pub asked: Vec<Value>,
    /// The response to `workspace/configuration` for every folder.
    pub configuration: Value,
    /// Responses that arrived before the test waited for them.
    answers: BTreeMap<i64, Value>,
}

impl Client {
    /// A server to which no client has sent `initialize`.
    pub fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keylint"))
            .arg("server")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let (sender, messages) = mpsc::channel();
        let output = child.stdout.take().expect("its output is a pipe");
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = frame(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            messages,
            next_id: 0,
            pushed: BTreeMap::new(),
            pushes: 0,
            heard: Vec::new(),
            asked: Vec::new(),
            configuration: Value::Null,
            answers: BTreeMap::new(),
        }
    }

    /// A server that is initialised with this client and its folder.
    pub fn introduced(folder: &Path, capabilities: Value, options: Value) -> Self {
        let mut client = Self::start(folder);
        let root = uri(folder);
        let params = json!({
            "processId": null, "rootUri": root, "capabilities": capabilities, "initializationOptions": options,
            "workspaceFolders": [{"uri": root, "name": "root"}],
        });
        let answer = client.request("initialize", params);
        assert!(answer.get("result").is_some(), "{answer}");
        client.notify("initialized", json!({}));
        client
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the session goes on");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its identifier.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        self.next_id
    }

    /// Sends a request and waits for its response.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a request and waits for its result.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Waits for the response to a request.
    pub fn answer(&mut self, id: i64) -> Value {
        self.wait(|client| client.answers.remove(&id))
    }

    /// Handles messages until the expected one arrives.
    pub fn wait<T>(&mut self, mut wanted: impl FnMut(&mut Self) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = wanted(self) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect("the server answers in time");
            self.handle(message);
        }
    }

    /// Handles the messages that come within some time.
    pub fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(message) = self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.handle(message);
        }
    }

    fn handle(&mut self, message: Value) {
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some("textDocument/publishDiagnostics"), _) => {
                let address = message["params"]["uri"].as_str().expect("an address").to_owned();
                self.pushes += 1;
                self.pushed.insert(address, message["params"].clone());
            }
            (Some(method), Some(id)) => {
                let result = if method == "workspace/configuration" {
                    let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                    vec![self.configuration.clone(); items].into()
                } else {
                    Value::Null
                };
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                self.asked.push(message);
            }
            (Some(_), None) => self.heard.push(message),
            (None, id) => {
                let id = id.and_then(Value::as_i64).unwrap_or(-1);
                self.answers.insert(id, message);
            }
        }
    }

    pub fn open(&mut self, address: &str, version: i64, text: &str) {
        let document = json!({"uri": address, "languageId": "python", "version": version, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    pub fn change(&mut self, address: &str, version: i64, changes: Value) {
        let params = json!({"textDocument": {"uri": address, "version": version}, "contentChanges": changes});
        self.notify("textDocument/didChange", params);
    }

    /// Waits for the pushed diagnostics of a version.
    pub fn diagnostics(&mut self, address: &str, version: i64) -> Vec<Value> {
        self.wait(|client| {
            let params = client.pushed.get(address).filter(|params| params["version"] == version)?;
            params["diagnostics"].as_array().cloned()
        })
    }

    /// Ends the session as the protocol requires, and returns the status of the process.
    pub fn leave(mut self) -> ExitStatus {
        let answer = self.request("shutdown", Value::Null);
        assert_eq!(answer["result"], Value::Null, "{answer}");
        self.notify("exit", Value::Null);
        self.status()
    }

    /// Waits for the end of the process.
    pub fn status(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the process can be waited for") {
                return status;
            }
            assert!(Instant::now() < end, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the stream to the server.
    pub fn hang_up(&mut self) {
        self.input = None;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The process may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn frame(from: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        // Anything but the protocol on standard output fails here.
        let (name, value) = line.split_once(": ").expect("a header");
        assert_eq!(name, "Content-Length");
        length = value.parse().ok();
    }
    let mut body = vec![0; length?];
    from.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("messages are JSON"))
}

/// The URI of a path.
pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A folder with files in it.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { folder: tempfile::tempdir().expect("a folder") };
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder exists")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("folders can be made");
        std::fs::write(path, text).expect("files can be written");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("the file can be read")
    }

    pub fn uri(&self, name: &str) -> String {
        uri(&self.path().join(name))
    }

    /// Runs the command line in the folder; its output.
    pub fn keylint(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_keylint"))
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output()
            .expect("keylint runs");
        String::from_utf8(output.stdout).expect("it writes UTF-8")
    }

    /// What the command line shows of paths, as JSON.
    pub fn check(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [&["check", "--output-format", "json"], arguments].concat();
        serde_json::from_str(&self.keylint(&all)).expect("the report is JSON")
    }
}

/// A text after the edits of one document of a workspace edit, positions counted in UTF-16.
pub fn edited(text: &str, edits: &Value) -> String {
    let mut spans: Vec<(usize, usize, String)> = edits
        .as_array()
        .expect("edits are a list")
        .iter()
        .map(|edit| {
            let offset = |position: &Value| offset(text, position);
            let new = edit["newText"].as_str().expect("the new text").to_owned();
            (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]), new)
        })
        .collect();
    spans.sort_by_key(|(start, end, _)| (*start, *end));
    let mut result = String::new();
    let mut at = 0;
    for (start, end, new) in spans {
        assert!(start >= at, "edits overlap");
        result.push_str(&text[at..start]);
        result.push_str(&new);
        at = end;
    }
    result + &text[at..]
}

/// The offset of a position that is counted in UTF-16.
pub fn offset(text: &str, position: &Value) -> usize {
    let number = |name: &str| usize::try_from(position[name].as_u64().expect("a number")).expect("a small number");
    let mut offset = 0;
    let mut lines = number("line");
    let mut rest = text;
    while lines > 0 {
        let end = rest.find(['\n', '\r']).expect("the line exists");
        let end = end + if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        (offset, rest, lines) = (offset + end, &rest[end..], lines - 1);
    }
    let mut units = number("character");
    for character in rest.chars() {
        if units == 0 || character == '\n' || character == '\r' {
            break;
        }
        units = units.checked_sub(character.len_utf16()).expect("positions lie between characters");
        offset += character.len_utf8();
    }
    offset
}
