import { defineFunction, perRow } from '../../define.js';
import { printed } from '../../printing/printed.js';
import { type Pattern, pattern, patternFault } from '../../regexp/regexp.js';
import { chargeReplaced } from '../../regexp/work.js';

/** A reference to a group: `$1`, `${1}`, `$name`, `${name}`, or `$$` for the sign itself. */
const reference = /\$(?:\$|([\p{L}\p{Nd}_]+)|\{([\p{L}\p{Nd}_]+)\})/gu;

/** A piece is as much work as so many characters, though it may have none. */
const charactersOfPiece = 16;

/**
 * A piece of a replacement: a text, or numbers of groups, of which the first that took part counts; 0 is the whole
 * match.
 */
type Piece = string | readonly number[];

function piecesOf(template: string, expression: Pattern): Piece[] {
  const pieces: Piece[] = [];
  let copied = 0;
  for (const { 0: whole, 1: plain, 2: braced, index } of template.matchAll(reference)) {
    const key = plain ?? braced;
    if (index > copied) pieces.push(template.slice(copied, index));
    pieces.push(key === undefined ? '$' : groupsOf(key, expression));
    copied = index + whole.length;
  }
  if (copied < template.length) pieces.push(template.slice(copied));
  return pieces;
}

/** The text with all matches replaced; an empty match right behind another is none. */
function replaceAll(text: string, expression: Pattern, template: string): string {
  return expression.searches(text, (find) => {
    const pieces = piecesOf(template, expression);
    let result = '';
    let copied = 0;
    for (let at = 0; at <= text.length; ) {
      const found = find(at);
      if (found === undefined) break;
      const { start, end } = found;
      result += text.slice(copied, start);
      if (end > copied || start === 0) {
        chargeReplaced(pieces.length * charactersOfPiece);
        const replacement = filled(pieces, text.slice(start, end), found.groups);
        chargeReplaced(replacement.length);
        result += replacement;
      }
      copied = end;
      at = end > at ? end : at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
    }
    return result + text.slice(copied);
  });
}

function filled(pieces: readonly Piece[], whole: string, groups: readonly (string | undefined)[]): string {
  let text = '';
  for (const piece of pieces) text += typeof piece === 'string' ? piece : taken(piece, whole, groups);
  return text;
}

function taken(numbers: readonly number[], whole: string, groups: readonly (string | undefined)[]): string {
  for (const number of numbers) {
    const found = number === 0 ? whole : groups[number - 1];
    if (found !== undefined) return found;
  }
  return '';
}

function groupsOf(key: string, expression: Pattern): readonly number[] {
  return /^(?:0|[1-9]\d*)$/.test(key) ? [Number(key)] : expression.groupsNamed(key);
}

/**
 * @example
 * {"text":"a12b3"} => "a#b#"
 */
export default defineFunction({
  name: 'regexp_replace',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'pattern', type: 'string' },
    { name: 'replacement', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Replaces all matches of the regular expression; $1 or $name in the replacement stands for a group.',
  example: "regexp_replace(text, '[0-9]+', '#')",
  check: ([, source]) => (typeof source === 'string' ? patternFault(source) : undefined),
  call: perRow('propagate', (text, source, replacement) =>
    replaceAll(printed(text), pattern(printed(source)), printed(replacement)),
  ),
});
