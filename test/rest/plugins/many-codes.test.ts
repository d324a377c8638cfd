/**
 * Many scripts and modules that all want the most that one may have: together they stay inside their bound, and so does
 * the process. `HAUMEA_USER_CODES=100,40` runs so many modules and scripts.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';
import { Neighbour } from '../../support/rest/neighbour.js';
import { readDocument } from '../../support/rest/prometheus-text.js';

const [modules = 0, scripts = 0] = (process.env.HAUMEA_USER_CODES ?? '10,4').split(',').map(Number);
const mib = 1 << 20;
const bound = 256 * mib;
const server = await startServer({
  env: {
    KUIPER__PLUGIN__MAXMEMORYBYTES: String(bound),
    KUIPER__PLUGIN__JAVASCRIPT__CALLTIMEOUT: '20s',
    KUIPER__PLUGIN__JAVASCRIPT__BATCHTIMEOUT: '30s',
  },
});
test.after(async () => {
  await server.stop();
});

/** Grows by a MiB at each call, up to 60, and touches each page. */
const module = Buffer.from(
  await compileText(`let at = 65536;
    export function grow_000(v: i32): i32 {
      if (memory.size() < 960) memory.grow(16);
      for (const end = memory.size() << 16; at < end; at += 4096) store<u8>(at, 1);
      return memory.size();
    }`),
);

function named(n: number): string {
  const bytes = Buffer.from(module);
  bytes.write(`grow_${String(n).padStart(3, '0')}`, bytes.indexOf('grow_000'));
  return bytes.toString('base64');
}

async function send(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** Bytes of the process that are in memory. */
function resident(): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Bytes of all code of users, as `/metrics` has it. */
async function inUse(): Promise<number> {
  const families = readDocument((await server.request('GET', '/metrics')).text);
  const samples = families.get('kuiper_user_code_memory_bytes')?.samples ?? [];
  return samples.reduce((sum, { value }) => sum + value, 0);
}

test(`${modules} modules and ${scripts} scripts that want 60 MiB each stay inside of 256 MiB`, async () => {
  const neighbour = await Neighbour.start(server);
  const calls: string[] = [];
  for (let n = 0; n < modules; n++) {
    const name = `grow_${String(n).padStart(3, '0')}`;
    await send('/plugins/wasm', { name: `plugin_${n}`, bytecode: named(n) });
    calls.push(`${name}(1)`);
  }
  for (let n = 0; n < scripts; n++) {
    const fill = 'if (kept.length < 55) kept.push(new Uint8Array(1 << 20).fill(1)); return kept.length;';
    const script = `const kept = []; function fill_${n}(v) { ${fill} }`;
    await send('/udf/javascript', { id: `fill_${n}`, script });
    calls.push(`fill_${n}(1)`);
  }
  const before = resident();
  for (const [n, call] of calls.entries()) {
    const sql = `SELECT ${call} AS r FROM clock`;
    await send('/rules', { id: `wants_${n}`, sql, actions: [{ nop: {} }], options: { sendError: true } });
  }
  let most = 0;
  const refusals = await eventually(
    'refusals by name',
    async () => {
      most = Math.max(most, await inUse());
      const texts = await Promise.all(
        calls.map(async (_, n) => JSON.stringify((await server.request('GET', `/rules/wants_${n}/status`)).json)),
      );
      const found = texts.filter((text) => /plugin\.maxMemoryBytes\) and has .*most of it \w+ /.test(text));
      return most > 0.9 * bound && found.length > 0 ? found : undefined;
    },
    120_000,
  );
  assert.ok(refusals.length > 0);
  assert.ok((await inUse()) <= bound, 'all code together');
  const grown = resident() - before;
  // What is not counted: compiled code and the objects around each.
  const allowed = bound + calls.length * 2 * mib + 64 * mib;
  assert.ok(grown <= allowed, `the process has grown by ${(grown / mib).toFixed(0)} MiB`);
  if (process.env.HAUMEA_USER_CODES !== undefined) console.log(`grown by ${(grown / mib).toFixed(0)} MiB`);
  await neighbour.goesOn();
});

test.run();
