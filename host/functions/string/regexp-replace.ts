import { defineFunction, perRow } from '../define.js';
import { printed } from '../printed.js';
import { type Pattern, pattern, patternFault } from '../regexp.js';
import { chargeReplaced } from '../regexp-work.js';

/** A reference to a group: `$1`, `${1}`, `$name`, `${name}`, or `$$` for the sign itself. */
const reference = /\$(?:\$|([\p{L}\p{Nd}_]+)|\{([\p{L}\p{Nd}_]+)\})/gu;

/** The text with all matches replaced; an empty match right behind another is none. */
function replaceAll(text: string, expression: Pattern, template: string): string {
  return expression.searches(text, (find) => {
    let result = '';
    let copied = 0;
    for (let at = 0; at <= text.length; ) {
      const found = find(at);
      if (found === undefined) break;
      const { start, end } = found;
      result += text.slice(copied, start);
      if (end > copied || start === 0) {
        const replacement = filled(template, text.slice(start, end), found.groups, expression);
        chargeReplaced(replacement.length);
        result += replacement;
      }
      copied = end;
      at = end > at ? end : at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
    }
    return result + text.slice(copied);
  });
}

function filled(template: string, whole: string, groups: readonly (string | undefined)[], expression: Pattern): string {
  if (!template.includes('$')) return template;
  return template.replace(reference, (_, plain?: string, braced?: string) => {
    const key = plain ?? braced;
    if (key === undefined) return '$';
    const isNumber = /^(?:0|[1-9]\d*)$/.test(key);
    if (isNumber) return (Number(key) === 0 ? whole : groups[Number(key) - 1]) ?? '';
    // Of groups of one name the first that took part.
    const numbers = expression.groupsNamed(key);
    return numbers.map((number) => groups[number - 1]).find((text) => text !== undefined) ?? '';
  });
}

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
