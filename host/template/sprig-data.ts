/** Sprig's functions of lists, maps, defaults, JSON and time. */
import { randomUUID } from 'node:crypto';
import { userProperty } from '../base/config/user-props.js';
import { any, dictArg, type FunctionSpec, fn, listArg, textArg } from './function-spec.js';
import { toInteger } from './sprig-math.js';
import { goTime } from './time.js';
import {
  type Budget,
  type Dict,
  isDeepEqual,
  isDict,
  isTrue,
  member,
  readJson,
  setMember,
  sortedKeys,
  TemplateError,
  toJson,
  typeName,
  type Value,
} from './value.js';

function dictOf(args: Value[], budget: Budget): Dict {
  const dict: Dict = {};
  for (let i = 0; i < args.length; i += 2) {
    setMember(dict, typeof args[i] === 'string' ? textArg(args[i]) : toJson(args[i], budget), args[i + 1] ?? '');
  }
  return dict;
}

function without(list: Value[], drop: Value[], budget: Budget): Value[] {
  return list.filter((item) => !drop.some((other) => isDeepEqual(item, other, budget)));
}

function uniq(list: Value[], budget: Budget): Value[] {
  const seen: Value[] = [];
  for (const item of list) if (!seen.some((other) => isDeepEqual(item, other, budget))) seen.push(item);
  return seen;
}

function pick(dict: Dict, keep: (key: string) => boolean, budget: Budget): Dict {
  const picked: Dict = {};
  for (const key of Object.keys(dict)) {
    budget.spend(1);
    if (keep(key)) setMember(picked, key, dict[key]);
  }
  return picked;
}

/** Merges maps into a new one; the first to have a member gives it. */
function merge(dicts: Dict[], budget: Budget): Dict {
  const merged: Dict = {};
  for (const dict of dicts) {
    for (const key of Object.keys(dict)) {
      budget.spend(1);
      if (!Object.hasOwn(merged, key)) setMember(merged, key, dict[key]);
    }
  }
  return merged;
}

function dig(args: Value[]): Value {
  const keys = args.slice(0, -2);
  let value: Value = dictArg(args.at(-1));
  for (const key of keys) {
    if (!isDict(value) || !Object.hasOwn(value, textArg(key))) return args.at(-2);
    value = member(value, textArg(key));
  }
  return value;
}

/** Time of a value: a time, seconds since 1970, or else now. */
function timeOf(value: Value): Date {
  if (value instanceof Date) return value;
  return typeof value === 'number' || typeof value === 'bigint' ? new Date(Number(value) * 1000) : new Date();
}

function sublist(value: Value, from: number, to?: number): Value[] {
  return listArg(value).slice(from, to);
}

const json = fn(1, 1, ([value], budget) => toJson(value, budget));

export const dataFunctions: Record<string, FunctionSpec> = {
  // Defaults
  default: fn(1, 2, (args) => (args.length === 2 && isTrue(args[1]) ? args[1] : args[0])),
  empty: fn(1, 1, ([value]) => !isTrue(value)),
  coalesce: fn(0, any, (args) => args.find(isTrue) ?? null),
  ternary: fn(3, 3, ([yes, no, condition]) => {
    if (typeof condition === 'boolean') return condition ? yes : no;
    throw new TemplateError(`wrong type for value; expected bool; got ${typeName(condition)}`);
  }),
  all: fn(0, any, (args) => args.every(isTrue)),
  any: fn(0, any, (args) => args.some(isTrue)),
  fail: fn(1, 1, ([reason]) => {
    throw new TemplateError(textArg(reason));
  }),
  // JSON
  json,
  toJson: json,
  mustToJson: json,
  toRawJson: fn(1, 1, ([value], budget) => toJson(value, budget, false)),
  toPrettyJson: fn(1, 1, ([value], budget) => toJson(value, budget, true, '  ')),
  fromJson: fn(1, 1, ([text], budget) => {
    const source = textArg(text);
    budget.spend(source.length >> 2);
    try {
      return readJson(source);
    } catch {
      return null;
    }
  }),
  // Lists
  list: fn(0, any, (args) => args.map((arg) => arg ?? null)),
  tuple: fn(0, any, (args) => args.map((arg) => arg ?? null)),
  first: fn(1, 1, ([list]) => listArg(list)[0]),
  last: fn(1, 1, ([list]) => listArg(list).at(-1)),
  rest: fn(1, 1, ([list]) => sublist(list, 1)),
  initial: fn(1, 1, ([list]) => sublist(list, 0, -1)),
  append: fn(2, 2, ([list, item]) => [...listArg(list), item]),
  push: fn(2, 2, ([list, item]) => [...listArg(list), item]),
  prepend: fn(2, 2, ([list, item]) => [item, ...listArg(list)]),
  concat: fn(0, any, (args, budget) => {
    const lists = args.map(listArg);
    for (const list of lists) budget.spend(list.length);
    return lists.flat(1);
  }),
  reverse: fn(1, 1, ([list]) => listArg(list).toReversed()),
  uniq: fn(1, 1, ([list], budget) => uniq(listArg(list), budget)),
  without: fn(1, any, ([list, ...drop], budget) => without(listArg(list), drop, budget)),
  compact: fn(1, 1, ([list]) => listArg(list).filter(isTrue)),
  has: fn(2, 2, ([item, list], budget) => listArg(list ?? []).some((other) => isDeepEqual(item, other, budget))),
  // Maps
  dict: fn(0, any, dictOf),
  get: fn(2, 2, ([dict, key]) => member(dictArg(dict), textArg(key)) ?? ''),
  set: fn(3, 3, ([dict, key, value], budget) => {
    // The row is not changed: other templates and sinks see the same one.
    const changed = pick(dictArg(dict), () => true, budget);
    setMember(changed, textArg(key), value);
    return changed;
  }),
  unset: fn(2, 2, ([dict, key], budget) => pick(dictArg(dict), (name) => name !== textArg(key), budget)),
  hasKey: fn(2, 2, ([dict, key]) => Object.hasOwn(dictArg(dict), textArg(key))),
  keys: fn(1, any, (dicts) => dicts.flatMap((dict) => sortedKeys(dictArg(dict)))),
  values: fn(1, 1, ([dict]) => sortedKeys(dictArg(dict)).map((key) => dictArg(dict)[key])),
  pluck: fn(1, any, ([key, ...dicts]) =>
    dicts.map((dict) => member(dictArg(dict), textArg(key))).filter((value) => value !== undefined),
  ),
  pick: fn(1, any, ([dict, ...keys], budget) => pick(dictArg(dict), (key) => keys.includes(key), budget)),
  omit: fn(1, any, ([dict, ...keys], budget) => pick(dictArg(dict), (key) => !keys.includes(key), budget)),
  merge: fn(1, any, (dicts, budget) => merge(dicts.map(dictArg), budget)),
  mergeOverwrite: fn(1, any, (dicts, budget) => merge(dicts.map(dictArg).reverse(), budget)),
  dig: fn(3, any, dig),
  // Types
  kindOf: fn(1, 1, ([value]) => kindOf(value)),
  kindIs: fn(2, 2, ([kind, value]) => kindOf(value) === kind),
  typeOf: fn(1, 1, ([value]) => typeName(value)),
  typeIs: fn(2, 2, ([type, value]) => typeName(value) === type),
  deepEqual: fn(2, 2, ([a, b], budget) => isDeepEqual(a, b, budget)),
  // Time
  now: fn(0, 0, () => new Date()),
  date: fn(2, 2, ([layout, time]) => goTime(timeOf(time), textArg(layout))),
  dateInZone: fn(3, 3, ([layout, time, zone]) => {
    if (zone !== 'UTC') throw new TemplateError('dateInZone knows the zone UTC only');
    return goTime(timeOf(time), textArg(layout), true);
  }),
  htmlDate: fn(1, 1, ([time]) => goTime(timeOf(time), '2006-01-02')),
  unixEpoch: fn(1, 1, ([time]) => String(Math.floor(timeOf(time).getTime() / 1000))),
  uuidv4: fn(0, 0, () => randomUUID()),
  // A property that nobody has set gives its name, as in eKuiper.
  prop: fn(1, 1, ([name]) => userProperty(textArg(name)) ?? textArg(name)),
  seq: fn(1, 3, (args, budget) => {
    const [from, step, to] = seqBounds(args.map((arg) => Number(toInteger(arg))));
    const size = step === 0 ? 0 : Math.floor((to - from) / step) + 1;
    budget.spend(Math.max(0, size));
    return Array.from({ length: Math.max(0, size) }, (_, i) => from + i * step).join(' ');
  }),
};

function seqBounds(args: number[]): [from: number, step: number, to: number] {
  const [first = 0, second = 0, third = 0] = args;
  if (args.length === 1) return [1, first < 1 ? -1 : 1, first];
  if (args.length === 2) return [first, second < first ? -1 : 1, second];
  return [first, second, third];
}

function kindOf(value: Value): string {
  if (value === undefined || value === null) return 'invalid';
  if (Array.isArray(value)) return 'slice';
  if (isDict(value)) return 'map';
  return value instanceof Date ? 'struct' : typeName(value);
}
