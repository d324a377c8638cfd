/** Rules on their way to another data plane, as their data planes tell of it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { MovingRun } from '../../../../host/run/link/moving.js';
import type { RuleStart } from '../../../../host/run/link/protocol.js';
import { entryOf } from '../../../../host/run/lives/rule-entry.js';
import { type LifeOptions, RuleLives } from '../../../../host/run/lives/rule-lives.js';
import type { Supervisor } from '../../../../host/run/planes/supervisor.js';
import { ruleOf } from '../../../support/engine/engine-harness.js';
import { eventually } from '../../../support/harness.js';

test.before.each(() => {
  whenReady = Promise.resolve();
});

const topology = { sources: [], edges: {} };

const rows = { run: 1, folder: 'r', rows: { least: 0, count: 1, segments: [] } };

/** Holds back the answers to `readyToMove`. */
let whenReady: Promise<void> = Promise.resolve();

/** A rule, and what its data plane and the one it moves to are told and asked. */
function oneRule() {
  const commands: string[] = [];
  const planeOf = (number: number, name: string) => ({
    number,
    command: ({ kind, runs }: { kind: string; runs?: readonly MovingRun[] }) =>
      void commands.push([name + kind, ...(runs ?? []).map(({ run }) => run)].join(' ')),
    ask: async (question: string, given: unknown) => {
      commands.push(`${name}${question} ${JSON.stringify(given)}`);
      await whenReady;
      return question === 'readyToMove' ? [rows] : undefined;
    },
  });
  const plane = planeOf(1, '') as unknown as Supervisor;
  const entry = entryOf({
    definition: ruleOf('r', 'SELECT * FROM demo', []),
    sources: ['demo'],
    topology,
    schedule: undefined,
  });
  const start = { plan: { topology, operators: [] }, sources: [], sinks: [] } as unknown as RuleStart;
  const options = {
    plans: {
      startOf: () => ({ start, redact: (text: string) => text, remarks: [] }),
      shared: <T>(value: T) => value,
      stateFolderOf: () => undefined,
      placedPartsOf: () => ({ sources: [], sinks: [] }),
    },
    planes: {
      count: 2,
      division: undefined,
      at: (number: number) => planeOf(number, `${number}: `),
      place: () => ({ plane, moved: [] }),
      startsAll: () => {},
    },
    ruleOf: () => entry,
    logs: { open: () => {}, close: () => {}, take: () => {}, isDebug: false },
    zone: () => 'UTC',
    patrolMs: 1000,
  } as unknown as LifeOptions;
  return { lives: new RuleLives(options), entry, commands };
}

test('a rule that moves as it starts has begun again when its next run tells so', () => {
  const { lives, entry, commands } = oneRule();
  lives.start(entry);
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  lives.moves.all(['rule r'], over, true);
  assert.equal(commands, ['start', 'move 1']);
  // It was on its way when the rule was told to leave.
  lives.noticed({ kind: 'started', run: 1 });
  assert.not.ok(isOver, 'the run that leaves is not the next one');
  lives.noticed({ kind: 'stopped', run: 1, metrics: {}, losses: [] });
  assert.equal(commands, ['start', 'move 1', 'start']);
  assert.not.ok(isOver);
  lives.noticed({ kind: 'started', run: 2 });
  assert.ok(isOver);
  assert.is(entry.state, 'running');
});

test('what a rule brings along is read where it goes before it leaves', async () => {
  const { lives, entry, commands } = oneRule();
  lives.start(entry);
  lives.moves.all(['rule r']);
  assert.is(entry.state, 'stopping');
  await eventually('the rule leaves', () => commands.at(-1) === 'move 1');
  assert.equal(commands, [
    'start',
    'readyToMove [{"run":1}]',
    `0: readAhead ${JSON.stringify({ sources: [], sinks: [], rows: [rows] })}`,
    'move 1',
  ]);
});

/** A rule that is to move when the data plane where it goes is ready, which it is when that is called. */
async function staying() {
  let ready = () => {};
  whenReady = new Promise((resolve) => {
    ready = resolve;
  });
  const { lives, entry, commands } = oneRule();
  lives.start(entry);
  lives.moves.all(['rule r']);
  await eventually('the question', () => commands.length === 2);
  return { lives, entry, commands, ready };
}

test('a rule that is stopped while it gets ready to move does not wait for that', async () => {
  const { lives, entry, commands, ready } = await staying();
  const stopped = lives.stop(entry);
  assert.is(commands.at(-1), 'stop');
  lives.noticed({ kind: 'stopped', run: 1, metrics: {}, losses: [] });
  await stopped;
  assert.is(entry.state, 'stopped');
  ready();
  await eventually('the move of a run that is gone', () => commands.at(-1) === 'move 1');
  assert.is(entry.state, 'stopped');
});

test('a rule whose thread dies while it gets ready to move begins again, and is not told to leave', async () => {
  const { lives, entry, commands, ready } = await staying();
  lives.lost(entry.plane!, 'the thread has ended', undefined);
  assert.is(entry.run, 2);
  lives.noticed({ kind: 'started', run: 2 });
  ready();
  await eventually('the move', () => commands.at(-1)?.startsWith('move') === true);
  assert.is(commands.at(-1), 'move 1', 'of the run that is gone');
  assert.is(entry.state, 'running');
});

test.run();
