/** Refusals of streams and tables in FROM, and of their joins. */
import { planErrors } from './table.js';

export const joinErrors = planErrors('join', {
  asofBeside: (source: string) =>
    `beside ASOF JOIN only lookup tables can be joined: ${source} belongs into a derived table, FROM ` +
    '(SELECT … ASOF JOIN …) AS t',
  asofTable: (table: string) => `ASOF JOIN takes the newest rows of streams by their times: ${table} is a table`,
  matchNeedsEventTime:
    'MATCH_CONDITION compares the times of rows, which needs option isEventTime; without it leave ' +
    'MATCH_CONDITION out: a row meets the newest one that has come',
  asofLookupLater: (right: string, later: string) =>
    `ON of the ASOF JOIN with ${right} uses the lookup table ${later}, which is joined later: ` +
    `join it in a derived table, FROM (SELECT … JOIN ${later} …) AS t ASOF JOIN ${right}`,
  asofOn: (left: string, right: string) =>
    `ON of an ASOF JOIN takes equalities of ${left} and ${right} alone; other conditions ` +
    'belong into WHERE, times into MATCH_CONDITION',
  matchNever: 'MATCH_CONDITION holds for no two rows',
  matchForm: (right: string, left: string, a: string, b: string) =>
    `MATCH_CONDITION takes the newest row of ${right} at or before that of ${left}: ${a} >= ` +
    `${b}, ${a} > ${b}, or with the oldest that is taken ${a} BETWEEN ${b} AND ${b} + 5000`,
  tableJoinedLater: 'ON uses a table that is joined later',
  onNever: 'ON holds for no two times',
  needsWindowOrBounds: (b: string, a: string) =>
    `a join of streams needs a window in GROUP BY, or in ON bounds of the time between the rows, ${b} BETWEEN ` +
    `${a} - INTERVAL '5' SECOND AND ${a} + INTERVAL '5' SECOND`,
  oneBound: (kept: string, bound: string) =>
    `ON bounds the time between the rows on one side only: rows of ${kept} had to be kept for ever; a second ` +
    `bound says for how long, as AND ${bound}`,
  intervalBeside: (right: string, table: string) =>
    'beside a join of streams by time only lookup tables can be joined: the streams belong into a derived ' +
    `table, FROM (SELECT … JOIN ${right} ON …) AS t JOIN ${table}`,
  fromTable: (name: string) => `${name} is a table: a rule needs a stream, to which tables are joined`,
  needsWindow: 'a join of streams needs a window in GROUP BY',
  unknownStream: (name: string, meant: string | undefined) =>
    `stream ${name} is not known, ${meant === undefined ? 'check that it was created' : `did you mean ${meant}?`}`,
  sameName: (own: string) => `two streams of the join are named ${own}, give one of them an alias`,
  needsTimestamp: (name: string) => `option isEventTime needs the option TIMESTAMP of stream ${name}`,
  streamJoinedLater: 'ON uses a stream that is joined later',
  fromLookup: (name: string) => `${name} is a lookup table: FROM needs a stream, to which it is joined`,
  lookupType: (table: string) => `the lookup table ${table} can be joined by INNER JOIN and LEFT JOIN only`,
  lookupBefore: (kind: string, table: string) =>
    `the ${kind} JOIN must stand before that with the lookup table ${table}`,
  lookupKey: (name: string) => `ON needs an equality of a column of the lookup table ${name} with a value of the row`,
});
