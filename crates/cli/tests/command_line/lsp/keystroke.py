"""How long a keystroke takes, from the editor's message to its diagnostics, in projects of 100 files.

    make keystroke
"""

import statistics
import time

from test_lsp import BRIDGED, BRIDGED_TASK, CLEAN, TASK, Editor, client, editor  # noqa: F401

KEYSTROKES = 200


def task(number: int, name: str) -> str:
    """A task definition with its own family and task role."""
    text = TASK.replace('"web" {', f'"{name}" {{', 1).replace('"web"\n', f'"web{number}"\n', 1)
    return text.replace("/web-task", f"/web{number}-task", 1)


async def measure(what: str, editor: Editor, name: str, texts: list[str]) -> None:
    """Types the texts in turn."""
    await editor.open(name, texts[0])
    durations = []
    for version in range(KEYSTROKES):
        # Each text is new.
        text = texts[version % len(texts)].replace("\n", " " * (version % 7) + "\n", 1)
        start = time.perf_counter()
        await editor.edit(name, text, version + 2)
        durations.append((time.perf_counter() - start) * 1000)
    last = statistics.quantiles(durations, n=20)[-1]
    print(f"\n| {what} | {statistics.median(durations):.1f} | {last:.1f} |", end="")


async def test_json(editor: Editor):
    editor.write({f"{number}.json": CLEAN for number in range(100)})
    await measure("100 task definitions in JSON", editor, "7.json", [CLEAN, BRIDGED])


async def test_terraform_of_one_directory(editor: Editor):
    files = {f"{number}.tf": task(number, f"web{number}") for number in range(100)}
    editor.write(files)
    await measure("100 task definitions in one module of Terraform", editor, "7.tf", [files["7.tf"], files["7.tf"].replace("awsvpc", "bridge")])


async def test_terraform_with_modules(editor: Editor):
    # Given 24 modules with four files each, and a root module with four files that calls all of them.
    variables = 'variable "mode" {\n  type = string\n}\n\nvariable "region" {\n  default = "eu-west-1"\n}\n'
    others = {
        "outputs.tf": 'output "arn" {\n  value = aws_ecs_task_definition.web.arn\n}\n',
        "locals.tf": 'locals {\n  tags = { team = "shop" }\n}\n',
    }
    for number in range(24):
        module = {"main.tf": task(number, "web").replace('"awsvpc"', "var.mode"), "variables.tf": variables, **others}
        editor.write({f"modules/{number}/{name}": text for name, text in module.items()})
    call = 'module "m{0}" {{\n  source = "./modules/{0}"\n  mode = "awsvpc"\n}}\n'
    calls = "".join(call.format(number) for number in range(24))
    editor.write({"main.tf": TASK, "variables.tf": variables.replace("type = string", 'default = ""'), **others, "calls.tf": calls})
    await measure("Terraform, a root module with 24 others", editor, "main.tf", [TASK, BRIDGED_TASK])
