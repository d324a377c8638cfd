import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'mqtt',
  category: 'meta',
  args: [{ name: 'key', type: 'any' }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Metadata of an MQTT message, such as mqtt(topic).',
  example: 'mqtt(topic)',
  special: 'meta',
});
