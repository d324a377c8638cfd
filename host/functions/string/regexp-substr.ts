import { defineFunction } from '../define.js';
import { printed } from '../printed.js';
import { pattern, perRowWithPattern } from '../regexp.js';

export default defineFunction({
  name: 'regexp_substr',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'pattern', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'First match of the regular expression in the text; empty when there is none.',
  example: "regexp_substr(text, '[0-9]+')",
  call: perRowWithPattern('propagate', (text, source) => pattern(printed(source)).exec(printed(text))?.[0] ?? ''),
});
