import { defineFunction, perRow } from '../define.js';
import { letterCell } from './arguments.js';
import { lettersOf, neighboursOf } from './cells.js';

/**
 * @example
 * {"hash":"u33db"} => ["u33e0","u33e1","u33dc","u33d9","u33d8","u336x","u336z","u337p"]
 */
export default defineFunction({
  name: 'geohashNeighbors',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'string', takes: ['string'] }],
  returns: 'array',
  nulls: 'handles',
  doc: 'Geohashes of the eight cells around, clockwise from the north.',
  example: 'geohashNeighbors(hash)',
  call: perRow('handles', (hash) => neighboursOf(letterCell(hash)).map(lettersOf)),
});
