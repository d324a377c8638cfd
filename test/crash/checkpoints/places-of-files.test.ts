/**
 * Rules that share a file or a memory topic, each with a `qos` and an interval of its own, come and go while the server
 * is killed: with `qos` 2 each row comes once and in order, with 1 and 0 none is missing, whatever the others do.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const runs = Number(process.env.HAUMEA_PLACES_RUNS ?? 1);

let server: TestServer;
let data: string;

test.after.each(async () => {
  await server?.stop('SIGKILL');
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

const outOf = (id: string) => join(data, `${id}.out`);

function idsOf(id: string): number[] {
  if (!existsSync(outOf(id))) return [];
  return readFileSync(outOf(id), 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [(JSON.parse(line) as { id: number }).id];
      } catch {
        return [];
      }
    });
}

interface Shape {
  readonly qos: number;
  readonly intervalMs: number;
}

const ruleOf = (id: string, from: string, { qos, intervalMs }: Shape, topic?: string) => ({
  id,
  sql: `SELECT id FROM ${from}`,
  actions: [topic === undefined ? { file: { path: outOf(id), sendSingle: true } } : { memory: { topic } }],
  options: { qos, checkpointInterval: `${intervalMs}ms` },
});

async function restart(): Promise<void> {
  await server.stop('SIGKILL');
  server = await startServer({ data });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

/** A shared stream that reads ids line by line, or a message a millisecond. */
async function fileStream(count: number, sendInterval: number, files: number): Promise<void> {
  const folder = join(data, 'in');
  mkdirSync(folder);
  const each = Math.ceil(count / files);
  for (let i = 0; i < files; i++) {
    const rows = upTo(count).slice(i * each, (i + 1) * each);
    writeFileSync(join(folder, `${i}`), rows.map((id) => `{"id":${id}}\n`).join(''));
  }
  const conf = { path: data, fileType: 'lines', ...(sendInterval > 0 && { sendInterval: `${sendInterval}ms` }) };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  await made('/streams', {
    sql: 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in", SHARED="true")',
  });
}

const shape = fc.record({ qos: fc.constantFrom(0, 1, 2), intervalMs: fc.constantFrom(50, 150, 3_600_000) });
/** All pairs of `qos` are there in any case. */
const shapes = fc
  .array(shape, { minLength: 0, maxLength: 2 })
  .map((more): Shape[] => [
    { qos: 2, intervalMs: 50 },
    { qos: 2, intervalMs: 3_600_000 },
    { qos: 1, intervalMs: 120 },
    { qos: 0, intervalMs: 50 },
    ...more,
  ]);

test(
  'rules of any qos and interval on a shared file: each has its rows, however often the server is ' + 'killed',
  async () => {
    const kills = fc.array(fc.integer({ min: 50, max: 400 }), { minLength: 2, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(shapes, kills, fc.nat(10), fc.constantFrom(1, 3), async (all, times, leaver, files) => {
        data = temporaryFolder();
        server = await startServer({ data });
        const count = 900;
        await fileStream(count, 1, files);
        const ids = all.map((_, i) => `r${i}`);
        await Promise.all(all.map((one, i) => made('/rules', ruleOf(ids[i]!, 's', one))));
        const away = ids[leaver % ids.length]!;
        for (const [i, ms] of times.entries()) {
          await pause(ms);
          if (i === 0) await server.request('POST', `/rules/${away}/stop`);
          else await restart();
          if (i === 0) await pause(50);
          if (i === 0) await server.request('POST', `/rules/${away}/start`);
        }
        // Those that came while others read have nothing from before.
        const due = (had: readonly number[]) => upTo(count).slice(had[0] ?? 0);
        const last = (id: string) => {
          const had = idsOf(id);
          const all = new Set(had);
          return due(had).every((one) => all.has(one)) && had.at(-1) === count - 1;
        };
        await eventually('the last rows', () => ids.every(last), 60_000);
        for (const [i, { qos }] of all.entries()) {
          const had = idsOf(ids[i]!);
          if (qos === 2) assert.equal(had, due(had), `rule ${ids[i]} of ${JSON.stringify({ all, times, away })}`);
        }
        await server.stop('SIGKILL');
      }),
      { numRuns: runs, endOnFailure: true },
    );
  },
);

test('rules that share a memory topic with others: who reads it with qos 2 has each row once', async () => {
  data = temporaryFolder();
  server = await startServer({ data });
  const count = 900;
  await fileStream(count, 1, 1);
  await made('/streams', {
    sql: 'CREATE STREAM m () WITH (TYPE="memory", DATASOURCE="t", FORMAT="json", SHARED="true")',
  });
  const readers: [string, Shape][] = [
    ['exact', { qos: 2, intervalMs: 60 }],
    ['rare', { qos: 2, intervalMs: 3_600_000 }],
    ['least', { qos: 1, intervalMs: 150 }],
    ['none', { qos: 0, intervalMs: 50 }],
  ];
  for (const [id, one] of readers) await made('/rules', ruleOf(id, 'm', one));
  await made('/rules', ruleOf('writer', 's', { qos: 2, intervalMs: 100 }, 't'));
  await made('/rules', ruleOf('beside', 's', { qos: 1, intervalMs: 3_600_000 }));
  for (const ms of [300, 200]) {
    await pause(ms);
    await restart();
  }
  const isDone = (id: string) => idsOf(id).includes(count - 1);
  await eventually('the last rows', () => ['exact', 'rare', 'least', 'beside'].every(isDone), 60_000);
  for (const id of ['exact', 'rare']) assert.equal(idsOf(id), upTo(count), id);
  for (const id of ['least', 'beside']) assert.is(new Set(idsOf(id)).size, count, id);
});

test.run();
