/**
 * Cost of an endless guest for the rule beside it: a server, two rules on one data plane. One has a row each ms
 * and tells when it was processed; the other calls the built-in function, an endless loop on the thread of all rules,
 * an endless loop on a thread of its own. The gaps in the rows of the first, in rounds that take turns: what the
 * process itself and the machine do to it stands in the lines of the built-in function.
 *
 *     npx tsx bench/micro/endless-guest.ts [ROUNDS]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineUnderTest } from '../engine.js';

const rounds = Number(process.argv[2] ?? 5);
const roundMs = 3000;
const folder = mkdtempSync(join(tmpdir(), 'endless-guest-'));
const command = [fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))];
const engine = await EngineUnderTest.open({ url: '', pid: 0, command, env: {}, sourceProps: {}, folder });
const guest = readFileSync(new URL('../../test/guests/sick.wasm', import.meta.url)).toString('base64');

const send = (method: string, path: string, body?: object) => engine.call(method, path, body);

async function stream(name: string, data: object, interval: string): Promise<void> {
  await send('PUT', `/metadata/sources/simulator/confKeys/${name}`, { data: [data], interval, loop: true });
  const sql = `CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="${name}")`;
  await send('POST', '/streams', { sql });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
await stream('steady', { v: 1 }, '1ms');
// Ten faults within ten seconds would end the rule: less than that in a round, and a start for each.
await stream('seldom', { v: 2 }, '400ms');

/** Times at which rows of the steady rule were processed in a round, ms. */
async function times(name: string, call: string): Promise<number[]> {
  const path = join(folder, `${name}.out`);
  const action = { file: { path, fileType: 'lines', sendSingle: true } };
  await send('POST', '/rules', { id: 'steady', sql: 'SELECT tstamp() AS t FROM steady', actions: [action] });
  const sql = `SELECT ${call} AS r FROM seldom`;
  await send('POST', '/rules', { id: 'beside', sql, actions: [{ nop: {} }] });
  await pause(roundMs);
  const status = await engine.status('beside');
  if (status.status !== 'Running') throw new Error(JSON.stringify(status));
  await send('DELETE', '/rules/beside');
  await send('DELETE', '/rules/steady');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  // The first rows come while rules are made.
  return lines.map((line) => JSON.parse(line).t as number).slice(300);
}

const kinds = { 'built-in abs': 'abs(v)', 'endless, inside': 'sick(v)', 'endless, isolated': 'sick(v)' };
const gaps = new Map<string, number[]>();
const counts = new Map<string, number>();
try {
  for (let round = 0; round < rounds; round++) {
    for (const [kind, call] of Object.entries(kinds)) {
      const isolate = kind.endsWith('isolated');
      await send('POST', '/plugins/wasm', { name: 'sick', bytecode: guest, isolate });
      const seen = await times(`${round} ${kind}`, call);
      await send('DELETE', '/plugins/wasm/sick');
      const found = gaps.get(kind) ?? [];
      for (let i = 1; i < seen.length; i++) found.push((seen[i] as number) - (seen[i - 1] as number));
      gaps.set(kind, found);
      counts.set(kind, (counts.get(kind) ?? 0) + seen.length);
    }
  }
} finally {
  await engine.close();
}
for (const [kind, found] of gaps) {
  const sorted = found.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const perSecond = Math.round((1000 * sorted.length) / sorted.reduce((sum, gap) => sum + gap, 0));
  console.log(
    `${kind.padEnd(20)} ${perSecond} rows/s, gaps: median ${at(0.5)} ms, 99% ${at(0.99)} ms, 99.9% ${at(0.999)} ` +
      `ms, longest ${at(1)} ms`,
  );
}
rmSync(folder, { recursive: true });
