/** Memory of all scripts and modules together: its bound, who is refused, and the figures of those that have some. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Code } from '../../../host/plugins/wasm/binary/code.js';
import { Op } from '../../../host/plugins/wasm/binary/opcodes.js';
import { ByteWriter } from '../../../host/plugins/wasm/binary/writer.js';
import { eventually, startServer } from '../../support/harness.js';
import { moduleOf } from '../../support/plugins/modules.js';
import { Neighbour } from '../../support/rest/neighbour.js';
import { readDocument } from '../../support/rest/prometheus-text.js';

const mib = 1 << 20;
const server = await startServer({
  env: {
    KUIPER__PLUGIN__MAXMEMORYBYTES: String(64 * mib),
    KUIPER__PLUGIN__JAVASCRIPT__CALLTIMEOUT: '5s',
    KUIPER__PLUGIN__JAVASCRIPT__BATCHTIMEOUT: '20s',
  },
});
test.after(async () => {
  await server.stop();
});
const neighbour = await Neighbour.start(server);
const reason = new RegExp(
  /all code of users may have 64\.0 MiB together \(plugin\.maxMemoryBytes\) and has [\d.]+ MiB, /.source +
    /most of it (javascript function|wasm plugin) \w+ \([\d.]+ MiB\)/.source,
);

/** A script that keeps so many MiB from its first call on. */
async function script(id: string, mebibytes: number): Promise<void> {
  const text =
    `let kept; function ${id}(v) { ` + `kept ??= new Uint8Array(${mebibytes} << 20).fill(1); return kept.length; }`;
  assert.is((await server.request('POST', '/udf/javascript', { id, script: text })).status, 201);
}

/** A plugin with a memory that nobody else sees, which its function makes as large as its argument says, pages. */
async function plugin(name: string, isolate = false): Promise<void> {
  const bytes = moduleOf({
    types: [{ params: ['i64'], results: ['i64'] }],
    sections: { 5: Uint8Array.of(1, 0, 1) },
    functions: [
      {
        type: 0,
        export: name,
        code: [
          ...new Code()
            .get(0)
            .op(Op.i32WrapI64)
            .raw(Uint8Array.of(Op.memorySize, 0))
            .op(Op.i32Sub)
            .raw(Uint8Array.of(Op.memoryGrow, 0))
            .op(Op.i64ExtendI32S)
            .take(),
        ],
      },
    ],
  });
  const body = { name, bytecode: Buffer.from(bytes).toString('base64'), isolate };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
}

/** A rule that calls a function with a number each 5 ms. */
async function rule(id: string, call: string): Promise<void> {
  const made = { id, sql: `SELECT ${call} AS r FROM clock`, actions: [{ nop: {} }], options: { sendError: true } };
  const answer = await server.request('POST', '/rules', made);
  assert.is(answer.status, 201, answer.text);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
const drop = async (id: string) => assert.is((await server.request('DELETE', `/rules/${id}`)).status, 200);

/** Resolves with the figure of a rule when it has called its function so that it has some MiB. */
const grown = (id: string, mebibytes: number): Promise<number> =>
  eventually(`the memory of ${id}`, async () => {
    const { userCodeMemoryBytes: bytes = 0 } = await status(id);
    return bytes >= mebibytes * mib ? bytes : undefined;
  });

/** Resolves with the reason why rows of a rule are errors, or the rule itself has ended. */
const refusal = (id: string): Promise<string> =>
  eventually(`the refusal of ${id}`, async () => {
    const figures = await status(id);
    const texts = Object.keys(figures).filter((name) => name === 'message' || name.endsWith('_last_exception'));
    return texts.map((name) => String(figures[name])).find((text) => reason.test(text));
  });

/** What `/metrics` has of each owner. */
async function owners(): Promise<Record<string, number>> {
  const families = readDocument((await server.request('GET', '/metrics')).text);
  const samples = families.get('kuiper_user_code_memory_bytes')?.samples ?? [];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.owner, value]));
}

test('scripts grow up to the bound of all of them; one more is refused by name and the others go on', async () => {
  for (const id of ['a', 'b', 'c']) {
    await script(id, 14);
    await rule(`rule_${id}`, `${id}(v)`);
    const bytes = await grown(`rule_${id}`, 14);
    assert.ok(bytes < 24 * mib, `${bytes}`);
  }
  await script('d', 30);
  await rule('rule_d', 'd(v)');
  const text = await refusal('rule_d');
  assert.match(text, 'function d:');
  assert.match(text, /javascript function [abc] \(/);
  for (const id of ['a', 'b', 'c']) {
    const { status: state, exceptionsTotal } = await status(`rule_${id}`);
    assert.equal([state, exceptionsTotal], ['Running', 0]);
  }
  await neighbour.goesOn();
});

test('figures by owner are in the metrics and in the description, and fall when the last rule has ended', async () => {
  const all = await eventually('the metrics', async () => {
    const found = await owners();
    return found['javascript function c'] === undefined ? undefined : found;
  });
  for (const id of ['a', 'b', 'c']) {
    const bytes = all[`javascript function ${id}`] ?? 0;
    assert.ok(bytes >= 14 * mib, `${id}: ${bytes}`);
    assert.is((await server.request('GET', `/udf/javascript/${id}`)).json.memoryBytes, bytes);
    assert.is((await status(`rule_${id}`)).userCodeMemoryBytes, bytes);
  }
  const families = readDocument((await server.request('GET', '/metrics')).text);
  assert.is(families.get('kuiper_user_code_max_bytes')?.samples[0]?.value, 64 * mib);
  assert.is((await status('neighbour')).userCodeMemoryBytes, undefined);

  for (const id of ['a', 'b']) await drop(`rule_${id}`);
  await grown('rule_d', 30);
  await eventually('the metrics without those that ended', async () => {
    const found = await owners();
    return found['javascript function a'] === undefined && found['javascript function b'] === undefined;
  });
  assert.is((await server.request('GET', '/udf/javascript/a')).json.memoryBytes, undefined);
  for (const id of ['c', 'd']) await drop(`rule_${id}`);
});

for (const isolate of [false, true]) {
  const where = isolate ? ' on threads of their own' : '';
  test(`modules${where} that grow past the bound are refused alone and begin anew, also in steps`, async () => {
    const [first, second] = isolate ? ['e', 'f'] : ['g', 'h'];
    await plugin(first as string, isolate);
    await plugin(second as string, isolate);
    await rule('first', `${first}(40 * 16)`);
    assert.is(await grown('first', 40), 40 * mib);
    assert.is((await server.request('GET', `/plugins/wasm/${first}`)).json.memoryBytes, 40 * mib);
    await rule('second', `${second}(24 * 16)`);
    assert.is(await grown('second', 24), 24 * mib);
    await drop('second');
    // In one go, and by less than the calls of a module are looked at for.
    for (const [id, pages] of [
      ['large', 60 * 16],
      ['little', 24 * 16 + 1],
    ] as const) {
      await rule(id, `${second}(${pages})`);
      assert.match(await refusal(id), new RegExp(`wasm plugin ${first} \\(40\\.0 MiB\\)`));
      assert.equal([(await status('first')).status, (await status('first')).exceptionsTotal], ['Running', 0]);
      await drop(id);
    }
    await drop('first');
    await neighbour.goesOn();
  });
}

test('a program that takes more than the bound leaves is ended with the reason, and the others go on', async () => {
  await plugin('k');
  await rule('holder', 'k(40 * 16)');
  await grown('holder', 40);
  const exports = new ByteWriter().u32(2).name('memory').byte(2).u32(0).name('_start').byte(0).u32(0).view();
  const endless = [Op.loop, 0x40, Op.br, 0, Op.end];
  const bytes = moduleOf({
    types: [{ params: [], results: [] }],
    sections: { 5: Uint8Array.of(1, 0, 0x80, 0x05), 7: exports },
    functions: [{ type: 0, code: endless }],
  });
  const bytecode = Buffer.from(bytes).toString('base64');
  assert.is((await server.request('POST', '/plugins/wasm', { name: 'greedy', bytecode })).status, 201);
  const sql = 'CREATE STREAM wanted () WITH (TYPE="wasm", DATASOURCE="greedy", FORMAT="json")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const made = { id: 'program', sql: 'SELECT * FROM wanted', actions: [{ nop: {} }] };
  assert.is((await server.request('POST', '/rules', made)).status, 201);
  const why = await eventually('the end of the program', async () => {
    const found = (await status('program')).source_wanted_0_connection_last_disconnected_message;
    return reason.test(found) ? String(found) : undefined;
  });
  assert.match(why, /^wasm plugin greedy: 40\.\d MiB of memory are more than there is: /);
  assert.equal([(await status('holder')).status, (await status('holder')).exceptionsTotal], ['Running', 0]);
  for (const id of ['program', 'holder']) await drop(id);
  await neighbour.goesOn();
});

test('a rule whose code has no room for its first memory does not start, and does once there is some', async () => {
  await plugin('i');
  await rule('all', 'i(63 * 16 + 15)');
  await grown('all', 63);
  await script('j', 1);
  await rule('late', 'j(v)');
  assert.match(await refusal('late'), /wasm plugin i \(63\.9 MiB\)/);
  await drop('all');
  assert.is((await server.request('POST', '/rules/late/restart')).status, 200);
  await grown('late', 1);
});

test.run();
