/** Two streams joined in tumbling windows of 1,000 rows of each. */
import { deviceName, eachRow, type Pair, type Piece, type Program, randomNumbers, rounded, startMs } from './pair.js';

interface Reading {
  device: string;
  temp: number;
}

interface Place {
  device: string;
  place: string;
  line: number;
}

const windowMs = 10_000;
const rowsOfEach = 1000;

const none = Buffer.alloc(0);

/**
 * Both streams once in each window, then its end. Device numbers jump, so that neighbours of one stream are none in the
 * other.
 */
function input(devices: number, rows: number): Piece[] {
  const random = randomNumbers();
  const lines = (line: (i: number) => string) =>
    Buffer.from(Array.from({ length: rowsOfEach }, (_, i) => line(i)).join(''));
  return Array.from({ length: rows / (2 * rowsOfEach) }, (_, w): Piece[] => {
    const now = startMs + w * windowMs + 1;
    const readings = lines(
      (i) =>
        `{"device":"${deviceName((i * 7) % devices)}","temp":${rounded(random() * 40, 2)},` +
        `"hum":${Math.floor(random() * 100)}}\n`,
    );
    const places = lines(
      (i) => `{"device":"${deviceName((i * 13) % devices)}","place":"hall ${i % 40}","line":${i + w}}\n`,
    );
    return [
      { stream: 'readings', bytes: readings, now },
      { stream: 'places', bytes: places, now },
      { stream: 'readings', bytes: none, now: startMs + (w + 1) * windowMs },
    ];
  }).flat();
}

function join(): Program {
  const readings: Reading[] = [];
  const places = new Map<string, Place[]>();
  return (piece) => {
    if (piece.bytes.length > 0) {
      if (piece.stream === 'readings') eachRow<Reading>(piece, (row) => readings.push(row));
      else {
        eachRow<Place>(piece, (row) => {
          const others = places.get(row.device);
          if (others === undefined) places.set(row.device, [row]);
          else others.push(row);
        });
      }
      return '';
    }
    const rows: object[] = [];
    for (const { device, temp } of readings) {
      for (const { line, place } of places.get(device) ?? []) rows.push({ device, line, place, temp });
    }
    readings.length = 0;
    places.clear();
    return rows.length === 0 ? '' : `${JSON.stringify(rows)}\n`;
  };
}

function pair(name: string, devices: number): Pair {
  return {
    name: `window join: ${name}`,
    definitions: [
      'CREATE STREAM readings () WITH (DATASOURCE="readings", TYPE="memory")',
      'CREATE STREAM places () WITH (DATASOURCE="places", TYPE="memory")',
    ],
    sql:
      'SELECT readings.device AS device, readings.temp AS temp, places.place AS place, places.line AS line ' +
      'FROM readings INNER JOIN places ON readings.device = places.device GROUP BY TUMBLINGWINDOW(ss,10)',
    sink: {},
    rows: 200_000,
    input: (rows) => input(devices, rows),
    program: join,
  };
}

export const pairs: Pair[] = [pair('a match a row', 1000), pair('ten matches a row', 100)];
