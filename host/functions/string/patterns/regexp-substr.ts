import { defineFunction, perRow } from '../../define.js';
import { printed } from '../../printing/printed.js';
import { pattern, patternFault } from '../../regexp/regexp.js';

/**
 * @example
 * {"text":"a12b3"} => "12"
 */
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
  check: ([, source]) => (typeof source === 'string' ? patternFault(source) : undefined),
  call: perRow('propagate', (text, source) => {
    const searched = printed(text);
    const found = pattern(printed(source)).find(searched);
    return found === undefined ? '' : searched.slice(found.start, found.end);
  }),
});
