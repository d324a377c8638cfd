import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"a"} => "  a"
 */
export default defineFunction({
  name: 'lpad',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'spaces', type: 'int' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Spaces before the text.',
  example: 'lpad(text, 2)',
  op: 'string.lpad',
});
