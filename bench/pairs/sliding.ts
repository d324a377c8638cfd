/** A sliding window of event time that sends a message for each row, of a few rows and of many. */
import { deviceName, eachRow, type Pair, type Program, piecesOf, randomNumbers, startMs } from './pair.js';

interface Row {
  id: number;
  temp: number;
  speed: number;
}

/** A row each millisecond; sums are exact whatever the order of their adding: the texts of both sides are the same. */
function input(rows: number) {
  const random = randomNumbers();
  return piecesOf('demo', rows, (i) => {
    const temp = Math.floor(random() * 160) / 4;
    const speed = Math.floor(random() * 1300) / 8;
    return `{"id":${startMs + i},"device":"${deviceName(i % 1000)}","temp":${temp},"speed":${speed}}`;
  });
}

/**
 * The last rows in rings, their sum kept by adding and subtracting, and the places of the rows that are larger than all
 * behind them.
 */
function slide(length: number): Program {
  const temps = new Float64Array(length);
  const speeds = new Float64Array(length);
  const largest = new Float64Array(length + 1);
  const ring = length + 1;
  let first = 0;
  let to = 0;
  let count = 0;
  let sum = 0;
  return (piece) => {
    let out = '';
    eachRow<Row>(piece, ({ id, temp, speed }) => {
      const i = count++;
      const place = i % length;
      sum += temp - (i >= length ? (temps[place] as number) : 0);
      if (first < to && (largest[first % ring] as number) <= i - length) first++;
      temps[place] = temp;
      speeds[place] = speed;
      while (first < to && (speeds[(largest[(to - 1) % ring] as number) % length] as number) <= speed) to--;
      largest[to++ % ring] = i;
      const n = Math.min(i + 1, length);
      const max_speed = speeds[(largest[first % ring] as number) % length] as number;
      out += `${JSON.stringify([{ avg_temp: sum / n, id, max_speed, n }])}\n`;
    });
    return out;
  };
}

function pair(name: string, window: string, length: number): Pair {
  return {
    name: `sliding window: ${name}`,
    definitions: ['CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory", TIMESTAMP="id")'],
    sql:
      'SELECT max(id) AS id, count(*) AS n, avg(temp) AS avg_temp, max(speed) AS max_speed FROM demo GROUP BY ' +
      `${window}`,
    options: { isEventTime: true, lateToleranceMs: 0 },
    sink: {},
    rows: 200_000,
    input,
    program: () => slide(length),
  };
}

export const pairs: Pair[] = [
  pair('100 rows', 'SLIDINGWINDOW(ms,99)', 100),
  pair('10,000 rows', 'SLIDINGWINDOW(ms,9999)', 10_000),
];
