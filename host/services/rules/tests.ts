/** Test rules: run on given rows or live streams, shown as server-sent events, never stored, gone after ten minutes. */
import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { field, parse } from '../../base/fields/field.js';
import type { Logger } from '../../base/log/log.js';
import { Serial } from '../../base/structures/serial.js';
import type { Clock, Timer } from '../../base/time/clock.js';
import { type TestCredit, type TestResults, testResultsSink } from '../../connectors/test-results.js';
import { defineRule, type RuleDefaults, readRuleJson } from '../../meta/definitions/rule-definition.js';
import { checkId } from '../../meta/ids.js';
import type { Engine, Preparing, RuleDefinition, RuleStatus } from '../../model/engine.js';
import { textOf } from '../body/fields.js';
import { ruleErrors } from '../errors/rules.js';
import { engineId, testIdOf } from './test-names.js';

/** A test rule ends by itself after this time. */
const lifetimeMs = 10 * 60_000;
/** When listeners are first told whether the sources are connected, and how often after that. */
const firstLookMs = 300;
const lookMs = 1000;
/** Note to listeners at the end of the input; clients end on it. */
const inputEnded = 'the stream has ended: all of its input was read';
/** Most test rules at once. */
const maxTests = 100;

const mockSpec = {
  data: field.list(field.object()).required().doc('Rows to inject'),
  interval: field.duration().min(0).default(1000).doc('Pause between two rows'),
  loop: field.bool().default(true).doc('Start again after the last row'),
};

/**
 * Options without meaning for a test, which runs when it is started, keeps nothing and has no log of its own.
 */
const ofNoTest = {
  qos: 0,
  enableSaveStateBeforeStop: false,
  cron: '',
  durationMs: 0,
  cronDatetimeRange: [],
  logFilename: '',
  enableRuleTracer: false,
} as const satisfies Partial<RuleDefinition['options']>;

interface Test {
  /** Name of the rule in the engine. */
  readonly rule: string;
  readonly events: EventFeed;
  readonly channel: BroadcastChannel;
  expiry: Timer | undefined;
  /** Timer of the next status check. */
  watch: Timer | undefined;
  /** Last note to the listeners of the test. */
  trouble: string;
  /** Rows that a run reads; undefined when it is endless. */
  readonly rows: number | undefined;
}

/** The listeners of one test. */
export interface EventFeed {
  /** Sends events; resolves when all listeners can take more. */
  send(payloads: readonly string[]): Promise<void>;
  /** Sends a note, which is no event, to present and later listeners. */
  note(text: string): void;
  /** Disconnects all listeners and refuses new ones. */
  close(): void;
}

/** The server that listeners of tests connect to. */
export interface Audience {
  readonly port: number;
  /** Opens the event stream of a test. */
  open(id: string): Promise<EventFeed>;
}

export interface RuleTestOptions {
  readonly engine: Engine;
  readonly defaults: RuleDefaults;
  readonly audience: Audience;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RuleTestService {
  readonly #options: RuleTestOptions;
  readonly #tests = new Map<string, Test>();
  /** Serialises the changes of one test. */
  readonly #serial = new Serial();

  constructor(options: RuleTestOptions) {
    this.#options = options;
  }

  /**
   * Makes a test rule and opens its event stream; one of the same id is removed. Returns the port of the stream.
   */
  async create(body: Record<string, unknown>, how?: Preparing): Promise<{ id: string; port: number }> {
    const { id, rule } = this.#read(body);
    await this.#serial.run(id, () => this.#open(id, rule, how));
    return { id, port: this.#options.audience.port };
  }

  /**
   * Starts a test rule, or starts it again when it has read all rows that were given; listeners stay. One that still
   * has rows to read goes on as it is.
   */
  start(id: string): Promise<string> {
    return this.#serial.run(id, async () => {
      const test = this.#tests.get(id);
      if (test === undefined) throw ruleErrors.testMissing(id);
      const { engine } = this.#options;
      const { rows, rule } = test;
      // The last row is followed by a pause, and the end by a flush: the client has seen all results before.
      const isRunning = engine.state(rule) === 'running';
      const isThrough =
        isRunning &&
        rows !== undefined &&
        Number((await engine.status(rule)).metrics.sourceRecordsInTotal ?? 0) >= rows;
      if (isThrough) await engine.restart(rule);
      else engine.start(rule);
      this.#watch(test, firstLookMs);
      return `Test rule ${id} was started`;
    });
  }

  /** Tells listeners why nothing comes: which source is not connected, and when it is. */
  #watch(test: Test, delayMs: number): void {
    const { engine, clock } = this.#options;
    test.watch?.close();
    test.watch = clock.after(delayMs, async () => {
      if (engine.state(test.rule) === undefined) return;
      const { status, message, metrics, troubles } = await engine.status(test.rule);
      const late = lateRows(metrics);
      const ofLate = late === 0 ? [] : [`${late === 1 ? '1 row' : `${late} rows`} came too late (lateTolerance)`];
      const connections = troubles.filter((text) => text.startsWith('source '));
      const isThrough = status === 'stopped';
      const trouble =
        status === 'stopped by error'
          ? `the query has ended: ${message}`
          : [...(isThrough ? [inputEnded] : connections), ...ofLate].join('; ');
      if (trouble !== test.trouble) test.events.note(trouble === '' ? 'all sources are connected' : trouble);
      test.trouble = trouble;
      const isOver = status.startsWith('stopped') || this.#tests.get(testIdOf(test.rule)) !== test;
      if (!isOver) this.#watch(test, lookMs);
    });
  }

  /** Ends a test rule and its event stream; an unknown one is gone already. */
  remove(id: string): Promise<string> {
    return this.#serial.run(id, async () => {
      await this.#close(id);
      return `Test rule ${id} was stopped.`;
    });
  }

  async close(): Promise<void> {
    for (const id of [...this.#tests.keys()]) await this.remove(id);
  }

  #read(body: Record<string, unknown>): { id: string; rule: RuleDefinition } {
    const { sql, mockSource, sinkProps, options } = body;
    const id = textOf(body, 'id');
    if (id === '') throw ruleErrors.testId();
    checkId(id);
    const props = readObject('sinkProps', sinkProps);
    const mocks: NonNullable<RuleDefinition['test']>['mocks'] = {};
    for (const [stream, mock] of Object.entries(readObject('mockSource', mockSource))) {
      const where = `mockSource.${stream}`;
      mocks[stream] = parse(mockSpec, readObject(where, mock), { where, isExact: true });
    }
    const channel = `ruletest-${randomUUID()}`;
    const json = readRuleJson({ id, sql, actions: [{ [testResultsSink]: { ...props, channel } }] });
    const given = { ...readObject('options', options), sendError: true };
    const rule = defineRule({ ...json, options: given }, this.#options.defaults);
    return {
      id,
      rule: { ...rule, id: engineId(id), options: { ...rule.options, ...ofNoTest }, test: { mocks } },
    };
  }

  async #open(id: string, rule: RuleDefinition, how?: Preparing): Promise<void> {
    const { engine, audience, clock, log } = this.#options;
    if (this.#tests.size >= maxTests && !this.#tests.has(id)) {
      throw ruleErrors.tooManyTests(maxTests);
    }
    await engine.prepare?.(rule, how);
    const { sources } = engine.check(rule);
    await this.#close(id);
    const events = await audience.open(id);
    const channel = listen(String(rule.actions[0]?.props.channel), events);
    const given = Object.values(rule.test?.mocks ?? {});
    const isBounded = given.every(({ loop }) => !loop) && sources.every((name) => rule.test?.mocks[name] !== undefined);
    const rows = isBounded ? given.reduce((sum, { data }) => sum + data.length, 0) : undefined;
    const test: Test = { rule: rule.id, events, channel, expiry: undefined, watch: undefined, trouble: '', rows };
    this.#tests.set(id, test);
    try {
      engine.define(rule);
    } catch (error) {
      await this.#close(id);
      throw error;
    }
    test.expiry = clock.after(lifetimeMs, () => {
      log.info(`test rule ${id} ends after ${lifetimeMs / 60_000} minutes`);
      void this.#serial.run(id, async () => {
        if (this.#tests.get(id) === test) await this.#close(id);
      });
    });
  }

  async #close(id: string): Promise<void> {
    const test = this.#tests.get(id);
    if (test === undefined) return;
    this.#tests.delete(id);
    const { engine, log } = this.#options;
    test.expiry?.close();
    test.watch?.close();
    // Listeners are disconnected first: one that does not read must not delay the end of the rule.
    test.events.close();
    try {
      if (engine.state(test.rule) !== undefined) await engine.remove(test.rule);
    } catch (error) {
      log.warn(`test rule ${id} did not stop cleanly: ${reasonOf(error)}`);
    }
    test.channel.close();
  }
}

/** Rows that the operators have dropped since their time had passed. */
function lateRows(metrics: RuleStatus['metrics']): number {
  const counts = Object.entries(metrics).filter(([name]) => name.endsWith('_records_late_total'));
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Passes results on to the listeners and gives their credit back. */
function listen(name: string, events: EventFeed): BroadcastChannel {
  const channel = new BroadcastChannel(name);
  channel.unref();
  channel.onmessage = (event: unknown) => {
    const message = (event as { data: TestResults | TestCredit }).data;
    if (message.kind !== 'results') return;
    void events.send(message.texts).then(() => {
      const credit: TestCredit = { kind: 'credit', messages: message.texts.length, bytes: message.bytes };
      try {
        channel.postMessage(credit);
      } catch {
        // The test is over and its channel closed: nobody waits for the credit.
      }
    });
  };
  return channel;
}

function readObject(name: string, value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw ruleErrors.testMember(name);
  }
  return value as Record<string, unknown>;
}
