/**
 * A sink that takes nothing holds up the sources of its rule, and with them all rules that read them. Here stands who
 * holds what, for status and log: after a moment, since sinks that are busy hold their sources for milliseconds all the
 * time.
 */
import type { RunningRule, RunningSink, RunningSource } from '../running/running.js';

/** Holds of less are not worth a word, ms. */
const noticeMs = 1000;
/** A source that flows for so long is free again, ms. */
const calmMs = 3000;
const lookMs = 1000;
/** A rule that is not to hold others ends when it has for so long, ms. */
const longestMs = 3000;
const maxNames = 5;
/** Number of rules on a source below which a look costs nothing. */
const manyRules = 100;

/** A rule that holds a source. */
interface Hold {
  readonly rule: RunningRule;
  /** Epoch ms. */
  readonly since: number;
  /** Fault of the sink or of the checkpoints. */
  readonly reason: string;
}

/** Who held a source, as it was found last: each of thousands of rules on it may be asked the same. */
const found = new WeakMap<RunningSource, { readonly at: number; readonly blocks: Hold[] }>();
/** So long that is not looked for again, ms. */
const foundMs = 100;

/** Lists the rules that hold a source, the first of them first. */
function holdsOf(source: RunningSource, now: number): Hold[] {
  if (!isHeld(source, now)) return [];
  const known = found.get(source);
  if (known !== undefined && source.users.size >= manyRules && Math.abs(now - known.at) < foundMs) return known.blocks;
  const blocks = findHolds(source, now);
  found.set(source, { at: now, blocks });
  return blocks;
}

function findHolds(source: RunningSource, now: number): Hold[] {
  const blocks: Hold[] = [];
  for (const rule of source.users) {
    let hold: Hold | undefined;
    const branch = rule.lag?.branchOf(source);
    for (const sink of rule.sinks) {
      // A rule with a branch holds up the branch, not the source.
      const fullSince = sink.isFull && branch === undefined ? sink.fullSince : Number.POSITIVE_INFINITY;
      const { acknowledgements } = source;
      const markSince = acknowledgements === undefined ? fullSince : sink.blocksSince(acknowledgements);
      // While the kernel is at work for others nobody asks a sink that could take more.
      const freeSince = sink.connection.status === 1 ? rule.host.busyUntil : 0;
      const since = Math.max(Math.min(fullSince, markSince), freeSince);
      if (now - since >= noticeMs && since < (hold?.since ?? now)) hold = { rule, since, reason: sink.trouble };
    }
    const ofCheckpoints = checkpointHold(rule, source);
    if (now - ofCheckpoints >= noticeMs && ofCheckpoints < (hold?.since ?? now)) {
      hold = { rule, since: ofCheckpoints, reason: rule.checkpoints?.failure ?? '' };
    }
    const branchSince = branch?.blocksSince ?? Number.POSITIVE_INFINITY;
    if (now - branchSince >= noticeMs && branchSince < (hold?.since ?? now)) {
      hold = {
        rule,
        since: branchSince,
        reason: 'it takes more than its share of the processor, and input waits for it',
      };
    }
    if (hold !== undefined) blocks.push(hold);
  }
  return blocks.sort((a, b) => a.since - b.since);
}

/** Since when messages of the source wait for a checkpoint that can't be written, epoch ms; Infinity when none do. */
function checkpointHold({ checkpoints }: RunningRule, { acknowledgements }: RunningSource): number {
  const oldest = acknowledgements?.oldest;
  if (checkpoints === undefined || oldest === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(checkpoints.failedSince, oldest.since);
}

/**
 * Says, at little cost, whether a source stands still for a sink: it is paused, or its sender waits for
 * acknowledgements.
 */
function isHeld(source: RunningSource, now: number): boolean {
  if (source.isFull) return now - source.fullSince >= noticeMs;
  const oldest = source.acknowledgements?.oldest;
  return oldest !== undefined && now - oldest.since >= noticeMs && now - source.lastInputAt >= noticeMs;
}

/** Says which sources the rule holds, which rules hold its own, and what its end waits for; empty when all flow. */
export function blockMessage(rule: RunningRule): string {
  const now = Date.now();
  const held = new Map<string, string[]>();
  const texts: string[] = rule.lag !== undefined && rule.lag.text !== '' ? [rule.lag.text] : [];
  for (const source of new Set(rule.sources)) {
    if (source.starvedBy !== '') texts.push(`held: the kernel's memory is used up by ${source.starvedBy}`);
    const blocks = holdsOf(source, now);
    const own = blocks.find((hold) => hold.rule === rule);
    if (own !== undefined) held.set(own.reason, [...(held.get(own.reason) ?? []), source.name]);
    else if (blocks[0] !== undefined) texts.push(`held by ${holderText(blocks)}`);
  }
  for (const [reason, names] of held) {
    texts.unshift(`holds source${names.length > 1 ? 's' : ''} ${names.join(', ')}: ${reason}`);
  }
  if (rule.finishingSince > 0 && now - rule.finishingSince >= noticeMs) texts.push(...rule.sinks.flatMap(endOf));
  return texts.join('; ');
}

function endOf({ label, waitingMessages }: RunningSink): string[] {
  if (waitingMessages <= 0) return [];
  const messages = `${waitingMessages.toLocaleString('en')} message${waitingMessages === 1 ? '' : 's'}`;
  return [`its input is at its end, ${messages} wait for ${label}`];
}

/** Time for which a source has been held up, ms; 0 when it flows. */
export function heldMs(source: RunningSource): number {
  const now = Date.now();
  const [first] = holdsOf(source, now);
  return first === undefined ? 0 : now - first.since;
}

function holderText(blocks: readonly Hold[]): string {
  const [first, ...others] = blocks;
  const more = others.length > 0 ? ` (and by ${namesOf(others.map(({ rule }) => rule.id))})` : '';
  return `rule ${first?.rule.id}: ${first?.reason}${more}`;
}

function namesOf(ids: readonly string[]): string {
  const shown = ids.slice(0, maxNames).join(', ');
  const rest = ids.length - maxNames;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

/** Logs when a source begins to be held and when it flows again. Looks only while something waits. */
export class BlockWatch {
  #timer: NodeJS.Timeout | undefined;
  readonly #held = new Map<RunningSource, { rules: string; since: number; seenAt: number }>();

  constructor(private readonly sources: () => Iterable<RunningSource>) {}

  /** To be called when something begins to wait. */
  arm(): void {
    this.#timer ??= setTimeout(() => this.#look(), lookMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    this.#timer = undefined;
    const now = Date.now();
    let isWaiting = false;
    for (const source of this.sources()) {
      if (!source.isFull && source.acknowledgements?.oldest === undefined) continue;
      isWaiting = true;
      const blocks = holdsOf(source, now);
      if (blocks[0] !== undefined) this.#note(source, blocks, now);
      for (const { rule, since, reason } of blocks) {
        if (!rule.stopsWhenFull || now - since < longestMs) continue;
        rule.host.failed(rule, `${reason}: it holds source ${source.name}, and bufferFullPolicy is stop`);
      }
    }
    for (const [source, { rules, since, seenAt }] of this.#held) {
      if (source.users.size > 0 && now - seenAt < calmMs) continue;
      this.#held.delete(source);
      if (source.users.size === 0) continue;
      const seconds = Math.round((seenAt - since) / 1000);
      source.log.info(`stream ${source.name} is no longer held by ${rules}, after ${seconds} s`);
    }
    if (isWaiting || this.#held.size > 0) this.arm();
  }

  #note(source: RunningSource, blocks: readonly Hold[], now: number): void {
    const known = this.#held.get(source);
    const ids = blocks.map(({ rule }) => rule.id);
    const rules = `rule${ids.length > 1 ? 's' : ''} ${namesOf(ids)}`;
    if (known === undefined) {
      const others = [...source.users].filter((rule) => blocks.every((hold) => hold.rule !== rule)).map(({ id }) => id);
      const rest = others.length > 0 ? `; with it ${namesOf(others)}` : '';
      source.log.warn(`stream ${source.name} is held by ${holderText(blocks)}${rest}`);
    }
    this.#held.set(source, { rules, since: known?.since ?? blocks[0]?.since ?? now, seenAt: now });
  }
}

/** Sources that the full sinks of a rule block, beside those that only it uses. */
export function blockedBy<S extends RunningSource>(
  { sources, sinks }: { readonly sources: readonly S[]; readonly sinks: readonly RunningSink[] },
  unused: readonly S[],
): S[] {
  return sinks.some((sink) => sink.isFull) ? [...new Set(sources)].filter((source) => !unused.includes(source)) : [];
}
