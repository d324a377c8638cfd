import { defineFunction } from '../define.js';
import { printed } from '../printed.js';
import { pattern, perRowWithPattern } from '../regexp.js';

/** A reference to a group: `$1`, `${1}`, `$name`, `${name}`, or `$$` for the sign itself. */
const reference = /\$(?:\$|(\w+)|\{(\w+)\})/g;

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
  call: perRowWithPattern('propagate', (text, source, replacement) => {
    const template = printed(replacement);
    const expression = pattern(printed(source));
    if (!template.includes('$')) return printed(text).replace(expression, () => template);
    return printed(text).replace(expression, (...found: unknown[]) => {
      const names = found.at(-1);
      const groups = typeof names === 'object' && names !== null ? (names as Record<string, string | undefined>) : {};
      const count = found.length - (typeof names === 'object' ? 3 : 2);
      return template.replace(reference, (whole, plain?: string, braced?: string) => {
        const key = plain ?? braced;
        if (key === undefined) return whole === '$$' ? '$' : whole;
        const value = /^\d+$/.test(key) ? (Number(key) < count ? found[Number(key)] : '') : groups[key];
        return value === undefined ? '' : String(value);
      });
    });
  }),
});
