"""`ecs-mesh lsp` as editors use it: pytest-lsp starts the program that ECS_MESH names, and talks to it as each of them does.

`cargo test --test command_line lsp` runs this file; see lsp.rs.
"""

import json
import os
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

BASES = Path(__file__).parents[4] / "audit/src/bases"
CLEAN = (BASES / "dataplane.json").read_text()
BRIDGED = CLEAN.replace('"awsvpc"', '"bridge"')
RULE = "consul-network-mode"


def terraform(definition: str) -> str:
    """The same definition in Terraform's language, in which JSON is an expression."""
    task = json.loads(definition)
    containers = json.dumps(task["containerDefinitions"], indent=2)
    volumes = "".join(f'  volume {{\n    name = "{volume["name"]}"\n  }}\n' for volume in task["volumes"])
    tags = "".join(f'    "{tag["key"]}" = "{tag["value"]}"\n' for tag in task["tags"])
    return f"""resource "aws_ecs_task_definition" "web" {{
  family = "web"
  network_mode = "{task["networkMode"]}"
  requires_compatibilities = ["FARGATE"]
  cpu = 256
  memory = 512
  task_role_arn = "{task["taskRoleArn"]}"
  execution_role_arn = "{task["executionRoleArn"]}"
  container_definitions = jsonencode({containers})
  tags = {{
{tags}  }}
{volumes}}}
"""


TASK, BRIDGED_TASK = terraform(CLEAN), terraform(BRIDGED)


class Editor:
    """An editor with one folder."""

    def __init__(self, client: LanguageClient, folder: Path):
        self.client, self.folder = client, folder

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(uri=self.uri(name))

    async def shown(self, name: str) -> list[lsp.Diagnostic]:
        """The diagnostics of a file, when the editor gets them next."""
        self.client.diagnostics.pop(self.uri(name), None)
        return await self.first_shown(name)

    async def first_shown(self, name: str) -> list[lsp.Diagnostic]:
        """The diagnostics of a file that the editor has or gets. After an edit, files get theirs in the order of their names."""
        while self.uri(name) not in self.client.diagnostics:
            await self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return list(self.client.diagnostics[self.uri(name)])

    def start(self, name: str, text: str) -> None:
        item = lsp.TextDocumentItem(uri=self.uri(name), language_id="", version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    async def open(self, name: str, text: str | None = None) -> list[lsp.Diagnostic]:
        self.start(name, (self.folder / name).read_text() if text is None else text)
        return await self.shown(name)

    def type(self, name: str, text: str, version: int = 2) -> None:
        document = lsp.VersionedTextDocumentIdentifier(uri=self.uri(name), version=version)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    async def edit(self, name: str, text: str, version: int = 2) -> list[lsp.Diagnostic]:
        self.type(name, text, version)
        return await self.shown(name)

    async def actions(self, name: str, where: lsp.Range, only: list[str] | None = None) -> list[lsp.CodeAction]:
        context = lsp.CodeActionContext(diagnostics=[], only=only)
        params = lsp.CodeActionParams(self.document(name), where, context)
        return list(await self.client.text_document_code_action_async(params))


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """A text after edits of whole lines."""
    lines = text.splitlines(keepends=True)
    for edit in reversed(edits):
        assert (edit.range.start.character, edit.range.end.character) == (0, 0)
        lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
    return "".join(lines)


@pytest_lsp.fixture(
    params=["visual-studio-code", "neovim"],
    config=ClientServerConfig(server_command=[os.environ["ECS_MESH"], "lsp", "--stdio"]),
)
async def client(request, client: LanguageClient, tmp_path: Path):
    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(_: lsp.RegistrationParams) -> None:
        pass

    folder = lsp.WorkspaceFolder(uri=tmp_path.as_uri(), name="project")
    await client.initialize_session(
        lsp.InitializeParams(
            capabilities=client_capabilities(request.param), root_uri=tmp_path.as_uri(), workspace_folders=[folder]
        )
    )
    yield
    await client.shutdown_session()


@pytest.fixture
def editor(client: LanguageClient, tmp_path: Path) -> Editor:
    return Editor(client, tmp_path)


def rules(diagnostics: list[lsp.Diagnostic]) -> list[str]:
    return [diagnostic.code for diagnostic in diagnostics]


async def test_findings_appear_and_disappear_while_typing(editor: Editor):
    # Given a file that is saved without mistakes, and opened.
    editor.write({"web.json": CLEAN})
    assert await editor.open("web.json") == []
    # When a mistake is typed, then its finding is shown at its place, though it is not saved.
    [finding] = await editor.edit("web.json", BRIDGED)
    assert (finding.code, finding.source, finding.severity) == (RULE, "ecs-mesh", lsp.DiagnosticSeverity.Error)
    line = BRIDGED.splitlines()[finding.range.start.line]
    assert line[finding.range.start.character : finding.range.end.character] == '"bridge"'
    # And it goes with the mistake.
    assert await editor.edit("web.json", CLEAN, 3) == []


async def test_the_whole_module_is_judged_with_what_is_not_saved(editor: Editor):
    def other(task: str) -> str:
        return task.replace("web", "api")

    # Given a module whose network mode is in another file, and a module that it calls.
    editor.write(
        {
            "main.tf": TASK.replace('"awsvpc"', "var.mode"),
            "variables.tf": 'variable "mode" {\n  default = "awsvpc"\n}\n',
            "modules/web/main.tf": other(BRIDGED_TASK),
            "calls.tf": 'module "web" {\n  source = "./modules/web"\n}\n',
        }
    )
    # When only the main file is open, then the finding in the called module is shown there.
    assert await editor.open("main.tf") == []
    assert rules(await editor.first_shown("modules/web/main.tf")) == [RULE]
    # And what is typed in one file, unsaved, decides about the other.
    await editor.open("variables.tf")
    await editor.edit("variables.tf", 'variable "mode" {\n  default = "bridge"\n}\n')
    assert rules(await editor.first_shown("main.tf")) == [RULE]
    # And when the buffer is closed without being saved, the file on disk counts.
    editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(editor.document("variables.tf")))
    assert rules(await editor.shown("modules/web/main.tf")) == [RULE]
    assert await editor.first_shown("main.tf") == []
    # And an edit of the called module counts for both.
    assert rules(await editor.open("modules/web/main.tf")) == [RULE]
    assert await editor.edit("modules/web/main.tf", other(TASK)) == []


async def test_a_mistake_in_a_shared_module_is_shown_once_with_its_calls(editor: Editor):
    # Given a module with a mistake, and two root modules that call it.
    call = 'module "web" {\n  source = "../modules/web"\n}\n'
    roots = ["prod/main.tf", "staging/main.tf"]
    editor.write({"modules/web/main.tf": BRIDGED_TASK} | {root: call for root in roots})
    # When both are open, then the mistake is shown once, with a link to each call.
    for root in roots:
        await editor.open(root)
    [finding] = await editor.first_shown("modules/web/main.tf")
    places = [(place.location.uri, place.message) for place in finding.related_information]
    assert places == [(editor.uri(root), "called as module.web") for root in roots]
    # And it has each action once.
    titles = [action.title for action in await editor.actions("modules/web/main.tf", finding.range)]
    assert titles == [f"Ignore {RULE} here"]


async def test_exceptions_count_as_in_check(editor: Editor):
    editor.write({"ecs-mesh.toml": f'[severity]\n{RULE} = "warning"\n', "lab/web.json": BRIDGED})
    [finding] = await editor.open("lab/web.json")
    assert finding.severity == lsp.DiagnosticSeverity.Warning
    # When the configuration is edited, it counts before it is saved; and a mistake in it is shown in it.
    entry = f'[[ignore]]\nrule = "{RULE}"\npath = "lab/**"\nreason = "a lab"\n'
    editor.start("ecs-mesh.toml", entry)
    assert await editor.shown("lab/web.json") == []
    editor.type("ecs-mesh.toml", entry.replace("reason", "raeson"))
    assert await editor.shown("lab/web.json") == []
    [problem] = await editor.first_shown("ecs-mesh.toml")
    assert "unknown field `raeson`" in problem.message
    assert problem.range.start == lsp.Position(3, 0)
    # And a comment ignores a finding, too.
    editor.type("ecs-mesh.toml", "", 3)
    await editor.shown("lab/web.json")
    commented = BRIDGED.replace("{", f"// ecs-mesh: ignore-file[{RULE}] a lab\n{{", 1)
    assert await editor.edit("lab/web.json", commented, 3) == []


async def test_a_mistake_in_the_configuration_file_is_shown(editor: Editor):
    # Given a configuration file that alone is open, when a setting is misspelt and corrected, then its finding comes and goes.
    editor.write({"ecs-mesh.toml": 'fail-on = "warning"\n'})
    assert await editor.open("ecs-mesh.toml") == []
    [problem] = await editor.edit("ecs-mesh.toml", 'fial-on = "warning"\n')
    assert "fial-on" in problem.message
    assert await editor.edit("ecs-mesh.toml", 'fail-on = "error"\n', 3) == []


async def test_other_files_have_no_diagnostics(editor: Editor):
    assert await editor.open("package.json", '{"name": "web"}') == []
    assert await editor.open("notes.yaml", "a: [\n") == []
    [problem] = await editor.open("web.json", '{"containerDefinitions": [')
    assert problem.message.startswith("not JSON")


async def test_positions_are_those_of_utf_16(editor: Editor):
    # Given a mistake behind characters that have one, two and four bytes in UTF-8.
    text = "{/* ü🚀 */ " + BRIDGED.strip()[1:].replace('"networkMode": "bridge",', "").replace("{", "", 0)
    text = text.replace("{/* ü🚀 */ ", '{/* ü🚀 */ "networkMode": "bridge", ')
    [finding] = await editor.open("web.json", text)
    units = text[: text.index('"bridge"')].encode("utf-16-le")
    assert (finding.range.start.line, finding.range.start.character) == (0, len(units) // 2)


async def test_hover_shows_the_page_of_the_rule(editor: Editor):
    [finding] = await editor.open("web.json", BRIDGED)
    at = lsp.HoverParams(editor.document("web.json"), finding.range.start)
    hover = await editor.client.text_document_hover_async(at)
    page = (Path(__file__).parents[5] / f"docs/reference/rules/{RULE}.md").read_text()
    assert (hover.contents.kind, hover.contents.value) == (lsp.MarkupKind.Markdown, page)
    elsewhere = lsp.HoverParams(editor.document("web.json"), lsp.Position(0, 0))
    assert await editor.client.text_document_hover_async(elsewhere) is None


async def test_a_fix_is_an_edit_of_its_lines(editor: Editor):
    for name, clean, broken in [
        ("web.json", CLEAN, BRIDGED),
        ("main.tf", TASK, BRIDGED_TASK),
    ]:
        [finding] = await editor.open(name, broken)
        [fix, *_] = await editor.actions(name, finding.range)
        assert (fix.title, fix.kind, fix.is_preferred) == (f"Fix {RULE}", lsp.CodeActionKind.QuickFix, True)
        [change] = fix.edit.document_changes
        assert change.text_document == lsp.OptionalVersionedTextDocumentIdentifier(uri=editor.uri(name), version=1)
        assert applied(broken, change.edits) == clean
        # Fixing all is the same, if it is the only one.
        [all_of_them] = await editor.actions(name, finding.range, [lsp.CodeActionKind.SourceFixAll])
        assert all_of_them.edit == fix.edit
        # And without findings, there is nothing to do.
        assert await editor.edit(name, clean) == []
        assert await editor.actions(name, finding.range) == []


async def test_an_exception_is_a_comment_or_an_entry(editor: Editor):
    [finding] = await editor.open("main.tf", BRIDGED_TASK)
    [_, ignore] = await editor.actions("main.tf", finding.range)
    assert ignore.title == f"Ignore {RULE} here"
    ignored = applied(BRIDGED_TASK, ignore.edit.document_changes[0].edits)
    assert f"# ecs-mesh: ignore[{RULE}] TODO: say why\n" in ignored
    assert await editor.edit("main.tf", ignored) == []
    # In JSON without comments, it is an entry of the configuration file, which may be new.
    [finding] = await editor.open("lab/web.json", BRIDGED)
    [_, ignore] = await editor.actions("lab/web.json", finding.range)
    create, change = ignore.edit.document_changes
    assert (create.kind, create.uri) == ("create", editor.uri("ecs-mesh.toml"))
    entry = applied("", change.edits)
    assert 'path = "lab/web.json"' in entry
    editor.start("ecs-mesh.toml", entry)
    assert await editor.shown("lab/web.json") == []


async def test_no_secret_is_in_a_message(editor: Editor):
    # Given a password that is also where a message shows the value.
    secret = "s3cr3t-pa55w0rd"
    variable = f'"environment": [{{"name": "DB_PASSWORD", "value": "{secret}"}}],'
    text = CLEAN.replace('"awsvpc"', f'"{secret}"').replace('"essential": true,', f'"essential": true, {variable}', 1)
    [finding] = await editor.open("web.json", text)
    assert finding.message.startswith("the network mode is ***")
    assert secret not in repr(finding)


async def test_the_command_draws_the_timeline(editor: Editor):
    await editor.open("web.json", CLEAN)
    show = lsp.ExecuteCommandParams("ecs-mesh.timeline", [editor.uri("web.json"), 0])
    drawn = await editor.client.workspace_execute_command_async(show)
    assert drawn["svg"].startswith("<svg") and "consul-dataplane" in drawn["svg"]
    for document in editor.client.shown_documents:
        assert document.uri.endswith(".svg") and document.external
    # A file without a task definition has none.
    await editor.open("package.json", '{"name": "web"}')
    with pytest.raises(JsonRpcException, match="no task definition"):
        await editor.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams("ecs-mesh.timeline", [editor.uri("package.json"), 0])
        )
