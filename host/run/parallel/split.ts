/**
 * The rules that a divided rule consists of, joined by topics in memory:
 *
 * - **feeders** read the streams, all in their data plane, and hand each row to one part by its key.
 * - **parts** do the work: windows, joins, groups, functions that look back. Nothing ties them, so they are spread.
 * - **output** has the sinks.
 *
 * Rows of one key pass in order. Of several streams a part gets each on a topic of its own.
 *
 * In event time one feeder reads all streams: it puts their rows in the order of their times, and finds out which are
 * late. All parts get its watermark, between the rows. So they do with their rows what the rule does in one piece.
 */
import { ownTopic } from '../../connectors/topics/matches.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { Expr, Select, TableRef } from '../../sql/ast.js';
import { parseExpression } from '../../sql/parser.js';
import { print, printExpr } from '../../sql/printer.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { isKept } from './kept.js';
import type { Keyed, Shape } from './shape.js';

export interface Split {
  /** Together they read each stream once. */
  readonly feeders: readonly RuleDefinition[];
  /** Ids of the feeders by the streams that they read. */
  readonly readers: ReadonlyMap<string, string>;
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

type Own = Pick<RuleDefinition, 'sql'> & Partial<Pick<RuleDefinition, 'actions' | 'streams' | 'options' | 'divides'>>;

/**
 * @param fields columns that the rule reads of each stream
 * @param start number of the start: rows on their way from an earlier one reach nobody
 */
export function splitOf(rule: RuleDefinition, shape: Shape, fields: readonly Fields[], start: number): Split {
  const { inputs } = shape;
  const [first] = inputs;
  const count = rule.options.parallelism;
  const options = isKept(rule) ? rule.options : { ...rule.options, qos: 0, enableSaveStateBeforeStop: false };
  const { isEventTime } = options;
  const topicOf = (...names: string[]) => ownTopic(rule.id, `${start}`, ...names);
  const numbers = Array.from({ length: count }, (_, i) => i);
  const streams = streamsOf(shape, fields, isEventTime);
  const fed = isEventTime ? [streams] : streams.map((stream) => [stream]);
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
      common: {
        by: divisionOf(rule, shape),
        members: fed.length + count + 1,
        reads,
        writes,
        from: { number: 0, refusals: [] },
      },
    }),
  });
  const outputOf = (i: number) => topicOf('output', `${i}`);
  const ofPart = (i: number, stream: PartStream) => topicOf(`${i}`, `${streams.indexOf(stream)}`);
  // Parts get the rows as they are: what a row has not is null in the result alone.
  const asIs = { ...options, sendNilField: false };
  const feeders = fed.map((some, j) =>
    of(
      fed.length === 1 ? 'feeder' : `feeder ${j}`,
      [],
      some.flatMap((stream) => numbers.map((i) => ofPart(i, stream))),
      { ...feederOf(rule, shape, some), options: asIs },
    ),
  );
  // What the feeder does with times is done.
  const inOrder = { ...options, lateToleranceMs: 0, maxFutureSkewMs: 0, idleTimeoutMs: 0 };
  const parts = numbers.map((i) =>
    of(
      `part ${i}`,
      streams.map((stream) => ofPart(i, stream)),
      [outputOf(i)],
      {
        sql: print(partOf(shape, streams, isEventTime)),
        streams: streams.map((one) => ({
          ...fedBy(one.stream, ofPart(i, one)),
          name: one.name,
          ...(isEventTime && { isTold: true }),
        })),
        options: inOrder,
      },
    ),
  );
  const readers = fed.flatMap((some, j) => some.map(({ stream }) => [stream.name, feeders[j]!.id] as const));
  return {
    feeders,
    readers: new Map(readers),
    streams: [...new Set(inputs.map(({ stream }) => stream.name))],
    parts,
    output: of('output', numbers.map(outputOf), [], {
      sql: print({ ...bare(shape.select), items: [star(null)] }),
      actions: rule.actions,
      streams: [{ ...fedBy(first.stream, topicOf('output', '+')), fields: null }],
      options: { ...options, isEventTime: false },
    }),
  };
}

/** A stream as parts have it. */
interface PartStream extends Keyed {
  /** Its name in the parts, where one that is joined with itself comes on several topics. */
  readonly name: string;
  /** Columns that the rule reads of it. */
  readonly fields: Fields;
}

/** By the clock a stream that is joined with itself is there once: both sides of a window have the same rows then. */
function streamsOf({ inputs }: Shape, fields: readonly Fields[], isEventTime: boolean): PartStream[] {
  const names = inputs.map(({ stream }) => stream.name);
  const all = inputs.map((input, j) => {
    const { name } = input.stream;
    const isUnique = !isEventTime || names.indexOf(name) === names.lastIndexOf(name);
    return { ...input, fields: fields[j], name: isUnique ? name : `${name} ${j}` };
  });
  return isEventTime ? all : all.filter(({ name }, j) => names.indexOf(name) === j);
}

/** What hands the rows of streams to the parts. */
function feederOf({ options }: RuleDefinition, shape: Shape, streams: readonly PartStream[]): Own {
  const { select } = shape;
  const isMerged = streams.length > 1;
  const base = { ...bare(select), from: streams[0]!.table, items: [star(null)] };
  return {
    sql: print({
      ...base,
      joins: isMerged ? mergedJoins(shape) : [],
      where: isFilteredBefore(shape, options.isEventTime) ? select.where : null,
    }),
    divides: {
      streams: streams.map(({ table, stream, key, fields }) => {
        const name = isMerged ? (table.alias ?? table.name) : null;
        const time = column(name, stream.options.timestamp ?? '');
        const where = isMerged ? parseExpression(`${printExpr(time)} IS NOT NULL`) : null;
        return {
          sql: print({ ...base, items: columnsOf(fields, name), where }),
          place: bucketOf(key, options.parallelism),
        };
      }),
      count: options.parallelism,
    },
  };
}

/** The other streams of a feeder. As-of joins say how much later than they are rows of one count. */
function mergedJoins({ select, inputs }: Shape): Select['joins'] {
  const ofTime = select.joins.filter(({ asof }) => asof !== undefined);
  if (ofTime.length > 0) return ofTime;
  return inputs.slice(1).map(({ table }) => ({ kind: 'CROSS' as const, table, on: null }));
}

/**
 * WHERE is up to the feeder, so that fewer rows go to the parts. Functions that look back and windows of event time see
 * rows that it leaves out, and it may be about columns of tables: then it is up to the parts.
 */
function isFilteredBefore({ select, inputs }: Shape, isEventTime: boolean): boolean {
  return inputs.length === 1 && select.window !== null && select.joins.length === 0 && !isEventTime;
}

/** The statement of a part. */
function partOf(shape: Shape, streams: readonly PartStream[], isEventTime: boolean): Select {
  const { select } = shape;
  const renamed = (table: TableRef): TableRef => {
    const name = streams.find((one) => one.table === table)?.name ?? table.name;
    return name === table.name ? table : { ...table, name, alias: table.alias ?? table.name };
  };
  return {
    ...select,
    from: renamed(select.from),
    joins: select.joins.map((join) => ({ ...join, table: renamed(join.table) })),
    where: isFilteredBefore(shape, isEventTime) ? null : select.where,
  };
}

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
function fedBy(stream: StreamDefinition, topic: string): StreamDefinition {
  const { name, kind, fields, options } = stream;
  const none = { confKey: null, schemaId: null, delimiter: null, extra: null, bufferFullPolicy: null };
  const source = { type: 'memory', datasource: topic, format: 'json', shared: false, strictValidation: false };
  return { name, kind, fields, options: { ...options, ...none, ...source } };
}
