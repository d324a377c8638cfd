/**
 * The rules that a divided rule consists of, joined by topics in memory:
 *
 * - **feeders**, one for each part and stream, read the streams, all in their data plane. They put rows in the order of
 *   their event time and pass on those of their part. Rows with which time reaches the end of a window go to all parts.
 * - **parts** do the work: window, groups, functions that look back. Nothing ties them, so they are spread.
 * - **output** has the sinks.
 *
 * Rows of one key pass in order. A part gets rows in the order of their time and none that is late, so its watermark
 * may follow the rows at once: its windows have the rows that they would have in one piece.
 *
 * Of joined streams a part gets each on a topic of its own. Where rows are joined as time passes, all parts hear of the
 * time of the last row of each batch.
 */
import { ownTopic } from '../../connectors/topics/matches.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { Expr, Select, TableRef } from '../../sql/ast.js';
import { parseExpression } from '../../sql/parser.js';
import { print, printExpr } from '../../sql/printer.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { transform } from '../../sql/visit.js';
import { isKept } from './kept.js';
import type { Keyed, Shape } from './shape.js';

export interface Split {
  readonly feeders: readonly RuleDefinition[];
  /** Some of the feeders, which together read each stream once. */
  readonly readers: readonly RuleDefinition[];
  /** Names of the streams. */
  readonly streams: readonly string[];
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
export function divisionOf({ options }: RuleDefinition, { inputs }: Shape): string {
  const isJoined = inputs.length > 1;
  const buckets = inputs.map(({ stream, key }) =>
    bucketOf({ ...key, qualifier: isJoined ? stream.name : null }, options.parallelism),
  );
  return buckets.join(' and ');
}

function bucketOf(key: Expr, count: number): string {
  return `hash_bucket(${printExpr(key)}, ${count})`;
}

/** Columns that a rule reads of a stream; undefined for all. */
export type Fields = readonly string[] | undefined;

/** The statements of a part and of what feeds it. */
interface PartPlan {
  /** One for each stream of the rule. */
  readonly feeders: readonly Own[];
  /** Streams as they come from the feeders, by their topics. */
  readonly streams: readonly ((topic: string) => StreamDefinition)[];
  readonly part: Select;
}

/**
 * @param fields columns that the rule reads of each stream
 * @param start number of the start: rows on their way from an earlier one reach nobody
 */
export function splitOf(rule: RuleDefinition, shape: Shape, fields: readonly Fields[], start: number): Split {
  const { select, inputs } = shape;
  const count = rule.options.parallelism;
  const options = isKept(rule) ? rule.options : { ...rule.options, qos: 0, enableSaveStateBeforeStop: false };
  const topicOf = (...names: string[]) => ownTopic(rule.id, `${start}`, ...names);
  const numbers = Array.from({ length: count }, (_, i) => i);
  const plans = numbers.map((i) => planOf(shape, fields, i, count));
  const ofPart = plans[0]!.feeders.length;
  const members = (ofPart + 1) * count + 1;
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
      common: { by: divisionOf(rule, shape), members, reads, writes, from: { number: 0, refusals: [] } },
    }),
  });
  const outputOf = (i: number) => topicOf('output', `${i}`);
  const namesOf = (i: number) => (ofPart === 1 ? [[`${i}`]] : plans[i]!.feeders.map((_own, j) => [`${i}`, `${j}`]));
  // Parts get the rows as they are: what a row has not is null in the result alone.
  const asIs = { ...options, sendNilField: false };
  const feeders = plans.map((plan, i) =>
    plan.feeders.map((own, j) =>
      of(['feeder', ...namesOf(i)[j]!].join(' '), [], [topicOf(...namesOf(i)[j]!)], { ...own, options: asIs }),
    ),
  );
  const parts = plans.map((plan, i) => {
    const topics = namesOf(i).map((names) => topicOf(...names));
    return of(`part ${i}`, topics, [outputOf(i)], {
      sql: print(plan.part),
      streams: plan.streams.map((stream, j) => stream(topics[j]!)),
      options: { ...options, lateToleranceMs: 0 },
    });
  });
  const [first] = inputs;
  return {
    feeders: feeders.flat(),
    readers: feeders[0]!.slice(0, isOrdered(shape) ? 1 : ofPart),
    streams: [...new Set(inputs.map(({ stream }) => stream.name))],
    parts,
    output: of('output', numbers.map(outputOf), [], {
      sql: print({ ...bare(select), items: [star(null)] }),
      actions: rule.actions,
      streams: [{ ...fed(first.stream, topicOf('output', '+')), fields: null }],
      options: { ...options, isEventTime: false },
    }),
  };
}

/** Feeders put rows in the order of their event time: windows end by it, or rows are joined as it passes. */
function isOrdered({ stepMs, isTimed }: Shape): boolean {
  return stepMs !== undefined || isTimed;
}

/** @param fields columns that the rule reads of each stream */
function planOf(shape: Shape, fields: readonly Fields[], i: number, count: number): PartPlan {
  if (shape.inputs.length === 1) return singlePlan(shape, fields[0], i, count);
  return isOrdered(shape) ? orderedPlan(shape, fields, i, count) : joinedPlan(shape, fields, i, count);
}

function singlePlan({ select, inputs: [input], stepMs }: Shape, fields: Fields, i: number, count: number): PartPlan {
  const isPart = parseExpression(`${bucketOf(input.key, count)} = ${i}`);
  const isTick = stepMs === undefined ? null : tickOf(stepMs);
  // All feeders see what WHERE can't take, and one of them counts for the rule.
  const mine = and(select.where, isPart);
  // Functions that look back see the rows that WHERE leaves out, and WHERE may be about columns of tables.
  const isLater = select.window === null || select.joins.length > 0;
  const own = isLater ? isPart : mine;
  // The time of a row counts also where WHERE fails; of the parts, only that of its key is to tell the failure.
  const sent = isTick === null ? own : binary('OR', isTick, own);
  const used = isTick !== null ? and(isPart, select.where) : isLater ? select.where : null;
  return {
    feeders: [{ sql: print({ ...bare(select), items: columnsOf(fields, null), where: sent }) }],
    streams: [(topic) => fed(input.stream, topic)],
    part: { ...select, where: used },
  };
}

/** Rows with which event time reaches the end of a window. */
function tickOf(stepMs: number): Expr {
  return parseExpression(`had_changed(true, floor(event_time() / ${stepMs}))`);
}

/** By the clock each stream is divided by itself; one that is joined with itself is there once. */
function joinedPlan({ select, inputs }: Shape, fields: readonly Fields[], i: number, count: number): PartPlan {
  const own = inputs.filter(({ stream }, j) => inputs.findIndex((one) => one.stream.name === stream.name) === j);
  return {
    feeders: own.map(({ table, key, stream }) => {
      const where = parseExpression(`${bucketOf(key, count)} = ${i}`);
      const items = columnsOf(fields[inputs.findIndex((one) => one.stream === stream)], null);
      return { sql: print({ ...bare(select), from: table, items, where }) };
    }),
    streams: own.map(
      ({ stream }) =>
        (topic) =>
          fed(stream, topic),
    ),
    part: select,
  };
}

/** Column with the event time of a row on its way to a part. */
const timeColumn = '__time';

/**
 * In event time one watermark is that of all streams. So each feeder reads all of them, finds late rows as the rule in
 * one piece would, and passes on those of one stream. The time of a row with which a window ends, or where rows are
 * joined as time passes that of the last one of a batch, goes to all parts as a row of each stream, which has no other
 * column unless it is of that stream.
 */
function orderedPlan(shape: Shape, fields: readonly Fields[], i: number, count: number): PartPlan {
  const { select, inputs, stepMs, isTimed } = shape;
  const isOf = ({ table, stream }: Keyed) =>
    `${printExpr(column(table.alias ?? table.name, stream.options.timestamp ?? ''))} IS NOT NULL`;
  const tick = stepMs === undefined ? null : tickOf(stepMs);
  const time = { expr: parseExpression('event_time()'), alias: timeColumn, invisible: false };
  const feeders = inputs.map((input, j): Own => {
    const name = input.table.alias ?? input.table.name;
    const mine = parseExpression(`${isOf(input)} AND ${bucketOf(input.key, count)} = ${i}`);
    const items = [...columnsOf(fields[j], name), time];
    const where = tick === null ? mine : binary('OR', tick, mine);
    const merges = { of: name, tellsTime: isTimed };
    return { sql: print({ ...bare(select), items, joins: mergedJoins(shape), where }), merges };
  });
  // The streams that a joined row has rows of have equal keys.
  const buckets = inputs.map((input) => `WHEN ${isOf(input)} THEN ${bucketOf(input.key, count)}`);
  const own = withoutTime(select);
  const mine = parseExpression(`CASE ${buckets.join(' ')} END = ${i}`);
  const names = namesInPart(inputs);
  const renamed = (table: TableRef): TableRef => {
    const j = inputs.findIndex((input) => input.table === table);
    return j < 0 ? table : { ...table, name: names[j]!, alias: table.alias ?? table.name };
  };
  return {
    feeders,
    streams: inputs.map(
      ({ stream }, j) =>
        (topic) =>
          timed(fed({ ...stream, name: names[j]! }, topic)),
    ),
    part: {
      ...own,
      from: renamed(own.from),
      joins: own.joins.map((join) => ({ ...join, table: renamed(join.table) })),
      where: and(mine, own.where),
    },
  };
}

/** Names that the streams have in a part, where one that is joined with itself comes on several topics. */
function namesInPart(inputs: readonly Keyed[]): string[] {
  const all = inputs.map(({ stream }) => stream.name);
  return all.map((name, j) => (all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} ${j}`));
}

/** The other streams of a feeder. As-of joins say how much later than they are rows of one count. */
function mergedJoins({ select, inputs }: Shape): Select['joins'] {
  const ofTime = select.joins.filter(({ asof }) => asof !== undefined);
  if (ofTime.length > 0) return ofTime;
  return inputs.slice(1).map(({ table }) => ({ kind: 'CROSS' as const, table, on: null }));
}

/** The statement without the column of the time in what a star stands for. */
function withoutTime(select: Select): Select {
  const change = (expr: Expr): Expr =>
    transform(expr, (one) => (one.kind === 'star' ? { ...one, except: [...one.except, timeColumn] } : one));
  const maybe = (expr: Expr | null) => expr && change(expr);
  return {
    ...select,
    items: select.items.map((item) => ({ ...item, expr: change(item.expr) })),
    joins: select.joins.map((join) => ({ ...join, on: maybe(join.on) })),
    where: maybe(select.where),
    groupBy: select.groupBy.map(change),
    having: maybe(select.having),
  };
}

/** A stream whose rows have their event time in the column of the feeders. */
function timed({ fields, options, ...stream }: StreamDefinition): StreamDefinition {
  const time = { name: timeColumn, fieldType: { type: 'bigint' as const }, default: null };
  return {
    ...stream,
    fields: fields === null ? null : [...fields, time],
    options: { ...options, timestamp: timeColumn, timestampFormat: null },
    ...(options.timestamp !== null && { sameTime: options.timestamp }),
  };
}

type Own = Pick<RuleDefinition, 'sql'> & Partial<Pick<RuleDefinition, 'actions' | 'streams' | 'options' | 'merges'>>;

const noRestarts = { attempts: 0, delayMs: 0, multiplier: 1, maxDelayMs: 0, jitterFactor: 0 };
const span = { start: 0, end: 0, line: 1, column: 1 };

function star(qualifier: string | null): Select['items'][number] {
  return { expr: { kind: 'star', qualifier, except: [], replace: [], span }, alias: null, invisible: false };
}

/** A statement on the first stream that has nothing else. */
function bare(select: Select): Select {
  return { ...select, items: [], joins: [], where: null, groupBy: [], window: null, having: null };
}

function column(qualifier: string | null, name: string): Expr {
  return { kind: 'column', qualifier, name, span };
}

function columnsOf(fields: Fields, qualifier: string | null): Select['items'] {
  if (fields === undefined) return [star(qualifier)];
  return fields.map((name) => ({ expr: column(qualifier, name), alias: null, invisible: false }));
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

function and(left: Expr, right: Expr | null): Expr;
function and(left: Expr | null, right: Expr): Expr;
function and(left: Expr | null, right: Expr | null): Expr | null {
  return left === null ? right : right === null ? left : binary('AND', left, right);
}
