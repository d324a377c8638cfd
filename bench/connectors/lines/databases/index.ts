/** Lines of databases. */
import type { Line } from '../../line.js';
import { mariadbLines } from './mariadb.js';
import { postgresLines } from './postgres.js';
import { redisLines } from './redis.js';
import { seriesLines } from './series.js';
import { sqliteLines } from './sqlite.js';
import { tdengineLines } from './tdengine.js';

export const databaseLines: readonly Line[] = [
  ...postgresLines,
  ...mariadbLines,
  ...sqliteLines,
  ...redisLines,
  ...seriesLines,
  ...tdengineLines,
];
