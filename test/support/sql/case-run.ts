/**
 * Runs cases through an engine with its thread: file sources and a file sink, many rules at once. Cases that move the
 * clock (`then`) take parser, planner and kernel alone, where time stands still between their steps.
 */
import '../../../host/plan/statement/pattern-ready.js';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ruleOptionSpec } from '../../../host/base/config/config-spec.js';
import { reasonOf } from '../../../host/base/errors.js';
import { parse } from '../../../host/base/fields/field.js';
import { silent } from '../../../host/base/log/log.js';
import { defineRule } from '../../../host/meta/definitions/rule-definition.js';
import type { Catalog, RuleDefinition } from '../../../host/model/engine.js';
import { createEngine } from '../../../host/run/engine.js';
import { sourceSpec } from '../../../host/run/props/resolve.js';
import { parseCreate } from '../../../host/sql/parser.js';
import { defineSource, type StreamDefinition } from '../../../host/sql/source-def.js';
import { eventually, temporaryFolder } from '../harness.js';
import { CaseError, type Query } from './case-file.js';

/**
 * What came out: for each place where something is expected the lines written since the one before. What is no JSON has
 * a word before it that says what it is.
 */
export type Outcome = readonly (readonly string[])[];

export interface CaseRunner {
  run(query: Query): Promise<Outcome>;
  close(): Promise<void>;
}

const atOnce = 40;
/** For rules that hang, not for busy machines. */
const patienceMs = 240_000;
const ruleDefaults = parse(ruleOptionSpec, {});
const confKey = 'rows';

export function openRunner(): CaseRunner {
  const folder = temporaryFolder();
  let known: ReadonlyMap<string, StreamDefinition> = new Map();
  const catalog: Catalog = {
    source: (name) => known.get(name),
    confKey: (_source, key) => (key === confKey ? { path: folder, fileType: 'lines' } : undefined),
    connection: () => undefined,
  };
  const engine = createEngine({ catalog, log: silent });
  let count = 0;
  let running = 0;

  async function inEngine(query: Query): Promise<Outcome> {
    const id = `case${++count}`;
    const path = join(folder, `${id}.out`);
    try {
      known = definitionsOf(query, id, folder);
      const rule = ruleOf(query, id, { path });
      checkOrder(query, engine.check(rule).sources, rule);
      // Nothing else gets between the definitions and the start.
      engine.define(rule);
      engine.start(id);
    } catch (error) {
      if (error instanceof CaseError) throw error;
      return [[`refused ${reasonOf(error)}`]];
    }
    const ended = () => {
      const now = engine.state(id);
      return now?.startsWith('stopped') ? now : undefined;
    };
    const state = await eventually(`the end of ${where(query)}`, ended, patienceMs);
    const written = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    const { dataTemplate, format = 'json' } = query.sink;
    const word = dataTemplate === undefined && format === 'json' ? 'error' : 'text';
    const lines = written.map((line) => withWord(word, line));
    if (state !== 'stopped') lines.push(`stopped ${(await engine.status(id)).message}`);
    await engine.remove(id);
    return [lines];
  }

  return {
    run: async (query) => {
      if (query.steps.length > 0 || query.schemas.size > 0) return inKernel(query);
      await eventually('the rules before', () => running < atOnce || undefined, patienceMs);
      running++;
      try {
        return await inEngine(query);
      } finally {
        running--;
      }
    },
    close: () => engine.close(2000),
  };
}

/** A line as it was written. Templates and formats make texts; what else is no JSON is an error. */
function withWord(word: string, line: string): string {
  return /^[[{]/.test(line) ? line : `${word} ${line}`.trimEnd();
}

async function inKernel(query: Query): Promise<Outcome> {
  const { openRule } = await import('../engine/rule-kernel.js');
  if (query.sink.dataTemplate !== undefined) throw new CaseError(`${where(query)} templates are not for steps (then)`);
  let rule: ReturnType<typeof openRule>;
  let definitions: Map<string, StreamDefinition>;
  const { framed, messagesOf } = await import('../formats/protobuf.js');
  try {
    definitions = definitionsOf(query, 'case', undefined);
    const catalog: Catalog = {
      source: (name) => definitions.get(name),
      confKey: () => ({ path: '.' }),
      connection: () => undefined,
      messages: messagesOf(query.schemas),
    };
    rule = openRule([...query.definitions.values()], query.sql, {
      options: ruleOf(query, 'case', { path: 'none' }).options,
      props: query.sink,
      declared: (name) => {
        const { schema, strict, messages } = sourceSpec(definitions.get(name)!, catalog);
        return { schema, strict, ...(messages && { messages, format: 'protobuf', framing: 'frames' }) };
      },
      messages: messagesOf(query.schemas),
    });
  } catch (error) {
    if (error instanceof CaseError) throw error;
    return [[`refused ${reasonOf(error)}`]];
  }
  let now = 0;
  const send = (name: string, payloads: readonly string[]) => rule.feed(name, bytesOf(name, payloads), now);
  const bytesOf = (name: string, payloads: readonly string[]): Buffer =>
    definitions.get(name)?.options.format === 'protobuf'
      ? Buffer.concat(payloads.map((payload) => framed(Buffer.from(payload.replaceAll(' ', ''), 'hex'))))
      : Buffer.from(payloads.map((payload) => `${payload}\n`).join(''));
  const outcome: string[][] = [];
  const words = () => rule.written().filter((line) => line !== '');
  const wordOf = (line: string) => (/^bytes( |$)/.test(line) ? line : withWord('error', line));
  const take = () => void outcome.push(words().map(wordOf));
  const inputs = [...query.rows].filter(([name]) => reads(query, name));
  for (const isTable of [true, false]) {
    for (const [name, payloads] of inputs) {
      if ((definitions.get(name)?.kind === 'table') === isTable) send(name, payloads);
    }
  }
  if (query.expected !== undefined) take();
  for (const { stream, at, payloads, expected } of query.steps) {
    if (at !== undefined) {
      if (at < now) throw new CaseError(`${where(query)} the clock goes back from ${now} to ${at}`);
      now = at;
      rule.kernel.tick(now);
    }
    if (stream !== undefined) send(stream, payloads);
    if (expected !== undefined) take();
  }
  rule.close();
  return outcome;
}

export const where = ({ file, line, title }: Query): string => `${file}:${line} "${title}"`;

const reads = ({ sql }: Query, name: string): boolean => new RegExp(`\\b${name}\\b`).test(sql);

/** Streams and tables; those without a type read a file with their rows. */
function definitionsOf(query: Query, id: string, folder: string | undefined): Map<string, StreamDefinition> {
  const definitions = new Map<string, StreamDefinition>();
  for (const [name, text] of query.definitions) {
    const statement = parseCreate(text);
    const { options } = statement;
    const payloads = query.rows.get(name);
    if (options.TYPE === undefined) {
      if (options.SHARED !== undefined && folder !== undefined) {
        throw new CaseError(`${where(query)} ${name} must not be shared: each case has rows of its own`);
      }
      const file = `${id}.${name}`;
      Object.assign(options, { TYPE: 'file', DATASOURCE: file, CONF_KEY: confKey });
      if (folder !== undefined) {
        writeFileSync(join(folder, file), (payloads ?? []).map((payload) => `${payload}\n`).join(''));
      }
    } else if (payloads !== undefined && folder !== undefined) {
      throw new CaseError(`${where(query)} ${name} has rows, so its TYPE is left to the runner`);
    }
    definitions.set(name, defineSource(statement));
  }
  return definitions;
}

function ruleOf(query: Query, id: string, file: Record<string, unknown>): RuleDefinition {
  const { sql, sink } = query;
  // Errors are part of what comes out.
  const options = { sendError: true, ...query.options };
  return defineRule({ id, sql, actions: [{ file: { ...sink, ...file } }], options }, ruleDefaults);
}

/** Files are read at the same time: only tables and times of rows bring order into several of them. */
function checkOrder({ definitions, rows, ...query }: Query, sources: string[], { options }: RuleDefinition): void {
  if (options.isEventTime) return;
  const streams = sources.filter((name) => rows.has(name) && !/^CREATE\s+TABLE/i.test(definitions.get(name) ?? ''));
  if (streams.length > 1) {
    throw new CaseError(
      `${query.file}:${query.line} rows of ${streams.join(' and ')} come in no order: give them with then, or ` +
        'event time',
    );
  }
}
