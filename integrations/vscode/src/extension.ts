// Starts `ecs-mesh lsp` and connects the editor to it. All of the work is done there.

import { commands, ExtensionContext, window, workspace } from "vscode";
import { ExecuteCommandRequest, LanguageClient } from "vscode-languageclient/node";

const INSTALL = "Install ecs-mesh, or set ecs-mesh.path to the program.";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("ecs-mesh.restart", restart),
    commands.registerCommand("ecs-mesh.showTimeline", showTimeline),
    workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("ecs-mesh.path") ? restart() : undefined)),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
  client = undefined;
}

async function restart(): Promise<void> {
  await deactivate();
  const command = workspace.getConfiguration("ecs-mesh").get<string>("path", "ecs-mesh");
  const languages = ["json", "jsonc", "yaml", "terraform", "terraform-vars", "opentofu", "opentofu-vars"];
  const files = [...languages.map((language) => ({ scheme: "file", language })), { scheme: "file", pattern: "**/ecs-mesh.toml" }];
  client = new LanguageClient("ecs-mesh", "ecs-mesh", { command, args: ["lsp"] }, { documentSelector: files });
  try {
    await client.start();
  } catch (error) {
    void window.showErrorMessage(`${command} does not start: ${String(error)}. ${INSTALL}`);
  }
}

/** Draws the task definition at the cursor; the server opens the drawing. */
async function showTimeline(): Promise<void> {
  const editor = window.activeTextEditor;
  if (!editor || !client) {
    return;
  }
  const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
  const command = { command: "ecs-mesh.timeline", arguments: [uri, editor.selection.active.line] };
  try {
    await client.sendRequest(ExecuteCommandRequest.type, command);
  } catch (error) {
    void window.showWarningMessage(error instanceof Error ? error.message : String(error));
  }
}
