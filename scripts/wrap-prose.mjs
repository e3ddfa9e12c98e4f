const COLUMNS = 110;
/** The indent, and the bullet or number of a list item. */
const LEAD = /^(\s*)([-*] |\d+\. )?/;
/** Lines outside of paragraphs: headings, comments, images, quotes, and tables, which cannot be wrapped. */
const OTHER = /^\s*\||^(#|<|!\[|>|$)/;

/** Wraps Markdown paragraphs that have a line over 110 columns; leaves everything else unchanged. */
export function wrapProse(text) {
  const lines = [];
  let paragraph = [];
  let isCode = false;
  const flush = () => {
    lines.push(...(paragraph.some(isLong) ? wrapped(paragraph) : paragraph));
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (isFence || isCode || OTHER.test(line)) {
      flush();
      lines.push(line);
      if (isFence) isCode = !isCode;
      continue;
    }
    if (LEAD.exec(line)[2] !== undefined) flush();
    paragraph.push(line);
  }
  flush();
  return lines.join("\n");
}

function wrapped([first, ...rest]) {
  const [whole, indent, bullet = ""] = LEAD.exec(first);
  const text = [first.slice(whole.length), ...rest].map((line) => line.trim()).join(" ");
  const lines = [];
  let line = whole;
  for (const word of wordsOf(text)) {
    const isEmpty = line.trim() === "" || line === whole;
    if (!isEmpty && isLong(`${line} ${word}`)) {
      lines.push(line);
      line = indent + " ".repeat(bullet.length) + word;
    } else line += isEmpty ? word : ` ${word}`;
  }
  return [...lines, line];
}

/** Splits text into words; short code spans and links stay whole. */
function wordsOf(text) {
  const held = text.replaceAll(/`[^`]+`|\[[^[\]]+\]\([^()\s]+\)/g, (span) =>
    span.length < 70 ? span.replaceAll(" ", "\0") : span,
  );
  return held.split(/ +/).map((word) => word.replaceAll("\0", " "));
}

function isLong(line) {
  return [...line].length > COLUMNS;
}
