/**
 * Rows of a stream that are looked up, beside a plain JavaScript program of the same job in the same run: bytes in, joined rows
 * out as JSON. In a table that is kept, of a thousand rows and of many, and in one that is asked and whose answers are remembered.
 *
 *     npx tsx bench/micro/lookup.ts [ROWS OF THE LARGE TABLE]
 */
import type { HostCalls } from '../../kernels/api.js';
import { createKernel } from '../../kernels/index.js';
import { openRule, textOf } from '../../test/sql/rule-kernel.js';

const chunkRows = 10_000;
const turns = 40;
const definitions = [
  'CREATE STREAM s () WITH ()',
  'CREATE TABLE kept () WITH (TYPE="memory", DATASOURCE="t", KIND="lookup", KEY="id")',
  'CREATE TABLE asked () WITH (TYPE="simulator", KIND="lookup", KEY="id")',
];
const nameOf = (id: unknown): string => `name of ${id}`;
const waiting = { timeoutMs: 60_000, batches: 16, cache: { rows: 100_000, ttlMs: 0, hasMisses: true } };

let output: Buffer[] = [];
const requests: Parameters<NonNullable<HostCalls['onAsk']>>[] = [];
const calls: HostCalls = {
  onOutput: ({ bytes }) => output.push(Buffer.from(bytes)),
  onPacket: () => {},
  onAcknowledge: () => {},
  onAsk: (...request) => void requests.push(request),
  call: () => {},
};

/** Best of many turns, ns a row. */
function best(turn: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < turns; i++) {
    const begun = performance.now();
    turn();
    least = Math.min(least, performance.now() - begun);
    output = [];
  }
  return (least * 1e6) / chunkRows;
}

function measure(table: 'kept' | 'asked', keys: number): void {
  const chunk = textOf(
    Array.from({ length: chunkRows }, (_, i) => ({ id: (i * 7919) % keys, v: i / 8, w: 'some text' })),
  );
  const kernel = createKernel(calls);
  const sql = `SELECT s.v AS v, ${table}.name AS name FROM s INNER JOIN ${table} ON s.id = ${table}.id`;
  const rule = openRule(definitions, sql, { props: { sendSingle: true }, kernel, waiting });
  for (let from = 0; table === 'kept' && from < keys; from += chunkRows) {
    const count = Math.min(chunkRows, keys - from);
    rule.feed(table, textOf(Array.from({ length: count }, (_, i) => ({ id: from + i, name: nameOf(from + i) }))));
  }
  rule.feed('s', chunk);
  for (const [node, request, [ids = []], count] of requests.splice(0)) {
    const of = Array.from({ length: count }, (_, i) => i);
    kernel.answer(node, request, { of, columns: { id: ids, name: ids.map(nameOf) } }, 0);
  }
  const ours = best(() => rule.feed('s', chunk));
  const lines = chunk.toString().trimEnd().split('\n');
  const rows = new Map(Array.from({ length: keys }, (_, id) => [id, { id, name: nameOf(id) }]));
  let sent = 0;
  const twin = best(() => {
    for (const line of lines) {
      const { id, v } = JSON.parse(line) as { id: number; v: number };
      const found = rows.get(id);
      if (found !== undefined) sent += JSON.stringify({ v, name: found.name }).length;
    }
  });
  if (sent === 0) throw new Error('the twin has sent nothing');
  const memory =
    table === 'kept' ? `, ${Math.round(kernel.counters(rule.node('keyedTable')).memoryBytes / keys)} bytes a row` : '';
  const label = `${table} table, ${keys.toLocaleString('en')} keys`;
  console.log(
    `${label.padEnd(30)} ${ours.toFixed(0).padStart(5)} ns/row, plain JavaScript ${twin.toFixed(0)}: ${(twin / ours).toFixed(1)}×${memory}`,
  );
  rule.close();
}

measure('kept', 1000);
measure('kept', Number(process.argv[2] ?? 1_000_000));
measure('asked', 1000);
