import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'meta',
  category: 'meta',
  args: [{ name: 'key', type: 'any' }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Metadata of the message by key, such as meta(topic); meta(*) gives all of it.',
  example: 'meta(topic)',
  special: 'meta',
});
