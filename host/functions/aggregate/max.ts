import { defineAggregate } from '../define.js';

export default defineAggregate('max', {
  args: [{ name: 'value', type: 'any', takes: ['number', 'string', 'datetime'] }],
  returns: 'any',
  doc: 'Largest value that is not null.',
  example: 'max(temp)',
});
