/** The command line of `haumea bench`: which runs it asks for, and what it refuses. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readArgs } from '../../../bench/args.js';

const jobs = (line: string) => readArgs(line.split(' '), ['haumea']).jobs;
const labels = (line: string) => jobs(line).map(({ label }) => label);

test(
  'runs every workload with every data set, combination of knobs and way to send; the twin once for each data ' + 'set',
  () => {
    assert.equal(labels('w1 latency --data plain,varied --twin'), [
      'w1 plain batching',
      'w1 plain plain JS',
      'w1 varied batching',
      'w1 varied plain JS',
      'latency plain batching',
      'latency varied batching',
    ]);
    assert.equal(labels('w2 --senders batching,per-message --sweep coalesceMs=0,5'), [
      'w2 plain batching coalesceMs=0',
      'w2 plain per-message coalesceMs=0',
      'w2 plain batching coalesceMs=5',
      'w2 plain per-message coalesceMs=5',
    ]);
  },
);

test('restart has a number of rules and no other job', () => {
  const { restartRules, jobs: runs } = readArgs(['restart', '--rules', '50'], ['haumea']);
  assert.equal([restartRules, runs], [50, []]);
  assert.is(readArgs(['w1'], ['haumea']).restartRules, null);
  assert.throws(() => readArgs(['restart', 'w1'], ['haumea']), /restart/);
});

test('knobs in capitals are settings of the server, others properties of the source', () => {
  const [job] = readArgs(['w1', '--sweep', 'coalesceMs=5 KUIPER__BASIC__DEBUG=true'], ['haumea']).jobs;
  assert.equal(job?.options.sourceProps, { coalesceMs: 5 });
  assert.equal(job?.options.env, { KUIPER__BASIC__DEBUG: 'true' });
});

test('an own rule runs on the messages of w1 when no workload is named', () => {
  assert.equal(
    readArgs(['--sql', 'SELECT * FROM telem'], []).jobs.map(({ label }) => label),
    ['w1 plain batching'],
  );
  assert.is(readArgs([], []).jobs.length, 5);
});

test('the control plane is measured with few and with many rules', () => {
  assert.equal(readArgs(['control', '--rules', '500'], []).controlRules, [100, 500]);
  assert.equal(readArgs(['control'], []).controlRules, [100, 10_000]);
  assert.equal(readArgs(['control', '--rules', '10,200'], []).controlRules, [10, 200]);
});

test('refuses what it does not know, and says why', () => {
  const cases: [string, RegExp][] = [
    ['w9', /unknown workload "w9"; known: w1, /],
    ['w1 control', /unknown workload "control"/],
    ['--rate x', /--rate: "x" is not a number/],
    ['--runs 0', /--runs: at least 1/],
    ['--data odd', /--data: "odd" is not one of plain, varied/],
    ['--sink []', /--sink: not a JSON object/],
    ['--sweep x', /--sweep: "x" is not KEY=A,B/],
    ['--other', /'--other'/],
  ];
  for (const [line, reason] of cases) assert.throws(() => jobs(line), reason);
});

test.run();
