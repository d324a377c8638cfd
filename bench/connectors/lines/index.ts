/** All lines, by the files that have them: each program loads the libraries of its own file alone. */
import type { Line } from '../line.js';

/** Files below this folder, in the order in which they run. */
export const files = [
  'files/file',
  'files/texts',
  'files/parquet',
  'files/images',
  'files/generators',
  'files/programs',
  'http/rest',
  'http/httppush',
  'http/httppull',
  'http/sse',
  'http/websocket',
  'brokers/mqtt',
  'brokers/kafka',
  'brokers/nats',
  'brokers/rabbitmq',
  'brokers/redis-channels',
  'brokers/redis-stream',
  'brokers/zmq',
  'brokers/memory',
  'brokers/edgex',
  'brokers/neuron',
  'databases/postgres',
  'databases/mariadb',
  'databases/sqlite',
  'databases/redis',
  'databases/series',
  'databases/tdengine',
  'formats/formats',
] as const;

/** The lines of a file; throws when a package that they need is missing. */
export async function linesIn(file: string): Promise<readonly Line[]> {
  return ((await import(`./${file}.js`)) as { lines: readonly Line[] }).lines;
}
