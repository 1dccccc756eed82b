// JSON as text. A parsed message forgets how its id was written (7.0 becomes 7), and an id must
// come back byte for byte.

const BLANK = new Set([" ", "\t", "\r", "\n"]);

/** The raw text of a member of the object that `text` is, or undefined. `text` must be valid JSON. */
export function rawMember(text, name) {
  let at = skipBlanks(text, 0);
  if (text[at] !== "{") return undefined;
  at = skipBlanks(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd));
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1); // past the colon
    const end = endOfValue(text, start);
    if (key === name) return text.slice(start, end);
    at = skipBlanks(text, end);
    if (text[at] !== ",") return undefined;
    at = skipBlanks(text, at + 1);
  }
  return undefined;
}

function skipBlanks(text, at) {
  while (BLANK.has(text[at])) at++;
  return at;
}

function endOfString(text, at) {
  for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
  return at + 1;
}

function endOfValue(text, at) {
  if (text[at] === '"') return endOfString(text, at);
  if (text[at] !== "{" && text[at] !== "[") {
    while (at < text.length && !BLANK.has(text[at]) && !",]}".includes(text[at])) at++;
    return at;
  }
  for (let depth = 0; ; ) {
    const c = text[at];
    if (c === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (c === "{" || c === "[") depth++;
    if (c === "}" || c === "]") depth--;
    at++;
    if (depth === 0) return at;
  }
}
