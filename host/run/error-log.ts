/**
 * Writes failures of rows and messages to the log: the first of each operator in full, more of them counted by the minute,
 * so that a rule that fails at each row costs a few lines and its neighbours nothing.
 */
import { isSecretName, maskByName, maskText } from '../base/secrets.js';
import { rowFailuresOf } from './metrics.js';
import type { RuleRun } from './rule-run.js';
import type { SourceRun } from './source-run.js';
import type { RecentFailures } from './trouble.js';

/** Different texts of an operator that are written in full within a minute. */
const maxInFull = 3;
const minuteMs = 60_000;
/** Lines in full within a minute, of all operators together. */
const maxLines = 200;
/** Failures of the first moments are looked at together. */
const firstLookMs = 50;
const lookMs = 1000;
/** A look at thousands of rules is rarer, so that it takes at most a fiftieth of the time. */
const shareOfTime = 50;
/** Rules looked at in one turn of the event loop. */
const slice = 200;
/** As much of the input as a line shows, characters; and as is looked at for it, bytes. */
const maxExcerpt = 200;
const excerptBytes = 2048;

/** What was written about an operator. */
interface Told {
  /** Failures when it was last looked at. */
  count: number;
  inFull: Set<string>;
  /** Failures since the last line. */
  more: number;
  last: string;
  /** New failures at the looks of the last minute, oldest first; `at` in ms of performance.now(). */
  recent: { at: number; count: number }[];
}

export class ErrorLog {
  readonly #told = new Map<RuleRun, Map<string, Told>>();
  /** Input of sources at whose rows something failed since the last look. */
  readonly #inputs = new Map<SourceRun, string>();
  #timer: NodeJS.Timeout | undefined;
  #minute: NodeJS.Timeout | undefined;
  #nextLookAt = 0;
  #lines = 0;

  /** @param rules all that run */
  constructor(readonly rules: ReadonlySet<RuleRun>) {}

  /** To be called when something failed while the kernel worked on the input. */
  noteFailure(source: SourceRun | undefined, input: Uint8Array | undefined): void {
    if (source !== undefined && input !== undefined && !this.#inputs.has(source)) {
      this.#inputs.set(source, excerptOf(source, input));
    }
    const wait = Math.max(firstLookMs, this.#nextLookAt - performance.now());
    this.#timer ??= setTimeout(() => void this.#look(), wait).unref();
  }

  /** Writes what is left to say of a rule that ends; to be called while it is linked. */
  end(rule: RuleRun): void {
    this.#lookAt(rule);
    this.#sumUp(rule);
    this.#told.delete(rule);
  }

  /** Failures of a rule in the last minute, as far as they were looked at. */
  recent(rule: RuleRun): RecentFailures {
    let count = 0;
    let last = '';
    for (const told of this.#told.get(rule)?.values() ?? []) {
      const news = recentOf(told).reduce((sum, look) => sum + look.count, 0);
      count += news;
      if (news > 0) last = told.last;
    }
    return { count, last };
  }

  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#minute);
  }

  async #look(): Promise<void> {
    const began = performance.now();
    let count = 0;
    for (const rule of [...this.rules]) {
      if (!rule.isEnding) this.#lookAt(rule);
      if (++count % slice === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    this.#inputs.clear();
    this.#timer = undefined;
    const took = performance.now() - began;
    this.#nextLookAt = performance.now() + Math.max(lookMs, took * shareOfTime);
  }

  #lookAt(rule: RuleRun): void {
    for (const { operator, count, last } of rowFailuresOf(rule)) {
      let operators = this.#told.get(rule);
      if (operators === undefined) {
        operators = new Map();
        this.#told.set(rule, operators);
      }
      let told = operators.get(operator);
      if (told === undefined) {
        told = { count: 0, inFull: new Set(), more: 0, last: '', recent: [] };
        operators.set(operator, told);
      }
      if (count === told.count) continue;
      this.#tell(rule, operator, told, count - told.count, last);
      told.count = count;
    }
  }

  #tell(rule: RuleRun, operator: string, told: Told, news: number, text: string): void {
    told.last = text;
    told.recent = recentOf(told);
    told.recent.push({ at: performance.now(), count: news });
    told.more += news;
    this.#minute ??= setTimeout(() => this.#endMinute(), minuteMs).unref();
    if (told.inFull.has(text) || told.inFull.size >= maxInFull || this.#lines >= maxLines) return;
    this.#lines++;
    told.inFull.add(text);
    told.more--;
    const input = rule.sources.map((source) => this.#inputs.get(source)).find((excerpt) => excerpt !== undefined);
    const redact = rule.redact;
    rule.log.warn(redact(`${operator} failed: ${text}`), input === undefined ? undefined : { input: redact(input) });
  }

  #endMinute(): void {
    this.#minute = undefined;
    this.#lines = 0;
    for (const rule of [...this.#told.keys()]) this.#sumUp(rule);
  }

  /** Writes how many failures were not written; an operator without any is told of in full again. */
  #sumUp(rule: RuleRun): void {
    for (const [operator, told] of this.#told.get(rule) ?? []) {
      if (told.more === 0) {
        told.inFull.clear();
        continue;
      }
      const count = told.more.toLocaleString('en');
      told.more = 0;
      rule.log.warn(rule.redact(`${operator} failed: … ${count} more of the same, the last one: ${told.last}`));
      this.#minute ??= setTimeout(() => this.#endMinute(), minuteMs).unref();
    }
  }
}

function recentOf({ recent }: Told): Told['recent'] {
  const since = performance.now() - minuteMs;
  return recent.filter(({ at }) => at >= since);
}

/** The begin of the messages in a piece of input, with what looks like a secret masked. */
function excerptOf(source: SourceRun, input: Uint8Array): string {
  const messages = source.shown(input.subarray(0, excerptBytes));
  if (messages === undefined) return '';
  const text = Buffer.from(messages).toString();
  const [first = ''] = text.split('\n', 1);
  let masked: string;
  try {
    masked = JSON.stringify(maskByName(JSON.parse(first)));
  } catch {
    masked = maskMembers(text);
  }
  return masked.length > maxExcerpt ? `${masked.slice(0, maxExcerpt)}…` : masked;
}

/** Masks members of secret names in what is no whole JSON text. */
function maskMembers(text: string): string {
  return text.replace(/"([^"\\]{1,100})"\s*:\s*("(?:[^"\\]|\\.)*"?|[^,}\]\s]+)/g, (all, name: string) =>
    isSecretName(name) ? `"${name}":"${maskText}"` : all,
  );
}
