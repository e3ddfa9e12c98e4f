const COLUMNS = 110;
/** A bullet or a number before an item's text, with the white space before it. */
const LEAD = /^(\s*)([-*] |\d+\. )?/;
/** Headings, comments, images and quotes end a paragraph; tables cannot be broken. */
const OTHER = /^\s*\||^(#|<|!\[|>|$)/;

/** Markdown whose paragraphs with a line beyond 110 columns are broken again; everything else stays as it is. */
export function wrapProse(text) {
  const lines = [];
  let paragraph = [];
  let isCode = false;
  const flush = () => {
    lines.push(...(paragraph.some(isLong) ? broken(paragraph) : paragraph));
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

function broken([first, ...rest]) {
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

/** Words, with spans of code and links as one where they are not long themselves. */
function wordsOf(text) {
  const held = text.replaceAll(/`[^`]+`|\[[^[\]]+\]\([^()\s]+\)/g, (span) =>
    span.length < 70 ? span.replaceAll(" ", "\0") : span,
  );
  return held.split(/ +/).map((word) => word.replaceAll("\0", " "));
}

function isLong(line) {
  return [...line].length > COLUMNS;
}
