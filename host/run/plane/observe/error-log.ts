/**
 * Writes failures of rows and messages to the log: the first of each operator in full, more of them counted by the
 * minute, so that a rule that fails at each row costs a few lines and its neighbours nothing.
 */
import { isSecretName, maskByName, maskText } from '../../../base/fields/secret-fields.js';
import type { InputAtWork, RunningRule, RunningSource } from '../running/running.js';
import { rowFailuresOf } from './metrics.js';

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
/** Most characters of the input that a line shows, and most bytes of an input that is looked at. */
const maxExcerpt = 200;
const maxLookedAt = 64 * 1024;

/**
 * Inputs of a source that are looked at between two looks at its rules: a rule that fails at each row must cost little.
 */
const maxInputs = 8;

/** Facts on the input of a source at whose rows something failed. */
interface FailedInput {
  readonly inputs: number;
  /** The message, when there was only one. */
  readonly only?: string;
  /** Number of messages that are no JSON, NaN when not all were looked at; and the last of them. */
  readonly broken: number;
  readonly lastBroken?: string;
}

const nothingKnown: FailedInput = { inputs: 1, broken: Number.NaN };

/** Failures of rows and messages in the last minute. */
export interface RecentFailures {
  readonly count: number;
  readonly last: string;
}

/** Log lines that an operator has had. */
interface Logged {
  readonly operator: string;
  /** The rows are late: they are logged, and no failure. */
  readonly isLate: boolean;
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
  readonly #logged = new Map<RunningRule, Map<string, Logged>>();
  /** Inputs of sources at whose rows something failed since the last look. */
  readonly #inputs = new Map<RunningSource, FailedInput>();
  /** Something failed since the last look that was not about input. */
  #hasOthers = false;
  #timer: NodeJS.Timeout | undefined;
  #minute: NodeJS.Timeout | undefined;
  #nextLookAt = 0;
  #lines = 0;

  /** @param rules all that run */
  constructor(readonly rules: ReadonlySet<RunningRule>) {}

  /** To be called when something failed while the kernel worked on the input, or on none. */
  noteFailure(input: InputAtWork | undefined): void {
    const { source, bytes } = input ?? {};
    if (source === undefined || bytes === undefined) this.#hasOthers = true;
    else this.#inputs.set(source, alsoFailed(this.#inputs.get(source), source, bytes));
    this.noteLoss();
  }

  /** To be called when a sink lost messages. */
  noteLoss(): void {
    const wait = Math.max(firstLookMs, this.#nextLookAt - performance.now());
    this.#timer ??= setTimeout(() => void this.#look(), wait).unref();
  }

  /** Writes what is left to say of a rule that ends; to be called while it is linked. */
  end(rule: RunningRule): void {
    this.#lookAt(rule);
    this.#sumUp(rule);
    this.#logged.delete(rule);
  }

  /** Failures of a rule in the last minute, as far as they were looked at. */
  recent(rule: RunningRule): RecentFailures {
    let count = 0;
    let last = '';
    for (const logged of this.#logged.get(rule)?.values() ?? []) {
      if (logged.isLate) continue;
      const news = recentOf(logged).reduce((sum, look) => sum + look.count, 0);
      count += news;
      if (news > 0) last = logged.last;
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
    this.#hasOthers = false;
    this.#timer = undefined;
    const took = performance.now() - began;
    this.#nextLookAt = performance.now() + Math.max(lookMs, took * shareOfTime);
  }

  #lookAt(rule: RunningRule): void {
    for (const { operator, isLate, count, last, source } of rowFailuresOf(rule)) {
      const key = isLate ? `${operator} late` : operator;
      let operators = this.#logged.get(rule);
      if (operators === undefined) {
        operators = new Map();
        this.#logged.set(rule, operators);
      }
      let logged = operators.get(key);
      if (logged === undefined) {
        logged = { operator, isLate, count: 0, inFull: new Set(), more: 0, last: '', recent: [] };
        operators.set(key, logged);
      }
      if (count === logged.count) continue;
      const news = count - logged.count;
      noteNews(logged, news, last);
      // A payload that rules share is a line of one of them.
      const isLoggedByOther = source?.spec.isShared === true && [...source.users][0] !== rule;
      logged.count = count;
      if (isLoggedByOther) continue;
      logged.more += news;
      for (const text of source?.takeUntold() ?? []) if (text !== last) this.#tell(rule, logged, text, undefined);
      this.#tell(rule, logged, last, this.#inputOf(rule, source, news, last));
    }
  }

  /** The message that made the last of `news` failures; undefined when it might be another one. */
  #inputOf(rule: RunningRule, source: RunningSource | undefined, news: number, text: string): string | undefined {
    if (source !== undefined) {
      const { only, broken, lastBroken } = this.#inputs.get(source) ?? nothingKnown;
      return only ?? (broken === news && text.startsWith(noJson) ? lastBroken : undefined);
    }
    const inputs = rule.sources.flatMap((one) => this.#inputs.get(one) ?? []);
    return inputs.length === 1 && !this.#hasOthers ? inputs[0]?.only : undefined;
  }

  #tell(rule: RunningRule, logged: Logged, text: string, input: string | undefined): void {
    this.#minute ??= setTimeout(() => this.#endMinute(), minuteMs).unref();
    if (logged.inFull.has(text) || logged.inFull.size >= maxInFull || this.#lines >= maxLines) return;
    this.#lines++;
    logged.inFull.add(text);
    logged.more--;
    const redact = rule.redact;
    rule.log.warn(redact(`${subjectOf(logged)}: ${text}`), input === undefined ? undefined : { input: redact(input) });
  }

  #endMinute(): void {
    this.#minute = undefined;
    this.#lines = 0;
    for (const rule of [...this.#logged.keys()]) this.#sumUp(rule);
  }

  /** Writes how many failures were not written; an operator without any is logged in full again. */
  #sumUp(rule: RunningRule): void {
    for (const logged of this.#logged.get(rule)?.values() ?? []) {
      if (logged.more === 0) {
        logged.inFull.clear();
        continue;
      }
      const count = logged.more.toLocaleString('en');
      logged.more = 0;
      rule.log.warn(rule.redact(`${subjectOf(logged)}: … ${count} more of the same, the last one: ${logged.last}`));
      this.#minute ??= setTimeout(() => this.#endMinute(), minuteMs).unref();
    }
  }
}

function subjectOf({ operator, isLate }: Logged): string {
  return isLate ? operator : `${operator} failed`;
}

function noteNews(logged: Logged, count: number, last: string): void {
  logged.last = last;
  logged.recent = recentOf(logged);
  logged.recent.push({ at: performance.now(), count });
}

function recentOf({ recent }: Logged): Logged['recent'] {
  const since = performance.now() - minuteMs;
  return recent.filter(({ at }) => at >= since);
}

/** Adds another input to what is known. */
function alsoFailed(known: FailedInput | undefined, source: RunningSource, input: Uint8Array): FailedInput {
  if (known === undefined) return failedInput(source, input);
  const inputs = known.inputs + 1;
  if (inputs > maxInputs) return { inputs, broken: Number.NaN };
  const { broken, lastBroken = known.lastBroken } = failedInput(source, input);
  return { inputs, broken: known.broken + broken, ...(lastBroken === undefined ? {} : { lastBroken }) };
}

/** Begin of the kernel's reason for a message that is no JSON. */
const noJson = 'invalid JSON';

/**
 * Looks at the input of a failure. The kernel says how many failed and why, but not which: that costs every row. So it
 * is told of one message alone, and of the messages that are no JSON, which everybody finds.
 */
function failedInput(source: RunningSource, input: Uint8Array): FailedInput {
  const messages = input.length > maxLookedAt ? undefined : source.messagesIn(input);
  if (messages === undefined) return nothingKnown;
  const texts = messages.map((message) => Buffer.from(message).toString());
  const broken = texts.filter((text) => !isJson(text));
  const [only] = texts.length === 1 ? texts : [];
  const lastBroken = broken.at(-1);
  return {
    inputs: 1,
    broken: broken.length,
    ...(only === undefined ? {} : { only: excerptOf(only) }),
    ...(lastBroken === undefined ? {} : { lastBroken: excerptOf(lastBroken) }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The begin of a message, with what looks like a secret masked. */
function excerptOf(text: string): string {
  let masked: string;
  try {
    masked = JSON.stringify(maskByName(JSON.parse(text)));
  } catch {
    masked = maskMembers(text);
  }
  return masked.length > maxExcerpt ? `${masked.slice(0, maxExcerpt)}…` : masked;
}

/** Masks members of secret names in what is no whole JSON text. */
export function maskMembers(text: string): string {
  return text.replace(/"([^"\\]{1,100})"\s*:\s*("(?:[^"\\]|\\.)*"?|[^,}\]\s]+)/g, (all, name: string) =>
    isSecretName(name) ? `"${name}":"${maskText}"` : all,
  );
}
