/**
 * Rules of many functions over many columns: texts and numbers, and numbers alone whose results have up to 17 digits.
 */
import { deviceName, type Pair, piecesOf, randomNumbers, rounded, rowByRow, startMs } from './pair.js';

const rows = 50_000;

interface Machine {
  device: string;
  site: string;
  code: string;
  note: string;
  state: string;
  unit: string;
  flags: number;
  count: number;
  temp: number;
  hum: number;
  press: number;
  speed: number;
  lat: number;
  lon: number;
  alt: number;
  volts: number;
  amps: number;
  rpm: number;
  load: number;
  level: number;
  flow: number;
  torque: number;
  wear: number;
  ts: number;
}

const machineColumns =
  'device STRING, site STRING, code STRING, note STRING, state STRING, unit STRING, flags BIGINT, count BIGINT, ' +
  'temp FLOAT, ' +
  'hum FLOAT, press FLOAT, speed FLOAT, lat FLOAT, lon FLOAT, alt FLOAT, volts FLOAT, amps FLOAT, rpm FLOAT, ' +
  'load FLOAT, ' +
  'level FLOAT, flow FLOAT, torque FLOAT, wear FLOAT, ts BIGINT';

function machines(count: number) {
  const random = randomNumbers();
  const number = (from: number, to: number, digits: number) => rounded(from + random() * (to - from), digits);
  const one = (texts: readonly string[]) => texts[Math.floor(random() * texts.length)] as string;
  return piecesOf('demo', count, (i) => {
    const row: Machine = {
      device: deviceName(Math.floor(random() * 1000)),
      site: one(['Hamburg Harbour', 'Lyon Nord', 'Turin Plant 2', 'Gdansk']),
      code: `${one(['AB', 'KX', 'ZQ'])}-${1000 + Math.floor(random() * 9000)}-${one(['xy', 'pq', 'm'])}`,
      note: one(['  checked by the night shift ', 'ok', ' needs oil  ', 'replaced the filter of the second stage']),
      state: one(['running', 'idle', 'stopped']),
      unit: one(['bar', 'psi']),
      flags: Math.floor(random() * 256),
      count: Math.floor(random() * 1_000_000),
      temp: number(-20, 90, 2),
      hum: number(20, 95, 1),
      press: number(0.9, 12, 3),
      speed: number(0, 130, 1),
      lat: number(45, 55, 6),
      lon: number(5, 20, 6),
      alt: number(0, 900, 1),
      volts: number(220, 240, 2),
      amps: number(0, 16, 3),
      rpm: number(500, 3000, 0),
      load: number(0, 1, 4),
      level: number(0, 100, 2),
      flow: number(0, 40, 2),
      torque: number(1, 400, 1),
      wear: number(-1, 1, 4),
      ts: startMs + i,
    };
    return JSON.stringify(row);
  });
}

const texts: Pair = {
  name: 'functions: 22, of texts and numbers',
  definitions: [`CREATE STREAM demo (${machineColumns}) WITH (DATASOURCE="demo", TYPE="memory")`],
  sql:
    'SELECT upper(state) AS a1, lower(site) AS a2, length(note) AS a3, trim(note) AS a4, substring(code, 3, 7) AS ' +
    "a5, concat(site, '/', device) AS a6, " +
    "replace(code, '-', '_') AS a7, indexof(code, '-') AS a8, startswith(device, 'dev-00') AS a9, endswith(code, " +
    "'y') AS b1, " +
    "reverse(unit) AS b2, CASE WHEN temp > 60 THEN 'hot' WHEN temp < 0 THEN 'cold' ELSE 'fair' END AS b3, " +
    'abs(temp) AS b4, floor(hum) AS b5, ceil(press) AS b6, round(speed) AS b7, sqrt(alt) AS b8, volts * amps / ' +
    '1000 AS b9, ' +
    "bitand(flags, 15) AS c1, mod(count, 1000) AS c2, sign(wear) AS c3, cast(level, 'string') AS c4 FROM demo",
  rows,
  input: machines,
  program: () =>
    rowByRow<Machine>((row) => ({
      a1: row.state.toUpperCase(),
      a2: row.site.toLowerCase(),
      a3: row.note.length,
      a4: row.note.trim(),
      a5: row.code.substring(3, 7),
      a6: `${row.site}/${row.device}`,
      a7: row.code.replaceAll('-', '_'),
      a8: row.code.indexOf('-'),
      a9: row.device.startsWith('dev-00'),
      b1: row.code.endsWith('y'),
      b2: row.unit.split('').reverse().join(''),
      b3: row.temp > 60 ? 'hot' : row.temp < 0 ? 'cold' : 'fair',
      b4: Math.abs(row.temp),
      b5: Math.floor(row.hum),
      b6: Math.ceil(row.press),
      b7: Math.round(row.speed),
      b8: Math.sqrt(row.alt),
      b9: (row.volts * row.amps) / 1000,
      c1: row.flags & 15,
      c2: row.count % 1000,
      c3: Math.sign(row.wear),
      c4: String(row.level),
    })),
};

const fields = 23;
const names = Array.from({ length: fields }, (_, i) => `f${10 + i}`);

/** Texts of functions of a column, each with the same in JavaScript. */
const numeric: readonly (readonly [sql: string, run: (x: number) => number])[] = [
  ['sqrt($)', Math.sqrt],
  ['$ / 3.6', (x) => x / 3.6],
  ['round($ * 1.8 + 32)', (x) => Math.round(x * 1.8 + 32)],
  ['abs($ - 500)', (x) => Math.abs(x - 500)],
  ['power($, 2)', (x) => x * x],
  ['floor($)', Math.floor],
  ['1 / ($ + 1)', (x) => 1 / (x + 1)],
  ['ceil($ / 7)', (x) => Math.ceil(x / 7)],
];

/** Numbers of the decimals that sensors send. */
function sensors(count: number) {
  const random = randomNumbers();
  return piecesOf('demo', count, () =>
    JSON.stringify(Object.fromEntries(names.map((name, i) => [name, rounded(random() * 1000, i % 4)]))),
  );
}

const sqlOf = (i: number): string => numeric[i % numeric.length]![0];

const numbers: Pair = {
  name: 'functions: 23, of numbers',
  definitions: [
    `CREATE STREAM demo (${names.map((name) => `${name} FLOAT`).join(', ')}) WITH (DATASOURCE="demo", TYPE="memory")`,
  ],
  sql: `SELECT ${names.map((name, i) => `${sqlOf(i).replace('$', name)} AS r${10 + i}`).join(', ')} FROM demo`,
  rows,
  input: sensors,
  program: () => {
    const steps = names.map((name, i) => ({ from: name, to: `r${10 + i}`, run: numeric[i % numeric.length]![1] }));
    return rowByRow<Record<string, number>>((row) => {
      const result: Record<string, number> = {};
      for (const { from, to, run } of steps) result[to] = run(row[from] as number);
      return result;
    });
  },
};

export const pairs: Pair[] = [texts, numbers];
