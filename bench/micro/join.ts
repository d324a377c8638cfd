/**
 * Rows per second through a join of two streams, 1,000 rows of each in a window: bytes in, joined rows out as JSON. The
 * decoder has its part; the second figure is from the end of the window to the last byte.
 *
 *     npx tsx bench/micro/join.ts
 */
import { onId, openJoin, text } from '../../test/support/kernel/join-drive.js';

interface Case {
  name: string;
  rows: number;
  windows: number;
  withKey: boolean;
  /** Different ids: each row meets `rows / ids` others. */
  ids: number;
}

const cases: Case[] = [
  { name: 'hash, one match a row', rows: 1000, windows: 300, withKey: true, ids: 1000 },
  { name: 'hash, ten matches a row', rows: 1000, windows: 100, withKey: true, ids: 100 },
  { name: 'loops, one match a row', rows: 1000, windows: 20, withKey: false, ids: 1000 },
];

for (const { name, rows, windows, withKey, ids } of cases) {
  const { driver, kernel, streams, join } = openJoin([onId('inner', { withKey })], { fields: { v0: 3, v1: 5 } });
  const chunks = streams.map((_stream, side) =>
    Buffer.from(
      text(
        Array.from({ length: rows }, (_, i) => ({ id: `device-${(i * 7) % ids}`, v: side === 0 ? i : `place ${i}` })),
      ),
    ),
  );
  let joinMs = 0;
  let spent = 0;
  for (let w = 0; w < windows; w++) {
    const start = performance.now();
    streams.forEach((stream, side) => {
      driver.feed(stream, chunks[side] as Buffer, w * 10_000 + 100);
    });
    const fired = performance.now();
    kernel.tick((w + 1) * 10_000);
    const end = performance.now();
    driver.messages.clear();
    if (w < windows / 10) continue;
    spent += end - start;
    joinMs += end - fired;
  }
  const counted = 2 * rows * (windows - Math.ceil(windows / 10));
  const { recordsOut } = kernel.counters(join);
  console.log(
    `${name.padEnd(28)} ${((counted / spent) * 1000).toFixed(0).padStart(9)} rows/s, ` +
      `${((joinMs * 1e6) / counted).toFixed(0).padStart(7)} ns/row to join and send, ${recordsOut} joined rows`,
  );
}
