/**
 * State that is saved while rows flow: whatever the statement, the rows and the moments, a kernel that takes up what a
 * snapshot has written goes on from there to the byte, and taking it disturbs nobody. `HAUMEA_STATE_RUNS` sets how many
 * cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import type { Snapshot, SnapshotContent } from '../../../kernels/snapshot-api.js';
import { openLoadedSnapshot } from '../../../kernels/state/snapshot.js';
import { type KernelRule, openRule, readerOf } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { beginOfCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const afterwards = [1000, 4000, 20_000, 60_000];
/** Slices are written in pieces that are cut after so many bytes. */
const piece = 200;

let output: string[] = [];
/** Of a kernel that is used again no number of a chain may come again. */
let chains = 0;

/** Kernels that are empty are used again: a new one takes more time than a case. */
const idle: Kernel[] = [];

const kernelNew = (): Kernel =>
  idle.pop() ??
  createKernel(
    {
      onOutput: ({ bytes }) => output.push(Buffer.from(bytes).toString()),
      onPacket: () => {},
      onAcknowledge: () => {},
      call: callHost,
    },
    kernelUnderTest,
  );

function bytesOf(kernel: Kernel): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

function open({ statements, sql, wishes }: StateCase, kernel: Kernel): KernelRule {
  return openRule(statements, sql, { ...wishes, kernel });
}

/** A snapshot with the step at which it was taken and what had come out then. */
interface Taken {
  readonly step: number;
  readonly out: number;
  readonly state: Uint8Array;
  readonly snapshot: Snapshot;
  /** Number of the next page when it was taken. */
  readonly serial: number;
  /** Those of its chain up to its own. */
  readonly segments: readonly Buffer[][];
}

/** Does steps from `from` on: arrivals, then the timers that are left. */
function steps(given: StateCase, rule: KernelRule, from: number, after: (step: number) => void = () => {}): void {
  let now = beginOfCases;
  const waits = [...given.arrivals.map(({ waitMs }) => waitMs), ...afterwards];
  waits.forEach((waitMs, step) => {
    now += waitMs;
    if (step < from) return;
    rule.kernel.tick(now);
    const arrival = given.arrivals[step];
    if (arrival !== undefined) rule.feed(arrival.name, arrival.bytes, now);
    after(step);
  });
  for (const name of new Set(given.arrivals.map((arrival) => arrival.name))) rule.end(name);
}

/** Runs the case in one kernel and takes snapshots; gives back those that were written. */
function runWithSnapshots(given: StateCase, kernel: Kernel): Taken[] {
  const rule = open(given, kernel);
  const written: Taken[] = [];
  const segments: Buffer[][] = [];
  let chain = ++chains;
  let serial = 0;
  let taken: Taken | undefined;
  const write = (most: number): void => {
    if (taken === undefined) return;
    const outcome = taken.snapshot.write(most, (bytes) => taken!.segments.at(-1)!.push(Buffer.from(bytes)));
    if (outcome === 'more') return;
    assert.is(outcome, 'all');
    taken.snapshot.close();
    written.push(taken);
    taken = undefined;
  };
  steps(given, rule, 0, (step) => {
    write(piece);
    if (given.arrivals[step]?.moves !== true) return;
    write(2 ** 30);
    // Now and then what was written is forgotten.
    if (segments.length === 3) {
      chain = ++chains;
      serial = 0;
      segments.length = 0;
    }
    const { state, snapshot } = rule.snapshot({ chain, segment: segments.length, serial, small: 0 });
    segments.push([]);
    taken = { step, out: output.length, state, snapshot, serial, segments: [...segments] };
    serial = snapshot.serial;
  });
  const isOpen = taken as Taken | undefined;
  // What it has must outlive the rule.
  rule.close();
  if (isOpen !== undefined) {
    write(2 ** 30);
    isOpen.snapshot.close();
  }
  return written;
}

const contentOf = ({ least, serial, sets }: Snapshot): SnapshotContent => ({ least, count: serial - least, sets });

/**
 * What comes out of a fresh kernel that takes the snapshot up; with `before`, an earlier one of the chain, it has read
 * the rows of that one already.
 */
function runFrom(given: StateCase, { step, state, snapshot, segments }: Taken, before?: Taken): string {
  const kernel = kernelNew();
  const empty = bytesOf(kernel);
  const rule = open(given, kernel);
  const fill = (of: Taken['segments'], { live }: Snapshot, from: number): void => {
    of.forEach((slices, i) => {
      if (i < from || live[i] === 0 || slices.length === 0) return;
      const read = readerOf(Buffer.concat(slices), given.portion);
      while (loadedSnapshot.fill(2, read));
    });
  };
  const first = before?.snapshot ?? snapshot;
  const loadedSnapshot = openLoadedSnapshot(kernel, contentOf(first));
  if (before !== undefined) {
    fill(before.segments, first, 0);
    loadedSnapshot.moveOn(contentOf(snapshot));
  }
  fill(segments, snapshot, before?.segments.length ?? 0);
  const { loaded, ...rest } = rule.loadWith(state, loadedSnapshot);
  loadedSnapshot.close();
  assert.equal(rest, { unclaimed: 0, brokenOff: null, failed: [] });
  assert.ok(loaded > 0);
  output = [];
  steps(given, rule, step + 1);
  const sent = output.join('');
  rule.close();
  assert.is(bytesOf(kernel), empty);
  idle.push(kernel);
  return sent;
}

test(
  'a kernel that takes up a snapshot goes on to the byte as the one in which rows flowed while it was ' + 'written',
  () => {
    let pages = 0;
    let increments = 0;
    let sets = 0;
    let changes = 0;
    let ahead = 0;
    fc.assert(
      fc.property(stateCases, (given) => {
        output = [];
        const quiet = kernelNew();
        const rule = open(given, quiet);
        steps(given, rule, 0);
        rule.close();
        idle.push(quiet);
        const undisturbed = output.join('');
        output = [];
        const kernel = kernelNew();
        const empty = bytesOf(kernel);
        const taken = runWithSnapshots(given, kernel);
        assert.is(bytesOf(kernel), empty);
        idle.push(kernel);
        const sent = output;
        assert.is(sent.join(''), undisturbed);
        for (const one of taken) {
          pages += one.snapshot.pages;
          if (one.segments.length > 1) increments++;
          if (one.snapshot.sets.length > 0) sets++;
          if (one.snapshot.sets.some((number) => number < one.serial)) changes++;
          assert.is(runFrom(given, one), sent.slice(one.out).join(''));
          const before = taken.filter(({ step, segments }) => step < one.step && segments[0] === one.segments[0]);
          for (const other of before) {
            ahead++;
            assert.is(runFrom(given, one, other), sent.slice(one.out).join(''));
          }
        }
      }),
      { numRuns },
    );
    assert.ok(pages > 0 && increments > 0 && sets > 0 && changes > 0 && ahead > 0);
  },
);

test.run();
