/**
 * MATCH_RECOGNIZE beside automata written by hand: a row's step in few instructions, and nothing general about them.
 * Both sides get lines of JSON and give lines of JSON, so that their times are those of reading, finding the state of
 * the key, the step, and writing what was found.
 */
import { deviceName, type Pair, piecesOf, randomNumbers, rowByRow } from './pair.js';

interface Row {
  device: string;
  temp: number;
}

const definitions = ['CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory")'];

/** Readings of devices in random order. */
function input(devices: number, most: number) {
  return (rows: number) => {
    const random = randomNumbers();
    return piecesOf('demo', rows, () => {
      const device = deviceName(Math.floor(random() * devices));
      return `{"device":"${device}","temp":${Math.floor(random() * most)}}`;
    });
  };
}

/** The value of a key, made when it comes first. */
function kept<Value>(make: () => Value): (key: string) => Value {
  const values = new Map<string, Value>();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) {
      value = make();
      values.set(key, value);
    }
    return value;
  };
}

const rising: Pair = {
  name: 'pattern: rising three by 1,000 keys',
  definitions,
  sql:
    'SELECT device, low, high FROM demo MATCH_RECOGNIZE (PARTITION BY device ' +
    'MEASURES FIRST(A.temp) AS low, LAST(UP.temp) AS high PATTERN (A UP{3}) DEFINE UP AS temp > PREV(temp))',
  rows: 200_000,
  input: input(1000, 1000),
  program: () => {
    const stateOf = kept(() => ({ rises: -1, low: 0, last: 0 }));
    return rowByRow<Row>(({ device, temp }) => {
      const state = stateOf(device);
      if (state.rises >= 0 && temp > state.last) {
        state.last = temp;
        if (++state.rises < 3) return undefined;
        state.rises = -1;
        return { device, high: temp, low: state.low };
      }
      // Of the rows that rose none can be the first one: they end at this row as well.
      state.rises = 0;
      state.low = temp;
      state.last = temp;
      return undefined;
    });
  },
};

const partials = 100;
/** Partial matches of a device: what each began with, and how many rows it has. */
interface Begun {
  first: number;
  rows: number;
}

/**
 * A match begins with each row and has 101 rows, the last of which is high, so that a device has 100 partial matches.
 * `goesOn` is the condition on the rows between.
 */
function overlapping(what: string, condition: string, goesOn: (temp: number, first: number) => boolean): Pair {
  return {
    name: `pattern: 100 overlapping matches a key, ${what}`,
    definitions,
    sql:
      'SELECT device, was, is_now FROM demo MATCH_RECOGNIZE (PARTITION BY device ' +
      'MEASURES A.temp AS was, HIGH.temp AS is_now AFTER MATCH SKIP TO NEXT ROW ' +
      `PATTERN (A ON_IT{${partials - 1}} HIGH) DEFINE ON_IT AS ${condition}, HIGH AS temp > 980)`,
    rows: 100_000,
    input: input(50, 1000),
    program: () => {
      const stateOf = kept((): Begun[] => []);
      return rowByRow<Row>(({ device, temp }) => {
        const begun = stateOf(device);
        let left = 0;
        let found: object | undefined;
        for (const one of begun) {
          if (one.rows === partials) {
            if (temp > 980) found = { device, is_now: temp, was: one.first };
          } else if (goesOn(temp, one.first)) {
            one.rows++;
            begun[left++] = one;
          }
        }
        begun.length = left;
        begun.push({ first: temp, rows: 1 });
        return found;
      });
    },
  };
}

/**
 * Each device rises for so many rows, which are one match: what a row costs must not grow with it, although the
 * condition asks for an aggregate over the match so far.
 */
function long(rows: number): Pair {
  return {
    name: `pattern: matches of ${rows.toLocaleString('en')} rows with a running sum`,
    definitions,
    sql:
      'SELECT device, low, high, n, total FROM demo MATCH_RECOGNIZE (PARTITION BY device ' +
      'MEASURES FIRST(A.temp) AS low, LAST(UP.temp) AS high, count(UP.*) AS n, sum(UP.temp) AS total ' +
      'PATTERN (A UP+) DEFINE UP AS temp > PREV(temp) AND sum(UP.temp) > 0)',
    rows: 200_000,
    input: (all) =>
      piecesOf('demo', all, (i) => `{"device":"${deviceName(i % 10)}","temp":${Math.floor(i / 10) % rows}}`),
    program: () => {
      const stateOf = kept(() => ({ n: 0, low: 0, last: Number.POSITIVE_INFINITY, total: 0 }));
      return rowByRow<Row>(({ device, temp }) => {
        const state = stateOf(device);
        if (temp > state.last && state.total + temp > 0) {
          state.n++;
          state.total += temp;
          state.last = temp;
          return undefined;
        }
        const { n, low, last, total } = state;
        Object.assign(state, { n: 0, low: temp, last: temp, total: 0 });
        return n > 0 ? { device, high: last, low, n, total } : undefined;
      });
    },
  };
}

const begunKeys = 1_000_000;
/** A row of each device, then another one of each, which ends its match. */
const begun: Pair = {
  name: 'pattern: a partial match of each of many keys',
  definitions,
  sql:
    'SELECT device, was, is_now FROM demo MATCH_RECOGNIZE (PARTITION BY device ' +
    'MEASURES A.temp AS was, B.temp AS is_now PATTERN (A B) DEFINE B AS temp > A.temp)',
  rows: 2 * begunKeys,
  holds: 1 / 2,
  input: (rows) => {
    const keys = rows / 2;
    const line = (i: number) => `{"device":"device ${(i * 7919) % keys}","temp":${i < keys ? 10 : 20}}`;
    return [...piecesOf('demo', keys, line), ...piecesOf('demo', keys, (i) => line(keys + i))];
  },
  program: () => {
    const stateOf = kept(() => ({ first: Number.NaN }));
    return rowByRow<Row>(({ device, temp }) => {
      const state = stateOf(device);
      if (temp > state.first) {
        const was = state.first;
        state.first = Number.NaN;
        return { device, is_now: temp, was };
      }
      state.first = temp;
      return undefined;
    });
  },
};

export const pairs: Pair[] = [
  rising,
  overlapping('conditions on the row', 'temp >= 0', (temp) => temp >= 0),
  overlapping('conditions on the match', 'temp >= A.temp - 1000', (temp, first) => temp >= first - 1000),
  long(100),
  long(10_000),
  begun,
];
