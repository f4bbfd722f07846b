//! `ecs-mesh lsp`: a language server on standard input and output, with what `check`, `explain`, `fix` and `graph` say.
//!
//! ```text
//!  server    ─▶  project        ─▶  answers, actions
//!  messages      buffers, and       diagnostics, hover, fixes, exceptions, timelines
//!                what the auditor   │
//!                says of them       └─▶ text: positions and edits
//! ```
//!
//! One thread does all of it. Before it judges or answers anything, it takes every message that has arrived: a newer edit
//! replaces an older one, and a request may be cancelled. Source of the protocol:
//! <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/>

mod actions;
mod answers;
mod messages;
mod project;
mod server;
mod text;

use std::{
    io::{self, BufReader},
    sync::mpsc::{TryRecvError, channel},
    thread,
};

use self::server::Server;
use crate::streams::{Exit, Failure, Streams};
use clap::Args;

/// Serve editors: findings while you type, their explanations and fixes
///
/// Editors start this command and talk to it on standard input and output, in the Language Server Protocol.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  Neovim 0.11 and newer:\n    \
                  vim.lsp.config('ecs-mesh', { cmd = { 'ecs-mesh', 'lsp' }, filetypes = { 'json', 'yaml', 'terraform' } })\n    \
                  vim.lsp.enable('ecs-mesh')\n  Helix, in languages.toml:\n    [language-server.ecs-mesh]\n    \
                  command = \"ecs-mesh\"\n    args = [\"lsp\"]")]
pub(super) struct Arguments {
    /// Ignored; many editors pass it. Standard input and output are the only transport
    #[arg(long)]
    stdio: bool,
}

pub(super) fn run(_arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let (sender, messages) = channel();
    // Ends with the process: it may be waiting for input that never comes.
    thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        loop {
            let read = messages::read(&mut input);
            let is_last = !matches!(read, Ok(Some(_)));
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    let mut server = Server::new(streams.output);
    loop {
        let message = if server.has_work() {
            match messages.try_recv() {
                Err(TryRecvError::Empty) => {
                    server.work()?;
                    continue;
                }
                received => received.ok(),
            }
        } else {
            messages.recv().ok()
        };
        // The end of the input without `exit` is an error of the editor.
        let Some(message) = message.transpose()?.flatten() else { return Ok(Exit::Unusable) };
        if let Some(exit) = server.receive(message)? {
            return Ok(exit);
        }
    }
}
