// Shows the pages of target/site in Chromium, as a phone and as a desktop, light and dark. `make site-test` runs it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const ROOT = new URL("../../", import.meta.url);
const DOCS = new URL("../../docs/", import.meta.url);
const SITE = new URL("../../target/site/", import.meta.url);
const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const TYPES = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript", json: "application/json", svg: "image/svg+xml" };
const WIDTHS = [390, 1280];

/// The browser that CHROMIUM names, or an installed one.
function browserPath() {
  const named = process.env.CHROMIUM;
  for (const name of named ? [named] : ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      execFileSync(name, ["--version"], { stdio: "ignore" });
      return execFileSync("sh", ["-c", 'command -v "$0"', name], { encoding: "utf8" }).trim();
    } catch {
      assert(!named, `CHROMIUM=${named} does not start: ${named} --version says why`);
    }
  }
}

const executablePath = browserPath();
const skip = executablePath ? false : "no Chromium; make browser finds or installs one";
assert(!skip || process.env.CI !== "true", `make setup should have installed it: ${skip}`);

/// Paths of the site's pages: "/", "/how-to/alarms/".
const pages = readdirSync(SITE, { recursive: true })
  .filter((file) => file.endsWith("index.html"))
  .map((file) => `/${file.slice(0, -"index.html".length)}`)
  .sort();
const isRule = (page) => /^\/reference\/rules\/./.test(page);
/// All rules have the same form: the first and the last stand for the others.
const rules = pages.filter(isRule);
const forms = [...pages.filter((page) => !isRule(page)), rules.at(0), rules.at(-1)];

/// The Markdown of a page.
function source(page) {
  const names = page === "/" ? ["index.md"] : [`${page.slice(1, -1)}.md`, `${page.slice(1)}README.md`];
  return names.map((name) => new URL(name, DOCS)).find((url) => statSync(url, { throwIfNoEntry: false }));
}

/// What a page has of its own, without the navigation.
const article = (page) => readFileSync(file(page), "utf8").match(/<article[^]*<\/article>/)[0];

function file(path) {
  const url = new URL(`.${path.endsWith("/") ? `${path}index.html` : path}`, SITE);
  return statSync(url, { throwIfNoEntry: false })?.isFile() ? url : undefined;
}

const server = createServer((request, response) => {
  const found = file(decodeURI(new URL(request.url, "http://site").pathname));
  const type = found && TYPES[found.pathname.split(".").at(-1)];
  response.writeHead(found ? 200 : 404, { "Cache-Control": "max-age=3600", ...(type && { "Content-Type": type }) });
  response.end(found && readFileSync(found));
});

let browser, origin, contents;
before(async () => {
  if (skip) return;
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  origin = `http://127.0.0.1:${server.address().port}`;
  // No other host has an address.
  const args = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  browser = await chromium.launch({ executablePath, args });
  contents = await readPages();
});
after(async () => {
  await browser?.close();
  server.close();
});

/// By how many pixels the page is wider than its window.
const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

/// The number of list items and code blocks that GitHub shows of a page, and how many of them are inside a list item.
function blocks(markdown) {
  const parts = markdown.split(/^( *)```.*\n/m);
  const text = parts.filter((_, index) => index % 4 === 0).join("");
  const indents = parts.filter((_, index) => index % 4 === 1);
  const items = text.match(/^ *([-*+]|\d+\.) /gm) ?? [];
  const inside = (all) => all.filter((indent) => indent.startsWith(" ")).length;
  return { items: items.length, inner: inside(items), code: indents.length, innerCode: inside(indents) };
}

/// Shows pages, two at once. Returns what `look` complains about, and requests that leave the site or fail.
async function show(paths, look) {
  const context = await browser.newContext();
  const complaints = [];
  context.on("response", (response) => response.ok() || complaints.push(`${response.status()}: ${response.url()}`));
  context.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) complaints.push(`leaves the site: ${request.url()}`);
  });
  const queue = [...paths];
  const work = async () => {
    const tab = await context.newPage();
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      await tab.goto(origin + path);
      complaints.push(...(await look(tab)).map((complaint) => `${path}: ${complaint}`));
    }
  };
  await Promise.all([work(), work()]);
  await context.close();
  return complaints.sort();
}

test("lists and code blocks are what they are on GitHub", { skip }, async () => {
  const tab = await browser.newPage();
  for (const path of pages) {
    await tab.setContent(article(path));
    const count = (selector) => tab.locator(selector).count();
    const shown = { items: await count("li"), inner: await count("li li"), code: await count("pre"), innerCode: await count("li pre") };
    assert.deepEqual(shown, blocks(readFileSync(source(path), "utf8")), path);
  }
  await tab.close();
});

/// The IDs of each page's elements, and where its links and pictures lead.
async function readPages() {
  const tab = await browser.newPage();
  const read = (html, base) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const values = (name) => [...page.querySelectorAll(`[${name}]`)].map((element) => element.getAttribute(name));
    return { ids: values("id"), links: [...values("href"), ...values("src")].map((target) => new URL(target, base).href) };
  };
  const contents = new Map();
  for (const path of pages) {
    contents.set(path, await tab.evaluate(`(${read})(${JSON.stringify(readFileSync(file(path), "utf8"))}, "${origin}${path}")`));
  }
  await tab.close();
  return contents;
}

test("every link and picture leads to a page or an anchor of the site, or away from it", { skip }, async () => {
  const leads = (link) => {
    const { origin: host, pathname, hash } = new URL(link);
    const anchor = decodeURIComponent(hash.slice(1));
    return host !== origin || (file(pathname) && (!anchor || contents.get(pathname)?.ids.includes(anchor)));
  };
  const links = [...contents].flatMap(([path, { links }]) => links.map((link) => [path, link]));
  assert(links.length > pages.length * 10, `${links.length} links`);
  assert.deepEqual(links.filter(([, link]) => !leads(link)).map(([path, link]) => `${path}: ${link}`), []);
});

test("every link of the README and of other Markdown outside docs/ leads to a file, and to an anchor that its page has", { skip }, async () => {
  const files = execFileSync("git", ["ls-files", "*.md", ":!docs"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
  const anchors = new Map(pages.map((path) => [source(path).pathname, contents.get(path).ids]));
  const leads = ({ pathname, hash }) => {
    const known = anchors.get(pathname);
    return statSync(pathname, { throwIfNoEntry: false }) && (!known || !hash || known.includes(hash.slice(1)));
  };
  const broken = files.flatMap((name) => {
    const text = readFileSync(new URL(name, ROOT), "utf8").replace(/^ *```[^]*?^ *```/gm, "");
    const targets = [...text.matchAll(/\]\(([^)\s:]+)\)/g)].map(([, target]) => target);
    return targets.filter((target) => !leads(new URL(target, new URL(name, ROOT)))).map((target) => `${name}: ${target}`);
  });
  assert.deepEqual(broken, []);
});

test("no text or picture is wider than a phone or a desktop", { skip }, async () => {
  // Puts the articles into one page: to load each page takes twenty times as long.
  const put = async ([path, article]) => {
    history.replaceState(null, "", path);
    document.querySelector("article").outerHTML = article;
    await Promise.all([...document.querySelectorAll("article img")].map((picture) => picture.decode()));
  };
  const complaints = [];
  for (const width of WIDTHS) {
    const tab = await browser.newPage({ viewport: { width, height: 900 } });
    await tab.goto(origin);
    for (const path of pages) {
      await tab.evaluate(put, [path, article(path)]);
      const pixels = await tab.evaluate(overflow);
      if (pixels > 0) complaints.push(`${path}: ${pixels} pixels wider than ${width}`);
    }
    await tab.close();
  }
  assert.deepEqual(complaints, []);
});

test("no page scrolls sideways, and axe finds nothing serious, on a phone or a desktop, light or dark", { skip }, async () => {
  const look = async (tab) => {
    const complaints = [];
    const inspect = async (width, colorScheme, options) => {
      await tab.setViewportSize({ width, height: 900 });
      await tab.emulateMedia({ colorScheme });
      await tab.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      const pixels = await tab.evaluate(overflow);
      if (pixels > 0) complaints.push(`${pixels} pixels wider than ${width}`);
      const { violations } = await tab.evaluate((options) => axe.run(options), { resultTypes: ["violations"], ...options });
      for (const { id, impact, nodes } of violations) {
        if (impact !== "serious" && impact !== "critical") continue;
        complaints.push(`${width}, ${colorScheme}: ${id}, ${nodes.length} times: ${nodes[0].target} ${nodes[0].failureSummary}`);
      }
    };
    await tab.addStyleTag({ content: "* { transition: none !important; animation: none !important }" });
    await tab.evaluate(AXE);
    for (const width of WIDTHS) await inspect(width, "light");
    // The scheme changes only colours.
    await inspect(WIDTHS.at(-1), "dark", { runOnly: ["color-contrast"] });
    return complaints;
  };
  assert.deepEqual(await show(forms, look), []);
});
