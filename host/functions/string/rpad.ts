import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"a"} => "a  "
 */
export default defineFunction({
  name: 'rpad',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'spaces', type: 'int' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Spaces after the text.',
  example: 'rpad(text, 2)',
  op: 'string.rpad',
});
