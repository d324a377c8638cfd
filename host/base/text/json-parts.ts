/** Parts of a text that is known to be valid JSON, as UTF-8 bytes: values stay as they are written. */

/** A member of an object, or an item of a list, without the spaces around it. */
export interface JsonPart {
  /** Name of a member as it is written, with quotes; empty for an item. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket, space] = Buffer.from(
  '"\\,:{}[] ',
) as unknown as [number, number, number, number, number, number, number, number, number];

/** The members of an object or the items of a list; none of another value. */
export function partsOf(json: Buffer): JsonPart[] {
  const parts: JsonPart[] = [];
  let depth = 0;
  let from = -1;
  let name = '';
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === quote) {
      if (depth === 1 && from < 0) from = at;
      at = endOfText(json, at);
      continue;
    }
    if (byte === openBrace || byte === openBracket) {
      if (depth === 1 && from < 0) from = at;
      depth++;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (depth === 1 && byte === colon && name === '') name = json.toString('utf8', from, at).trimEnd();
    else if (depth === 1 && byte !== comma && byte > space && from < 0) from = at;
    const isEnd = (depth === 1 && byte === comma) || (depth === 0 && from >= 0);
    if (!isEnd || from < 0) continue;
    parts.push({ name, from, to: trimmed(json, from, at) });
    from = -1;
    name = '';
  }
  return parts;
}

/** Place of the quote that ends the text which begins there. */
function endOfText(json: Buffer, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}

function trimmed(json: Buffer, from: number, to: number): number {
  let end = to;
  while (end > from && (json[end - 1] as number) <= space) end--;
  return end;
}

/** The text within the braces of an object; empty without members. */
export function withinBraces(json: Buffer): Buffer {
  const from = json.indexOf(openBrace) + 1;
  return json.subarray(from, json.lastIndexOf(closeBrace));
}

/** True when nothing but spaces stands there. */
export function isBlank(json: Buffer): boolean {
  return json.every((byte) => byte <= space);
}
