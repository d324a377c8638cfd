import { defineFunction, perRow } from '../define.js';
import { directionOf, letterCell } from './arguments.js';
import { lettersOf, neighbourOf } from './cells.js';

/**
 * @example
 * {"hash":"u33db"} => "u33e0"
 */
export default defineFunction({
  name: 'geohashNeighbor',
  givesWay: true,
  category: 'geohash',
  args: [
    { name: 'hash', type: 'string', takes: ['string'] },
    { name: 'direction', type: 'string', takes: ['string'] },
  ],
  returns: 'string',
  nulls: 'handles',
  doc:
    'Geohash of the next cell in a direction: North, NorthEast, East, SouthEast, South, SouthWest, West or ' +
    'NorthWest.',
  example: "geohashNeighbor(hash, 'North')",
  call: perRow('handles', (hash, direction) => lettersOf(neighbourOf(letterCell(hash), directionOf(direction)))),
});
