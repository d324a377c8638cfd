/**
 * Ends the transactions that a removed rule, or a removed action, left in a sink. The sink is opened once, as in a run
 * that goes on from the last checkpoint.
 */
import { basename, dirname } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { systemClock, type Timer } from '../../../base/time/clock.js';
import { connectorFor, loadConnector } from '../../../connectors/loaded.js';
import type { SettledNotice, SettleOrder } from '../../link/protocol.js';
import type { SinkHost } from '../output/sink-host.js';
import { SinkRun } from '../output/sink-run.js';
import type { PlaneHost, RunningRule } from '../running/running.js';
import { CheckpointFiles } from '../state/checkpoint/files.js';
import { Groups } from '../state/checkpoint/groups.js';
import { findState } from '../state/checkpoint/restore.js';

/** Longest time for opening the sink, and for closing it, ms. */
const timeoutMs = 5000;

export interface SettleHost extends Pick<PlaneHost, 'log' | 'paths' | 'shared'> {
  readonly rules: Iterable<RunningRule>;
}

type Settled = Pick<SettledNotice, 'position' | 'reason'>;

/** Returns the position where the rule ended in the sink, and the reason when its transactions could not be ended. */
export async function settle(order: SettleOrder, host: SettleHost): Promise<Settled> {
  let { position } = order;
  try {
    if (order.folder !== undefined) position = await endOf(order.folder, order.action, host);
    await endIn(order, position, host);
    return { position };
  } catch (error) {
    return { position, reason: reasonOf(error) };
  }
}

/** Position of the newest usable checkpoint in the sink. */
async function endOf(folder: string, action: number, host: SettleHost): Promise<unknown> {
  const { log } = host;
  const groups = host.shared('checkpoint.groups', () => new Groups());
  await groups.marks(dirname(folder)).finish(basename(folder), log);
  const { checkpoint } = await findState(new CheckpointFiles(folder), { log });
  return checkpoint?.head.sinks[action];
}

async function endIn({ rule, action, spec }: SettleOrder, position: unknown, host: SettleHost): Promise<void> {
  await loadConnector('sink', spec.type);
  const own: SinkHost = {
    id: rule,
    log: host.log,
    paths: host.paths,
    shared: (key, make) => host.shared(key, make),
    debug: () => {},
    callUser: () => {},
    sinkIsFull: () => {},
    sinkFailed: () => {},
  };
  const sink = new SinkRun(spec, connectorFor('sink', spec.type), own, 0, false, undefined, `${rule}/${action}`);
  try {
    // A run that has the sink has ended its transactions when opening it.
    if (isHad(rule, sink, host.rules)) return;
    if (position !== undefined) sink.cutBack(position);
    await within(sink.connect());
  } finally {
    await sink.close(timeoutMs);
  }
}

function isHad(id: string, { spec, peer }: SinkRun, rules: Iterable<RunningRule>): boolean {
  for (const rule of rules) {
    if (rule.id === id && rule.sinks.some((sink) => sink.spec.type === spec.type && sink.peer === peer)) return true;
  }
  return false;
}

async function within(opening: Promise<void>): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = systemClock.after(timeoutMs, () => reject(new Error(`no answer for ${timeoutMs / 1000} s`)));
  });
  try {
    await Promise.race([opening, late]);
  } finally {
    timer?.close();
  }
}
