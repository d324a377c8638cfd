/** Rules that join with a table of a file, on a stream that others read as well: no row finds the table unread. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths, type OpenMode } from '../../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../../host/base/log/log.js';
import { callHost } from '../../../../../host/functions/registry.js';
import type { RuleDefinition } from '../../../../../host/model/engine.js';
import { planRule } from '../../../../../host/plan/index.js';
import { Heartbeat } from '../../../../../host/run/link/heartbeat.js';
import type { Notice, RuleStart } from '../../../../../host/run/link/protocol.js';
// All manifests are there, as in the control plane.
import '../../../../../host/connectors/index.js';
import { DataPlane } from '../../../../../host/run/plane/data-plane.js';
import { connectorSpecs } from '../../../../../host/run/props/resolve.js';
import { createKernel } from '../../../../../kernels/index.js';
import { catalogOf, noFold, ruleOf } from '../../../../support/engine/planned-rules.js';
import { eventually, temporaryFolder } from '../../../../support/harness.js';
import { kernelUnderTest } from '../../../../support/kernel/drive.js';

interface Row {
  readonly id: number;
}

/** Files that are opened when `open` is called. */
class Gate extends AllowedPaths {
  #isOpen = false;
  #waiting: (() => void)[] = [];

  constructor(private readonly path: string) {
    super(AllowedPaths.any().rules);
  }

  override async open(path: string, mode: OpenMode): Promise<FileHandle> {
    if (path === this.path && !this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return super.open(path, mode);
  }

  letThrough(): void {
    this.#isOpen = true;
    for (const call of this.#waiting.splice(0)) call();
  }
}

const near = 'SELECT id FROM asks';
const far = 'SELECT asks.id, name FROM asks LEFT JOIN names ON asks.id = names.id';

/** A data plane, and a table `names` that is read when the gate is open. */
async function scene(asks = 'TYPE="memory", DATASOURCE="asks"') {
  const folder = temporaryFolder();
  const rows = (name: string, content: readonly object[]) =>
    writeFileSync(join(folder, name), content.map((row) => `${JSON.stringify(row)}\n`).join(''));
  rows(
    'names',
    Array.from({ length: 100 }, (_, id) => ({ id, name: `n${id}` })),
  );
  const gate = new Gate(join(folder, 'names'));
  const notices: Notice[] = [];
  const plane = await DataPlane.open({
    kernel: (calls) => createKernel(calls, kernelUnderTest, {}),
    call: callHost,
    tell: (notice) => void notices.push(notice),
    log: silent,
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    paths: gate,
    coalesceMs: 1,
    flushTimeoutMs: 5000,
    broken: (error) => {
      throw error;
    },
  });
  const notice = <K extends Notice['kind']>(run: number, kind: K) =>
    eventually(`${kind} of run ${run}`, () =>
      notices.find((one): one is Extract<Notice, { kind: K }> => one.kind === kind && 'run' in one && one.run === run),
    );
  const extra = `EXTRA="${JSON.stringify({ path: folder, fileType: 'lines' }).replaceAll('"', '\\"')}"`;
  let run = 0;
  const begin = (sql: string, action: RuleDefinition['actions'][number], options: object, ...streams: string[]) => {
    const catalog = catalogOf(
      `CREATE STREAM asks () WITH (${asks}, FORMAT="json", SHARED="true"${asks.includes('file') ? `, ${extra}` : ''})`,
      `CREATE TABLE names () WITH (TYPE="file", DATASOURCE="names", FORMAT="json", ${extra})`,
      ...streams,
    );
    const rule = { ...ruleOf(sql, options, [action]), id: `r${++run}` };
    const plan = planRule(rule, catalog, noFold);
    const specs = connectorSpecs(rule, plan, catalog);
    const start: RuleStart = {
      ...{ id: rule.id, run, plan, sendError: true, zone: 'UTC', sinkLimitBytes: 1 << 20 },
      ...{ sources: specs.sources, sinks: specs.sinks },
    };
    void plane.start(start);
    return run;
  };
  return {
    plane,
    gate,
    notice,
    rows,
    /** Starts a rule; `written` are the rows that it has sent. */
    start: (sql: string, options: object = {}) => {
      const path = join(folder, `out${run + 1}`);
      writeFileSync(path, '');
      const written = () =>
        readFileSync(path, 'utf8')
          .split('\n')
          .slice(0, -1)
          .flatMap((line) => JSON.parse(line) as Row[]);
      return { run: begin(sql, { type: 'file', props: { path } }, options), written };
    },
    /** Sends rows with the ids to the topic of the stream. */
    send: async (...ids: number[]) => {
      const name = `feed${run + 1}`;
      rows(
        name,
        ids.map((id) => ({ id })),
      );
      const fed = `CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="${name}", FORMAT="json", ${extra})`;
      const feeder = begin(`SELECT * FROM ${name}`, { type: 'memory', props: { topic: 'asks' } }, {}, fed);
      await notice(feeder, 'ended');
    },
  };
}

const named = (...ids: number[]) => ids.map((id) => ({ id, name: `n${id}` }));
const bare = (...ids: number[]) => ids.map((id) => ({ id }));

test('rows of a stream that flows wait for the table of a rule that comes, and others read on', async () => {
  const { plane, gate, notice, start, send } = await scene();
  const first = start(near);
  await notice(first.run, 'started');
  await send(0);
  await eventually('the stream to flow', () => first.written().length > 0);
  const joined = start(far);
  await notice(joined.run, 'started');
  await send(1, 2, 3);
  await eventually('the rows of the other rule', () => first.written().length === 4);
  assert.equal(first.written(), bare(0, 1, 2, 3));
  const status = plane.status(joined.run);
  assert.is(status?.message, '3 messages of stream asks wait for it until its tables are read');
  assert.is(status?.metrics.source_asks_0_buffer_length, 3);
  assert.equal(joined.written(), []);
  gate.letThrough();
  await eventually('the rows with names', () => joined.written().length === 3);
  await send(4);
  await eventually('the row behind them', () => joined.written().length === 4);
  assert.equal(joined.written(), named(1, 2, 3, 4));
  assert.is(plane.status(joined.run)?.message, '');
  assert.is(plane.status(joined.run)?.metrics.source_asks_0_records_in_total, 4);
  await plane.close();
});

test('a stream that starts with several rules begins when the tables of all are read', async () => {
  const { plane, gate, notice, start, rows } = await scene('TYPE="file", DATASOURCE="asks"');
  rows('asks', bare(1, 2, 3));
  const first = start(near);
  const joined = start(far);
  await Promise.all([notice(first.run, 'started'), notice(joined.run, 'started')]);
  // So long the file takes at most, if it is read.
  await Promise.race([notice(first.run, 'ended'), after(500)]);
  gate.letThrough();
  await Promise.all([notice(first.run, 'ended'), notice(joined.run, 'ended')]);
  assert.equal(joined.written(), named(1, 2, 3));
  assert.equal(first.written(), bare(1, 2, 3));
  await plane.close();
});

/** A rule is told to stop while two rows wait for its table, which another rule on the stream has had. */
async function stoppedMeanwhile() {
  const { start, notice, send, plane, ...others } = await scene();
  const first = start(near);
  await notice(first.run, 'started');
  const joined = start(far);
  await notice(joined.run, 'started');
  await send(1, 2);
  await eventually('the rows of the other rule', () => first.written().length === 2);
  void plane.stop(joined.run);
  return { ...others, notice, send, plane, first, joined };
}

test('rows that waited when the rule was stopped are told as lost', async () => {
  const { plane, gate, notice, send, first, joined } = await stoppedMeanwhile();
  await eventually('its end to begin', () => plane.status(joined.run) === undefined);
  gate.letThrough();
  const { losses } = await notice(joined.run, 'stopped');
  const lost = 'the rule ends while 2 messages of stream asks wait for it until its tables are read: they are lost';
  assert.equal(losses, [lost]);
  assert.equal(joined.written(), []);
  await send(3);
  await eventually('the row of the other rule', () => first.written().length === 3);
  await plane.close();
});

test('a rule that is stopped while its table is read joins what has come before', async () => {
  const { plane, gate, notice, send, first, joined } = await stoppedMeanwhile();
  gate.letThrough();
  assert.equal((await notice(joined.run, 'stopped')).losses, []);
  assert.equal(joined.written(), named(1, 2));
  await plane.close();
});

test.run();
