/** Functions that look back, partitioned by 1,000 devices. */
import { deviceName, type Pair, piecesOf, randomNumbers, rounded, rowByRow, startMs } from './pair.js';

interface Row {
  device: string;
  temp: number;
  state: string;
  power: number;
}

const devices = 1000;
function input(rows: number) {
  const random = randomNumbers();
  return piecesOf('demo', rows, (i) => {
    const device = deviceName(Math.floor(random() * devices));
    const state = ['on', 'off', 'idle'][Math.floor(random() * 3)];
    const [temp, power] = [rounded(random() * 40, 2), Math.floor(random() * 3600) / 4];
    return `{"device":"${device}","temp":${temp},"state":"${state}","power":${power},"ts":${startMs + i}}`;
  });
}

/** A statement, and the result that it gives for a row from the state kept for its device. */
function pair<Kept extends object>(
  name: string,
  sql: string,
  first: () => Kept,
  step: (row: Row, kept: Kept) => object | undefined,
): Pair {
  return {
    name: `analytic: ${name}`,
    definitions: ['CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory")'],
    sql,
    rows: 200_000,
    input,
    program: () => {
      const states = new Map<string, Kept>();
      return rowByRow<Row>((row) => {
        let kept = states.get(row.device);
        if (kept === undefined) {
          kept = first();
          states.set(row.device, kept);
        }
        return step(row, kept);
      });
    },
  };
}

interface Sums {
  temp: number | undefined;
  e: number;
  n: number;
  hi: number;
}

export const pairs: Pair[] = [
  pair(
    'lag of a number',
    'SELECT device, temp - lag(temp) OVER (PARTITION BY device) AS d FROM demo',
    () => ({ temp: undefined as number | undefined }),
    ({ device, temp }, kept) => {
      const before = kept.temp;
      kept.temp = temp;
      return before === undefined ? { device } : { d: temp - before, device };
    },
  ),
  pair(
    'rows that changed',
    'SELECT device, state, lag(state) OVER (PARTITION BY device) AS was FROM demo WHERE had_changed(true, state) ' +
      'OVER (PARTITION BY device)',
    () => ({ was: undefined as string | undefined, sent: undefined as string | undefined }),
    ({ device, state }, kept) => {
      if (kept.was === state) return undefined;
      kept.was = state;
      const was = kept.sent;
      kept.sent = state;
      return was === undefined ? { device, state } : { device, state, was };
    },
  ),
  pair(
    'five functions',
    'SELECT device, lag(temp) OVER (PARTITION BY device) AS p, latest(state) OVER (PARTITION BY device) AS s, ' +
      'acc_sum(power) OVER (PARTITION BY device) AS e, acc_count(power) OVER (PARTITION BY device) AS n, ' +
      'acc_max(temp) OVER (PARTITION BY device) AS hi FROM demo',
    (): Sums => ({ temp: undefined, e: 0, n: 0, hi: Number.NEGATIVE_INFINITY }),
    ({ device, temp, state, power }, kept) => {
      const p = kept.temp;
      kept.temp = temp;
      kept.e += power;
      kept.n++;
      if (temp > kept.hi) kept.hi = temp;
      const { e, n, hi } = kept;
      return p === undefined ? { device, e, hi, n, s: state } : { device, e, hi, n, p, s: state };
    },
  ),
];
