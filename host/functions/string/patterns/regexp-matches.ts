import { defineFunction, isAbsent, perRow } from '../../define.js';
import { printed } from '../../printing/printed.js';
import { pattern, patternFault } from '../../regexp/regexp.js';

/**
 * @example
 * {"text":"a1b"} => true
 * {"text":"a1"} => false
 */
export default defineFunction({
  name: 'regexp_matches',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'pattern', type: 'string' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the regular expression matches anywhere in the text; false for null.',
  example: "regexp_matches(text, '^a.*b$')",
  check: ([, source]) => (typeof source === 'string' ? patternFault(source) : undefined),
  call: perRow('handles', (text, source) => {
    if (isAbsent(text) || isAbsent(source)) return false;
    return pattern(printed(source)).occursIn(printed(text));
  }),
});
