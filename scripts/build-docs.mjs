// Renders the pages of docs/ into dist/docs, which the service serves to browsers, unless the output is
// newer. At build time, because the longest page takes over 0.1 s, which would delay live sessions.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DOCUMENTS, documentLinks, isServed } from "../dist/src/http/endpoints/documents.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "dist/docs");
/** Path of the pages on the service. */
const BASE = "/docs/";
/** Sources of every page, in addition to its text. */
const COMMON = [fileURLToPath(import.meta.url), join(root, "src/http/endpoints/documents.ts")];

/** Renders Markdown as HTML. HTML in a page is escaped; links into the sources show the path. */
const RENDERER = {
  heading({ tokens, depth, text }) {
    return `<h${depth} id="${escaped(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  },
  link({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const target = servedAt(href);
    return target === null ? inSources(href, text) : `<a href="${escaped(target)}">${text}</a>`;
  },
  image({ href, text }) {
    const target = servedAt(href);
    if (target === null) return inSources(href, escaped(text));
    return `<img src="${escaped(target)}" alt="${escaped(text)}">`;
  },
  table({ header, rows }) {
    const row = (cells, tag) =>
      `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
    const body = rows.map((cells) => row(cells, "td")).join("");
    // Make it focusable, so that a wide table can be scrolled with the keyboard.
    return `<div class="table" tabindex="0"><table><thead>${row(header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
  },
  html({ text }) {
    // Omit the marks of generated parts.
    return /^<!--(?:(?!-->).)*-->\s*$/s.test(text) ? "" : escaped(text);
  },
};

const stale = Object.keys(DOCUMENTS).filter((name) => {
  const target = targetOf(name);
  if (!existsSync(target)) return true;
  const builtMs = statSync(target).mtimeMs;
  return [...COMMON, join(root, "docs", name)].some((path) => statSync(path).mtimeMs > builtMs);
});
if (stale.length > 0) await build(stale);

async function build(names) {
  const { Marked } = await import("marked").catch(() => ({ Marked: null }));
  if (Marked === null) {
    // Without development packages, an installation serves its prebuilt pages, or their Markdown.
    console.error("marked is not installed: the pages of docs stay unchanged");
    return;
  }
  const marked = new Marked({ renderer: RENDERER });
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    const body = marked.parse(readFileSync(join(root, "docs", name), "utf8"), { async: false });
    writeFileSync(targetOf(name), pageOf(name, body));
  }
}

function pageOf(name, body) {
  const current = `href="${BASE}${name}"`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(DOCUMENTS[name])} · Dauys</title>
<link rel="icon" href="${BASE}favicon-32x32.png">
<link rel="stylesheet" href="${BASE}page.css">
</head>
<body>
<nav aria-label="Documents"><a href="/docs">Reference</a>
${documentLinks().replace(current, `${current} aria-current="page"`)}</nav>
<main>
${body}</main>
</body>
</html>
`;
}

function targetOf(name) {
  return join(folder, name.replace(/\.md$/, ".html"));
}

/** Returns the target of a link on the service; null if the service does not serve it. */
function servedAt(href) {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href;
  const [path = "", fragment] = href.split("#");
  if (!isServed(path)) return null;
  return BASE + path + (fragment === undefined ? "" : `#${fragment}`);
}

function inSources(href, text) {
  const path = new URL(href, "file:///docs/").pathname.slice(1);
  return `<span class="source" title="${escaped(path)}">${text}</span>`;
}

/** Returns the anchor of a heading, as GitHub generates it. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
    .replaceAll(" ", "-");
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
