import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":21}
 * {"temp":null}
 * => 21
 */
export default defineAggregate('lastValue', {
  args: [
    { name: 'value', type: 'any' },
    { name: 'ignoreNull', type: 'boolean', takes: ['any'] },
  ],
  returns: 'any',
  doc: 'Last value of the window; with true as second argument the last one that is not null.',
  example: 'last_value(temp, true)',
});
