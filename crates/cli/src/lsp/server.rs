//! The messages: what the editor says, what it asks, and in which order it gets answers.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    io::Write,
    path::PathBuf,
};

use gen_lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionRequest, Diagnostic, DidChangeTextDocumentParams,
    DidChangeWatchedFilesRegistrationOptions, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    ExecuteCommandOptions, ExecuteCommandParams, FileSystemWatcher, HoverRequest, InitializeParams, InitializeRequest,
    InitializeResult, Notification as _, PublishDiagnosticsNotification, PublishDiagnosticsParams, Registration,
    RegistrationParams, RegistrationRequest, ServerCapabilities, ServerInfo, ShowDocumentParams, ShowDocumentRequest,
    TextDocumentContentChangeEvent, TextDocumentSyncKind, TextDocumentSyncOptions, Uri, WorkspaceFolders,
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::{
    actions::drawn,
    project::{Project, Unit},
};
use crate::streams::{Exit, Failure};

/// The command that shows how the containers of a task definition start and stop.
const TIMELINE: &str = "ecs-mesh.timeline";

/// The files whose changes on disk may change what is judged.
const WATCHED: &str = "**/*.{json,yaml,yml,template,tf,tofu,tfvars,tpl,tftpl,toml}";

pub(super) struct Server<'s> {
    output: &'s mut dyn Write,
    phase: Phase,
    client: ClientCapabilities,
    project: Project,
    /// The units to judge again.
    stale: BTreeSet<Unit>,
    /// What was judged, and not yet shown.
    unshown: BTreeSet<Unit>,
    /// The diagnostics of each unit, as the editor shows them.
    shown: BTreeMap<Unit, BTreeMap<PathBuf, Vec<Diagnostic>>>,
    /// The requests that wait for an answer.
    asked: VecDeque<Request>,
    /// The drawing that the editor may still show.
    drawing: Option<NamedTempFile>,
    last_id: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Uninitialized,
    Running,
    ShutDown,
}

impl<'s> Server<'s> {
    pub(super) fn new(output: &'s mut dyn Write) -> Self {
        Self {
            output,
            phase: Phase::Uninitialized,
            client: ClientCapabilities::default(),
            project: Project::default(),
            stale: BTreeSet::new(),
            unshown: BTreeSet::new(),
            shown: BTreeMap::new(),
            asked: VecDeque::new(),
            drawing: None,
            last_id: 0,
        }
    }

    /// Whether there is something to judge or to answer.
    pub(super) fn has_work(&self) -> bool {
        !self.stale.is_empty() || !self.asked.is_empty()
    }

    /// Judges one unit, and shows the result of the last one and of those before; if none is left, answers one request.
    pub(super) fn work(&mut self) -> Result<(), Failure> {
        if let Some(unit) = self.stale.pop_first() {
            self.project.judge(&unit);
            self.unshown.insert(unit);
            return if self.stale.is_empty() { self.publish() } else { Ok(()) };
        }
        let Some(request) = self.asked.pop_front() else { return Ok(()) };
        let answer = self.answer(&request.method, request.params)?;
        self.respond(request.id, answer)
    }

    /// Takes a message. Returns how the process ends if it was the last one.
    pub(super) fn receive(&mut self, message: Message) -> Result<Option<Exit>, Failure> {
        match message {
            Message::Notification(Notification { method, .. }) if method == "exit" => {
                return Ok(Some(if self.phase == Phase::ShutDown { Exit::Clean } else { Exit::Findings }));
            }
            Message::Notification(notification) if self.phase == Phase::Running => self.note(notification)?,
            Message::Request(request) => self.ask(request)?,
            // Answers to requests for which only their effect counts.
            Message::Notification(_) | Message::Response(_) => {}
        }
        Ok(None)
    }

    fn ask(&mut self, request: Request) -> Result<(), Failure> {
        match (self.phase, request.method.as_str()) {
            (Phase::Uninitialized, "initialize") => {
                let answer = typed::<InitializeRequest>(request.params, |params| self.initialize(params));
                self.respond(request.id, answer)
            }
            (Phase::Uninitialized, _) => self.refuse(request.id, ErrorCode::ServerNotInitialized, "not initialized"),
            (Phase::Running, "shutdown") => {
                self.phase = Phase::ShutDown;
                self.respond(request.id, Ok(Value::Null))
            }
            (Phase::Running, _) => {
                self.asked.push_back(request);
                Ok(())
            }
            (Phase::ShutDown, _) => self.refuse(request.id, ErrorCode::InvalidRequest, "shut down"),
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> InitializeResult {
        self.phase = Phase::Running;
        self.client = params.capabilities;
        let folders = match params.workspace_folders_initialize_params.workspace_folders {
            Some(WorkspaceFolders::WorkspaceFolderList(folders)) => {
                folders.into_iter().map(|folder| folder.uri).collect()
            }
            Some(WorkspaceFolders::Null) | None =>
            {
                #[expect(deprecated, reason = "editors without workspace folders")]
                params.root_uri.into_iter().collect::<Vec<Uri>>()
            }
        };
        self.project = Project::new(folders.iter().filter_map(|folder| folder.to_file_path().ok()).collect());
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::Full),
            save: Some(true.into()),
            ..TextDocumentSyncOptions::default()
        };
        let kinds = vec![CodeActionKind::QuickFix, CodeActionKind::SourceFixAll];
        let actions = CodeActionOptions { code_action_kinds: Some(kinds), ..CodeActionOptions::default() };
        let commands =
            ExecuteCommandOptions { commands: vec![TIMELINE.to_owned()], ..ExecuteCommandOptions::default() };
        InitializeResult {
            capabilities: ServerCapabilities {
                text_document_sync: Some(sync.into()),
                hover_provider: Some(true.into()),
                code_action_provider: Some(actions.into()),
                execute_command_provider: Some(commands),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "ecs-mesh".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        }
    }

    /// Takes a notification. Malformed ones are ignored.
    fn note(&mut self, notification: Notification) -> Result<(), Failure> {
        let Notification { method, params } = notification;
        match method.as_str() {
            "initialized" => self.watch(),
            "$/cancelRequest" => {
                let id = params.get("id");
                self.drop_requests(ErrorCode::RequestCanceled, |request| Some(&json!(request.id)) == id)
            }
            "textDocument/didOpen" => match read::<DidOpenTextDocumentParams>(params) {
                Some(DidOpenTextDocumentParams { text_document: opened }) => {
                    self.edit(opened.uri, opened.version, Some(opened.text))
                }
                None => Ok(()),
            },
            "textDocument/didChange" => match read::<DidChangeTextDocumentParams>(params) {
                Some(DidChangeTextDocumentParams { text_document: changed, content_changes }) => {
                    let text = content_changes.into_iter().rev().find_map(|change| match change {
                        TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                            Some(whole.text)
                        }
                        TextDocumentContentChangeEvent::TextDocumentContentChangePartial(_) => None,
                    });
                    self.edit(changed.text_document_identifier.uri, changed.version, text)
                }
                None => Ok(()),
            },
            "textDocument/didClose" => {
                let closed =
                    read::<DidCloseTextDocumentParams>(params).and_then(|closed| path_of(&closed.text_document.uri));
                self.stale.extend(closed.into_iter().flat_map(|path| self.project.close(&path)));
                Ok(())
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.stale.extend(self.project.units());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes the text of a file. Requests about the old text fail with `ContentModified`.
    fn edit(&mut self, uri: Uri, version: i32, text: Option<String>) -> Result<(), Failure> {
        if let (Some(path), Some(text)) = (path_of(&uri), text) {
            self.drop_requests(ErrorCode::ContentModified, |request| {
                request.params.pointer("/textDocument/uri") == Some(&json!(uri))
            })?;
            self.stale.extend(self.project.edit(&path, uri, version, text));
        }
        Ok(())
    }

    /// Answers the waiting requests that meet a condition with an error.
    fn drop_requests(&mut self, code: ErrorCode, is_dropped: impl Fn(&Request) -> bool) -> Result<(), Failure> {
        let (dropped, kept) = std::mem::take(&mut self.asked).into_iter().partition(is_dropped);
        self.asked = kept;
        let dropped: VecDeque<Request> = dropped;
        dropped.into_iter().try_for_each(|request| self.refuse(request.id, code, "superseded"))
    }

    /// Asks the editor to tell which files change on disk, if it can.
    fn watch(&mut self) -> Result<(), Failure> {
        let watching = self.client.workspace.as_ref().and_then(|workspace| workspace.did_change_watched_files.as_ref());
        if watching.and_then(|watching| watching.dynamic_registration) != Some(true) {
            return Ok(());
        }
        let watchers = vec![FileSystemWatcher { glob_pattern: WATCHED.to_owned().into(), kind: None }];
        let options = json!(DidChangeWatchedFilesRegistrationOptions { watchers });
        let method = "workspace/didChangeWatchedFiles".to_owned();
        let registration = Registration { id: "files".to_owned(), method, register_options: Some(options) };
        self.request::<RegistrationRequest>(&RegistrationParams { registrations: vec![registration] })
    }

    /// Sends the diagnostics of what was judged: an empty list for files whose findings are gone.
    fn publish(&mut self) -> Result<(), Failure> {
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        for unit in std::mem::take(&mut self.unshown) {
            let judged = self.project.judged.get(&unit);
            let new = judged.map(|judged| self.project.diagnostics(judged)).unwrap_or_default();
            files.extend(self.project.files_of(&unit).chain(new.keys().cloned()));
            files.extend(self.shown.insert(unit, new).unwrap_or_default().into_keys());
        }
        for path in files {
            let Some(uri) = self.project.uri(&path) else { continue };
            let mut diagnostics: Vec<Diagnostic> = Vec::new();
            let mut numbers: HashMap<String, usize> = HashMap::new();
            // A module that others call is judged with each of them.
            for diagnostic in self.shown.values().filter_map(|shown| shown.get(&path)).flatten() {
                let Diagnostic { range, severity, code, message, .. } = diagnostic;
                let number =
                    *numbers.entry(json!([range, severity, code, message]).to_string()).or_insert(diagnostics.len());
                let Some(known) = diagnostics.get_mut(number) else {
                    diagnostics.push(diagnostic.clone());
                    continue;
                };
                let places = known.related_information.get_or_insert_default();
                let more = diagnostic.related_information.iter().flatten().filter(|place| !places.contains(place));
                let more: Vec<_> = more.cloned().collect();
                places.extend(more);
            }
            let version = self.project.documents.get(&path).map(|document| document.version);
            let params = PublishDiagnosticsParams { uri, version, diagnostics };
            let method = PublishDiagnosticsNotification::METHOD.to_string();
            self.send(&Notification::new(method, params).into())?;
        }
        self.shown.retain(|_, shown| !shown.is_empty());
        Ok(())
    }

    fn answer(&mut self, method: &str, params: Value) -> Result<Result<Value, ResponseError>, Failure> {
        Ok(match method {
            "textDocument/hover" => typed::<HoverRequest>(params, |params| {
                let at = params.text_document_position_params;
                self.project.hover(&path_of(&at.text_document.uri)?, at.position)
            }),
            "textDocument/codeAction" => typed::<CodeActionRequest>(params, |params| {
                let path = path_of(&params.text_document.uri)?;
                Some(self.project.actions(&path, &params).into_iter().map(Into::into).collect())
            }),
            "workspace/executeCommand" => match read::<ExecuteCommandParams>(params) {
                Some(params) if params.command == TIMELINE => self.timeline(&params.arguments.unwrap_or_default())?,
                _ => Err(error(ErrorCode::InvalidParams, "no such command")),
            },
            _ => Err(error(ErrorCode::MethodNotFound, method)),
        })
    }

    /// Draws the task definition at a line of a file, whose address and line are the arguments. Editors that can show it
    /// are asked to; the answer is the drawing.
    fn timeline(&mut self, arguments: &[Value]) -> Result<Result<Value, ResponseError>, Failure> {
        let path = arguments.first().and_then(|uri| read::<Uri>(uri.clone())).and_then(|uri| path_of(&uri));
        let line = arguments.get(1).and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
        let Some(svg) = path.and_then(|path| self.project.timeline(&path, line.unwrap_or_default())) else {
            return Ok(Err(error(
                ErrorCode::RequestFailed,
                "no task definition in this file. Open the file of the definition",
            )));
        };
        let window = self.client.window.as_ref();
        if window.and_then(|window| window.show_document).is_some_and(|show| show.support) {
            let file = drawn(&svg)?;
            if let Ok(uri) = Uri::from_file_path(file.path()) {
                let params = ShowDocumentParams { uri, external: Some(true), take_focus: None, selection: None };
                self.request::<ShowDocumentRequest>(&params)?;
            }
            self.drawing = Some(file);
        }
        Ok(Ok(json!({ "svg": svg })))
    }

    fn request<R: gen_lsp_types::Request>(&mut self, params: &R::Params) -> Result<(), Failure> {
        self.last_id += 1;
        self.send(&Request::new(self.last_id.into(), R::METHOD.to_string(), params).into())
    }

    fn refuse(&mut self, id: RequestId, code: ErrorCode, message: &str) -> Result<(), Failure> {
        self.respond(id, Err(error(code, message)))
    }

    fn respond(&mut self, id: RequestId, response_result: Result<Value, ResponseError>) -> Result<(), Failure> {
        self.send(&Response { id, response_result }.into())
    }

    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        message.write(&mut self.output)?;
        Ok(())
    }
}

fn error(code: ErrorCode, message: &str) -> ResponseError {
    ResponseError { code: code as i32, message: message.to_owned(), data: None }
}

/// Answers a request whose parameters are as the protocol has them.
fn typed<R: gen_lsp_types::Request>(
    params: Value,
    answer: impl FnOnce(R::Params) -> R::Result,
) -> Result<Value, ResponseError> {
    match serde_json::from_value(params) {
        Ok(params) => Ok(json!(answer(params))),
        Err(reason) => Err(error(ErrorCode::InvalidParams, &reason.to_string())),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

/// The path of a file; `None` for what is in no file system.
fn path_of(uri: &Uri) -> Option<PathBuf> {
    uri.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_cancelled_or_overtaken_ends_with_an_error() {
        let notification = |method: &str, params: Value| Message::from(Notification::new(method.to_owned(), params));
        let request =
            |id: i32, method: &str, params: Value| Message::from(Request::new(id.into(), method.to_owned(), params));
        let hover = json!({ "textDocument": { "uri": "file:///web.json" }, "position": { "line": 0, "character": 0 } });
        let changed = json!({ "textDocument": { "uri": "file:///web.json", "version": 2 }, "contentChanges": [{ "text": "{}" }] });
        let mut output = Vec::new();
        let mut server = Server::new(&mut output);
        // Given two questions about a file that are not answered yet.
        let initialize = json!({ "processId": null, "rootUri": null, "capabilities": {} });
        for message in [
            request(1, "initialize", initialize),
            request(2, "textDocument/hover", hover.clone()),
            request(3, "textDocument/hover", hover),
            // When the first is cancelled, and the text changes.
            notification("$/cancelRequest", json!({ "id": 2 })),
            notification("textDocument/didChange", changed),
        ] {
            assert_eq!(server.receive(message).unwrap(), None);
        }
        // Then both end with the error that says so.
        let mut answers = output.as_slice();
        let mut codes = Vec::new();
        while let Some(Message::Response(response)) = Message::read(&mut answers).unwrap() {
            codes.extend(response.response_result.err().map(|error| error.code));
        }
        assert_eq!(codes, [ErrorCode::RequestCanceled as i32, ErrorCode::ContentModified as i32]);
    }
}
