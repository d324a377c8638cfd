/** Functions that the planner replaces: times, metadata, the rule's id, cast. */

import { type OpName, ops } from '../../../kernels/gen/ops.js';
import type { ConstValue } from '../../../kernels/plan/ir.js';
import { isUtc } from '../../functions/calendar/time-zone.js';
import { arity, type FunctionDefinition, type Special } from '../../functions/define.js';
import { functionDefinitions, hostNumber, resolveFunction } from '../../functions/registry.js';
import type { FindBrought } from '../../plugins/define.js';
import type { Expr, WindowKind } from '../../sql/ast.js';
import { expressionErrors } from '../errors/expression.js';
import { functionErrors } from '../errors/function.js';
import { firstPresent, ofPresent } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import type { HitValue, Value, Values, WindowPart } from '../values/value.js';
import type { Place, Scope } from './scope.js';

type Call = Extract<Expr, { kind: 'call' }>;

/** Context of the rule for the special functions. */
export interface SpecialContext {
  values: Values;
  scope: Scope;
  ruleId: string;
  /** Time zone of the rule, by its name. */
  zone: string;
  /** Finds functions of users by their name. */
  brought: FindBrought | undefined;
  isEventTime: boolean;
  /** Kind of the rule's window, null without one. */
  window: WindowKind | null;
  /** Time of a row of several sources that are joined one by one; left out where messages are joined. */
  joinedTime?: Value;
  /** Notes a warning for the user about a statement that runs nevertheless. */
  remark?: (text: string) => void;
  /** Rows after the window stand for groups. */
  isGrouped: boolean;
  place: Place;
  /** Name of the clause. */
  clause: string;
}

const casts: Readonly<Record<string, OpName>> = {
  bigint: 'cast.toBigint',
  float: 'cast.toFloat',
  string: 'cast.toString',
  boolean: 'cast.toBoolean',
  datetime: 'cast.toDatetime',
  bytea: 'cast.toBytea',
};

/** Returns the value that stands for the call. */
export function bindSpecial(special: Special, call: Call, context: SpecialContext, bind: (arg: Expr) => Value): Value {
  const { values } = context;
  switch (special) {
    case 'cast': {
      const [value, type] = call.args;
      if (value === undefined || type === undefined) throw functionErrors.castArguments(call.span);
      if (type.kind !== 'string') return values.op('cast.toType', [bind(value), bind(type)]);
      const op = casts[type.value];
      if (op === undefined) throw functionErrors.castType(type.value, call.span);
      if (op === 'cast.toDatetime' && !isUtc(context.zone)) {
        const toDatetime = hostNumber(resolveFunction('to_datetime', [undefined, context.zone], undefined));
        return values.op('call.host', [], [bind(value), values.text(context.zone)], toDatetime);
      }
      return values.op(op, [bind(value)]);
    }
    case 'meta':
      return bindMeta(call, context);
    case 'tstamp':
      return isAfterWindow(context) ? values.window('trigger') : onlySource(call, context).arrival();
    case 'eventTime':
      if (isAfterWindow(context) && context.isGrouped) return values.window('end');
      return rowTime(call, context);
    case 'windowStart':
      return windowPart('start', call, context);
    case 'windowEnd':
      return windowPart('end', call, context);
    case 'windowTrigger':
      return windowPart('trigger', call, context);
    case 'ruleId':
      return values.text(context.ruleId);
    case 'hitCount':
      return bindHit('count', false, call, context);
    case 'hitTime':
      return bindHit('time', false, call, context);
    case 'windowHitCount':
      return bindHit('count', true, call, context);
    case 'windowHitTime':
      return bindHit('time', true, call, context);
    case 'ruleStart':
      return values.op('move.ruleStart', [null]);
    case 'incLastValue':
      return bindIncLastValue(call, context, bind);
    case 'arrayMap':
      return bindMap(call, context, bind);
    case 'lead':
    case 'wasmRun':
      throw new Error(`${special} is bound as what it means`);
    case 'dedupTrigger':
      return bindDedup(call, context, bind);
    case 'delay':
      return bindDelay(call, context, bind);
    default:
      return special satisfies never;
  }
}

/** `inc_last_value(value, ignoreNull)`: the value, null where one of both is; the second must be a boolean. */
function bindIncLastValue(call: Call, { values }: SpecialContext, bind: (arg: Expr) => Value): Value {
  const [value, ignoreNull] = call.args.map(bind);
  if (value === undefined || ignoreNull === undefined) throw functionErrors.incLastValueArguments(call.span);
  const isTrue = values.op('compare.eq', [ignoreNull, values.constant({ tag: 'bool', value: true })]);
  const isAbsent = (one: Value) => values.op('logic.isNull', [one]);
  const branches = [isAbsent(value), values.null(), isAbsent(ignoreNull), values.null(), isTrue, value, value];
  return values.op('logic.case', [], branches);
}

/** `dedup_trigger(start, end, now, expire)`: an operator below the SELECT makes it (dedup.ts). */
function bindDedup(call: Call, context: SpecialContext, bind: (arg: Expr) => Value): Value {
  const { values, clause, window, isGrouped, scope } = context;
  if (clause !== 'SELECT') throw functionErrors.dedupNotAllowed(clause, call.span);
  if (window !== null || isGrouped || scope.sources.length > 1) {
    throw functionErrors.dedupRows(call.span);
  }
  const expire = call.args[3];
  if (expire?.kind !== 'integer') throw functionErrors.dedupExpiry(call.span);
  const [begin, end, now] = call.args.slice(0, 3).map((arg, i) => {
    if (['integer', 'number', 'string', 'boolean', 'null'].includes(arg.kind)) {
      throw functionErrors.dedupConstant(i, arg.span);
    }
    return bind(arg);
  });
  if (begin === undefined || end === undefined || now === undefined) throw functionErrors.dedupTimes(call.span);
  return values.ranges(begin, end, now, Number(expire.value));
}

/**
 * `delay(ms, value)`: the value, null where there is no time; rows wait below the operator that reads it (delay.ts).
 */
function bindDelay(call: Call, { values }: SpecialContext, bind: (arg: Expr) => Value): Value {
  const [ms, value] = call.args.map(bind);
  if (ms === undefined || value === undefined) throw functionErrors.delayArguments(call.span);
  return values.delayed(ms, value);
}

/** `array_map('name', list)`: the name, which may come with the row, is looked up in a constant of operations. */
function bindMap(call: Call, { values }: SpecialContext, bind: (arg: Expr) => Value): Value {
  const [name, list] = call.args;
  if (name === undefined || list === undefined) throw functionErrors.mapArguments(call.span);
  const wanted = name.kind === 'string' ? name.value.toLowerCase() : undefined;
  const members = functionDefinitions().flatMap((definition): [string, ConstValue][] => {
    const operation = operationOfOne(definition);
    if (operation === undefined) return [];
    const names = [definition.name, ...(definition.aliases ?? [])];
    return names
      .filter((one) => wanted === undefined || one === wanted)
      .map((one) => [one, { tag: 'i64', value: operation }]);
  });
  const known = values.constant({ tag: 'object', members });
  return values.op('list.map', [wanted === undefined ? bind(name) : values.text(wanted), bind(list), known]);
}

/** How the kernel runs the function for one argument (assembly/ops/list/each.ts); undefined when it can't. */
function operationOfOne(definition: FunctionDefinition): bigint | undefined {
  const { implementation, args } = definition;
  const { min, max } = arity(args);
  if (min > 1 || (max !== null && max < 1)) return undefined;
  if ('call' in implementation) return packed('call.host', hostNumber(definition));
  return 'op' in implementation ? packed(implementation.op, implementation.imm ?? 0) : undefined;
}

function packed(op: OpName, imm: number): bigint {
  const [first] = ops[op].operands as readonly string[];
  return BigInt(ops[op].code) | (first === 'args' ? 0x10000n : 0n) | (BigInt(imm) << 32n);
}

function isAfterWindow({ place, window }: SpecialContext): boolean {
  return place === 'window' && window !== null;
}

function windowPart(part: WindowPart, call: Call, context: SpecialContext): Value {
  if (context.window === null) return context.values.null();
  if (context.place !== 'window') {
    throw functionErrors.beforeWindow(call.name.toLowerCase(), call.span);
  }
  return context.values.window(part);
}

/** Clauses that may ask for hits, each with a count of its own. */
const hitClauses: ReadonlySet<string> = new Set(['SELECT', 'WHERE', 'HAVING', 'ORDER BY', 'FILTER', 'OVER (WHEN …)']);

function bindHit(part: HitValue['part'], isOfWindow: boolean, call: Call, context: SpecialContext): Value {
  const name = call.name.toLowerCase();
  const { clause, place, window, isGrouped, values, scope } = context;
  if (!hitClauses.has(clause)) throw functionErrors.tellsOfSent(name, clause, call.span);
  const isBeforeWindow = clause === 'OVER (WHEN …)' || clause === 'FILTER';
  if (scope.sources.length > 1 && !isOfWindow && !isBeforeWindow) throw functionErrors.notInJoin(name, call.span);
  if (isOfWindow && place !== 'window') throw functionErrors.aggregateNotAllowed(name, clause, call.span);
  if (!isOfWindow && !isBeforeWindow && (window !== null || isGrouped)) {
    throw functionErrors.hitsOfAggregate(name, part, call.span);
  }
  return values.hit(part, clause === 'ORDER BY' ? 'SELECT' : clause, isOfWindow);
}

/** Time of a row, or of what a window gave, for hits. */
export function timeOfHits(
  relations: readonly Relation[],
  isEventTime: boolean,
  isOfWindow: boolean,
  values: Values,
): Value {
  if (isOfWindow) return values.window('end');
  const streams = relations.filter(({ isTable }) => !isTable);
  const [only, other] = streams;
  if (only !== undefined && other === undefined) return only.rowTime(isEventTime);
  // Before they are joined, each row is of one stream.
  return firstPresent(
    values,
    streams.map((stream) => ofPresent(values, stream, stream.rowTime(isEventTime))),
  );
}

/** The row's own timestamp as epoch milliseconds. */
function rowTime(call: Call, context: SpecialContext): Value {
  // A joined row has no time of its own: that of its window.
  if (context.scope.sources.length > 1 && context.place !== 'single') {
    return context.joinedTime ?? context.values.window('trigger');
  }
  return onlySource(call, context).rowTime(context.isEventTime);
}

function onlySource(call: Call, { scope }: SpecialContext): Relation {
  const [source, other] = scope.sources;
  if (source === undefined || other !== undefined) throw functionErrors.notInJoin(call.name.toLowerCase(), call.span);
  return source;
}

/** Metadata keys that only MQTT messages have; `mqtt` reads them. */
const mqttKeys = new Set(['topic', 'messageid']);

/** `meta(key)`, `meta(stream.key)`, `meta(key->member)`, `meta(*)`; `mqtt(topic)`, `mqtt(messageid)`. */
function bindMeta(call: Call, context: SpecialContext): Value {
  const [arg] = call.args;
  if (arg === undefined) throw functionErrors.noMetadataKey(call.name, call.span);
  if (call.name.toLowerCase() === 'mqtt' && !(arg.kind === 'column' && mqttKeys.has(arg.name.toLowerCase()))) {
    throw functionErrors.mqttKey(arg.span);
  }
  return metaOf(arg, call, context);
}

function metaOf(arg: Expr, call: Call, context: SpecialContext): Value {
  const { values, scope } = context;
  // Without a stream: that of the first row in a joined one which has it.
  const firstMeta = (metaIn: (source: Relation) => Value): Value =>
    firstPresent(values, scope.orderAt(context.place).map(metaIn));
  switch (arg.kind) {
    case 'star':
      return arg.qualifier === null
        ? firstMeta((source) => source.allMeta())
        : sourceNamed(arg.qualifier, arg, scope).allMeta();
    case 'column': {
      const { qualifier, name } = arg;
      if (qualifier === null) return firstMeta((source) => source.meta(name));
      const source = scope.sourceNamed(qualifier);
      if (source !== undefined) return source.meta(name);
      return values.op('nested.member', [firstMeta((one) => one.meta(qualifier)), values.text(name)]);
    }
    case 'member':
      return values.op('nested.member', [metaOf(arg.object, call, context), values.text(arg.name)]);
    default:
  }
  throw functionErrors.metadataKey(call.name.toLowerCase(), arg.span);
}

function sourceNamed(name: string, arg: Expr, scope: Scope): Relation {
  const source = scope.sourceNamed(name);
  if (source === undefined) throw expressionErrors.unknownStream(name, arg.span);
  return source;
}
