/**
 * The end of a rule that has left the kernel: its sources stop, and its sinks get time without holding up neighbours.
 */
import { isAtWork } from '../../../../kernels/state/deferred.js';
import { reasonOf } from '../../../base/errors.js';
import { isOwnTopic } from '../../../connectors/topics/matches.js';
import type { RunningRule, RunningSink, RunningSource } from '../running/running.js';
import type { RuleRun } from './rule-run.js';

/** Longest time that the end of a rule may hold up rules that share its streams, ms. */
const neighboursWaitMs = 1000;
/** Time that the sources of an ended rule stand still for its next run, ms. */
const handOverMs = 100;
/** Longest time that the end of a rule waits for read input to have its turn, ms, or for a sink that takes nothing. */
const readMs = 1000;
/** Longest time that the end of a part of a divided rule waits for its work, ms, and that between two looks at it. */
const workMs = 60_000;
const pollMs = 5;
/** Longest time that a part, to which nothing more comes, waits for its next answer at its end, ms. */
const answersMs = 10_000;
/** Most that one look adds to the time without progress, ms: in a longer one the thread was busy with others. */
const lookMs = 50;

export interface EndOptions<S extends RunningSource> {
  /** The sinks may send the waiting output. */
  readonly isGraceful: boolean;
  /** Longest time for the waiting output, ms. */
  readonly timeoutMs: number;
  /** Sources that only this rule had. */
  readonly unused: readonly S[];
  /** Sources, also of other rules, that its sinks blocked: `sinkIsFull` was called, and is taken back here. */
  readonly held: readonly S[];
  /** Lets no further rule use the source. */
  forget(source: S): void;
  drop(source: S): Promise<void>;
  /**
   * To be called when the sinks had their time; with `isOut` all output is out or on disk. Messages of sources can
   * still be acknowledged.
   */
  settled(isOut: boolean): Promise<void> | undefined;
}

/** Result of ending the sinks. */
export interface End {
  /** Reason why a sink could not send its waiting output; undefined when all could. */
  readonly reason: string | undefined;
  /** Losses of the sinks, a sentence each. */
  readonly losses: readonly string[];
}

/**
 * Resolves when no input of the rule's sources waits for its turn, or after `readMs`. A part of a divided rule has
 * worked off what it was sent then, as nothing tells it that its input is at its end, and its rows have their answers,
 * unless they are in its state. With `isOver` the kernel is not asked any more.
 */
export async function whenRead(rule: RuleRun, isOver: () => boolean): Promise<void> {
  const isPart = rule.sources.some(({ dataSource }) => isOwnTopic(dataSource));
  const late = rule.sources.filter((source) => source.waitsForTurn || (isPart && source.starvedSince > 0));
  const taken = late.map((source) => source.whenTaken());
  if (isPart) await whenWorkedOff(rule, taken, isOver);
  else if (late.length > 0) await within(readMs, taken);
}

/** Resolves when the part has nothing left to do, or does not get on with it. */
async function whenWorkedOff(rule: RuleRun, taken: Promise<unknown>[], isOver: () => boolean): Promise<void> {
  const { host, run, sinks, sources } = rule;
  let isTaken = taken.length === 0;
  void Promise.all(taken).then(() => {
    isTaken = true;
  });
  // What is in the state of the rule need not be waited for.
  const waitings = rule.checkpoints === undefined ? rule.waitings : [];
  let last = performance.now();
  const end = last + workMs;
  let before = '';
  let stillMs = 0;
  while (!isOver() && !rule.isEnding && last < end) {
    const isBusy = rule.checkpoints === undefined && isAtWork(host.kernel, run);
    const isAnswered = waitings.every((waiting) => waiting.isAnswered);
    if (isTaken && isAnswered && !isBusy) return;
    const firsts = waitings.map(({ node }) => host.kernel.waiting(node).first);
    const now = [...sources.map(({ workUs }) => workUs), ...firsts].join();
    if (isBusy || now !== before) stillMs = 0;
    before = now;
    const isStuck = sinks.some(({ isFull }) => isFull) || sources.some(({ starvedSince }) => starvedSince > 0);
    if (stillMs >= (isAnswered ? (isStuck ? readMs : workMs) : answersMs)) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    stillMs += Math.min(lookMs, performance.now() - last);
    last = performance.now();
  }
}

async function within(ms: number, all: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms).unref();
  });
  await Promise.race([Promise.all(all), patience]);
  clearTimeout(timer);
}

/** Takes the last state of joined rules at one instant, since all rules end now. */
export function takeLastTogether(rules: ReadonlySet<RuleRun>, work: (rule: RuleRun, call: () => void) => void): void {
  const joined = [...rules].filter((rule) => !rule.isEnding && rule.checkpoints?.isJoined);
  for (const { sources } of joined) for (const source of sources) source.settle();
  for (const rule of joined) work(rule, () => rule.flushNodes());
  for (const { checkpoints } of joined) checkpoints?.takeLastOfAll();
}

/** Keeps the input that the rule has not had of shared sources until it comes back, where that is possible. */
export function awaitReturn(rule: RunningRule): void {
  for (const { places, users } of rule.sources) if (users.size > 1) places?.awaits(rule);
}

/**
 * Gives up rows that wait before or in the rule's nodes and are not kept; returns a sentence for each loss, which the
 * log has as well.
 */
export function lossesOf(rule: RuleRun, isKept: boolean): string[] {
  const unread = rule.lag?.leave(rule) ?? [];
  const unanswered = isKept ? [] : rule.waitings.flatMap((waiting) => waiting.loseWaiting() ?? []);
  const losses = [...unread, ...unanswered];
  for (const loss of losses) rule.log.warn(loss);
  return losses;
}

/** The sinks of a rule in the order in which their output ends: those of dead letters last. */
function inTurn<S extends Pick<RunningSink, 'spec'>>(rule: { readonly sinks: readonly S[] }): S[][] {
  const isLast = ({ spec }: S) => spec.getsLetters === true;
  return [rule.sinks.filter((sink) => !isLast(sink)), rule.sinks.filter(isLast)];
}

/** Resolves when all output of the rule is out or can't be sent. */
export async function emptied(rule: RuleRun): Promise<void> {
  for (const sinks of inTurn(rule)) await Promise.all(sinks.map((sink) => sink.emptied()));
}

/** Closes sources and sinks. */
export async function endParts<S extends RunningSource>(rule: RunningRule, options: EndOptions<S>): Promise<End> {
  const { isGraceful, timeoutMs, unused, forget, drop } = options;
  const held = [...options.held];
  const giveBack = () => {
    for (const sink of rule.sinks) sink.giveBack();
    for (const source of held.splice(0)) source.sinkIsFull(false);
  };
  // Neighbours don't wait long for a sink that is slow or away.
  const patience = setTimeout(giveBack, neighboursWaitMs).unref();
  // Output that the sinks still send is acknowledged before the connection ends.
  const drained = isGraceful ? unused.filter(({ acknowledgements }) => acknowledgements !== undefined) : [];
  for (const source of drained) {
    forget(source);
    source.drain();
  }
  await Promise.all(unused.map((source) => (drained.includes(source) ? undefined : drop(source))));
  let reason: string | undefined;
  if (isGraceful) {
    // Messages that the sinks refuse meanwhile are dead letters.
    for (const sinks of inTurn(rule)) {
      const results = await Promise.allSettled(sinks.map((sink) => sink.flush(timeoutMs)));
      for (const result of results) if (result.status === 'rejected') reason = reasonOf(result.reason);
    }
  }
  await options.settled(isGraceful && reason === undefined && rule.sinks.every((sink) => sink.unsafeMessages <= 0));
  await Promise.all(drained.map(drop));
  const losses = await Promise.all(inTurn(rule).flatMap((sinks) => sinks.map((sink) => sink.close(timeoutMs))));
  clearTimeout(patience);
  // The next run of an updated rule reads on where this one stood: messages in between come after its start.
  setTimeout(giveBack, handOverMs).unref();
  return { reason, losses: losses.filter((loss) => loss !== undefined) };
}
