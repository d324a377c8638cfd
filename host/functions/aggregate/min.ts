import { defineAggregate } from '../define.js';

export default defineAggregate('min', {
  args: [{ name: 'value', type: 'any', takes: ['number', 'string', 'datetime'] }],
  returns: 'any',
  doc: 'Smallest value that is not null.',
  example: 'min(temp)',
});
