/**
 * The rules that a divided rule consists of, joined by topics in memory:
 *
 * - **feeders**, one for each part, read the stream, all in its data plane. They put rows in the order of their event
 *   time and pass on those of their part. Rows with which time reaches the end of a window go to all parts.
 * - **parts** do the work: window, groups, functions that look back. Nothing ties them, so they are spread.
 * - **output** has the sinks.
 *
 * Rows of one key pass in order. A part gets rows in the order of their time and none that is late, so its watermark
 * may follow the rows at once: its windows have the rows that they would have in one piece.
 */
import { ownTopic } from '../../connectors/topics/matches.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { Expr, Select } from '../../sql/ast.js';
import { parseExpression } from '../../sql/parser.js';
import { print, printExpr } from '../../sql/printer.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { isKept } from './kept.js';
import type { Shape } from './shape.js';

export interface Split {
  readonly feeders: readonly RuleDefinition[];
  readonly parts: readonly RuleDefinition[];
  readonly output: RuleDefinition;
}

/** Ids of users' rules have no spaces. */
const separator = ' ';

/** The id of the rule to which one of these belongs; undefined for a rule of a user. */
export function ownerOf(id: string): string | undefined {
  const end = id.indexOf(separator);
  return end < 0 ? undefined : id.slice(0, end);
}

/** How the rows of a rule are divided: state that was divided otherwise is of no use. */
export function divisionOf({ options }: RuleDefinition, { key }: Shape): string {
  return `hash_bucket(${printExpr({ ...key, qualifier: null })}, ${options.parallelism})`;
}

/**
 * @param fields columns that the rule reads; undefined for all
 * @param start number of the start: rows on their way from an earlier one reach nobody
 */
export function splitOf(
  rule: RuleDefinition,
  shape: Shape,
  fields: readonly string[] | undefined,
  start: number,
): Split {
  const { select, stream, key, stepMs } = shape;
  const count = rule.options.parallelism;
  const options = isKept(rule) ? rule.options : { ...rule.options, qos: 0, enableSaveStateBeforeStop: false };
  const topicOf = (...names: string[]) => ownTopic(rule.id, `${start}`, ...names);
  const of = (name: string, reads: string[], writes: string[], more: Own): RuleDefinition => ({
    id: `${rule.id}${separator}${name}`,
    name: rule.name,
    partOf: rule.id,
    triggered: false,
    temp: true,
    ...more,
    actions: more.actions ?? writes.map((topic) => ({ type: 'memory', props: { topic } })),
    options: { ...(more.options ?? options), parallelism: 1, logFilename: '', restartStrategy: noRestarts },
    ...(isKept(rule) && {
      common: { by: divisionOf(rule, shape), members: 2 * count + 1, reads, writes, from: { number: 0, refusals: [] } },
    }),
  });
  const numbers = Array.from({ length: count }, (_, i) => i);
  const outputOf = (i: number) => topicOf('output', `${i}`);
  const part = `hash_bucket(${printExpr(key)}, ${count})`;
  const isPart = (i: number) => parseExpression(`${part} = ${i}`);
  const isTick = stepMs === undefined ? null : parseExpression(`had_changed(true, floor(event_time() / ${stepMs}))`);
  const mine = (i: number) => and(select.where, isPart(i));
  // Functions that look back see the rows that WHERE leaves out.
  const sent = (i: number) =>
    select.window === null ? isPart(i) : isTick === null ? mine(i) : binary('OR', mine(i), isTick);
  const used = (i: number) => (select.window === null ? select.where : isTick === null ? null : mine(i));
  return {
    feeders: numbers.map((i) =>
      of(`feeder ${i}`, [], [topicOf(`${i}`)], { sql: print(feederOf(select, fields, sent(i))) }),
    ),
    parts: numbers.map((i) =>
      of(`part ${i}`, [topicOf(`${i}`)], [outputOf(i)], {
        sql: print({ ...select, where: used(i) }),
        streams: [fed(stream, topicOf(`${i}`))],
        options: { ...options, lateToleranceMs: 0 },
      }),
    ),
    output: of('output', numbers.map(outputOf), [], {
      sql: print({ ...bare(select), items: [star] }),
      actions: rule.actions,
      streams: [{ ...fed(stream, topicOf('output', '+')), fields: null }],
      options: { ...options, isEventTime: false },
    }),
  };
}

type Own = Pick<RuleDefinition, 'sql'> & Partial<Pick<RuleDefinition, 'actions' | 'streams' | 'options'>>;

const noRestarts = { attempts: 0, delayMs: 0, multiplier: 1, maxDelayMs: 0, jitterFactor: 0 };
const span = { start: 0, end: 0, line: 1, column: 1 };
const star = {
  expr: { kind: 'star', qualifier: null, except: [], replace: [], span } as Expr,
  alias: null,
  invisible: false,
};

/** A statement on the stream that has nothing else. */
function bare(select: Select): Select {
  return { ...select, items: [], where: null, groupBy: [], window: null, having: null };
}

function feederOf(select: Select, fields: readonly string[] | undefined, where: Expr): Select {
  const columns = (fields ?? []).map((name) => ({
    expr: { kind: 'column', qualifier: null, name, span } as Expr,
    alias: null,
    invisible: false,
  }));
  return { ...bare(select), items: fields === undefined ? [star] : columns, where };
}

/** The stream as it comes from another rule. */
function fed(stream: StreamDefinition, topic: string): StreamDefinition {
  const { name, kind, fields, options } = stream;
  const none = { confKey: null, schemaId: null, delimiter: null, extra: null, bufferFullPolicy: null };
  const source = { type: 'memory', datasource: topic, format: 'json', shared: false, strictValidation: false };
  return { name, kind, fields, options: { ...options, ...none, ...source } };
}

function binary(op: 'AND' | 'OR', left: Expr, right: Expr): Expr {
  return { kind: 'binary', op, left, right, span };
}

function and(left: Expr | null, right: Expr): Expr {
  return left === null ? right : binary('AND', left, right);
}
