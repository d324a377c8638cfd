/**
 * Child of log.test.ts: logs as fast as it can, in small files, and prints the number of each line once it is written.
 */
import { Log, mainLogFile } from '../../../host/base/log/log.js';

const [folder, first] = process.argv.slice(2);
const log = new Log({
  level: 'info',
  console: false,
  folder: folder as string,
  fileName: mainLogFile,
  hasTimestamp: true,
  rotateSizeBytes: 3000,
  rotateMs: 0,
  maxAgeMs: 0,
  rotateCount: 0,
});

for (let i = Number(first); ; i++) {
  // Errors are written at once.
  log.error(`line ${i} ${'x'.repeat(i % 90)}`, { number: i });
  process.stdout.write(`${i}\n`);
  if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
}
