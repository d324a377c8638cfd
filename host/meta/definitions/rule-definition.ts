/** Turns the JSON of a rule into the checked form the engine works with. */

import { ruleOptionSpec } from '../../base/config/config-spec.js';
import { asKind, HaumeaError } from '../../base/errors.js';
import { notKnown, type Parsed, parse, unusedIn, withDefaults } from '../../base/fields/field.js';
import { isObject } from '../../base/structures/is-object.js';
import { withSharedNames } from '../../model/actions.js';
import type { RuleDefinition, RuleOptions } from '../../model/engine.js';
import { ruleFormErrors } from '../errors.js';
import { checkId } from '../ids.js';
import { readGraph } from './rule-graph.js';

/** Default options of all rules: section `rule` of the configuration. */
export type RuleDefaults = Parsed<typeof ruleOptionSpec>;

/** A rule as a client sends it: an object with these members, checked for their types only. */
export interface RuleJson {
  readonly id?: string;
  readonly name?: string;
  readonly version?: string;
  readonly sql?: string;
  readonly actions?: readonly Record<string, unknown>[];
  readonly options?: Record<string, unknown>;
  readonly tags?: readonly string[];
  readonly triggered?: boolean;
  readonly temp?: boolean;
  readonly [name: string]: unknown;
}

/** Most actions of a rule: each has a connection, a buffer and figures of its own. */
const maxActions = 200;

/** Names of all members of a rule. */
const memberNames = ['id', 'name', 'version', 'sql', 'graph', 'actions', 'options', 'tags', 'triggered', 'temp'];

/** Names the members that nobody knows: `optionz is not known, did you mean options?`. */
export function unknownMembers(json: RuleJson): string[] {
  return Object.keys(json).flatMap((name) =>
    memberNames.includes(name) ? [] : [`${name} ${notKnown(name, memberNames)}`],
  );
}

/** Checks the types of a rule's members; throws a `general` error naming the member. */
export function readRuleJson(value: unknown): RuleJson {
  if (!isObject(value)) throw ruleFormErrors.notObject();
  for (const name of ['id', 'name', 'version', 'sql'] as const) expectType(value, name, 'string', 'a text');
  for (const name of ['triggered', 'temp'] as const) expectType(value, name, 'boolean', 'true or false');
  if (value.options !== undefined && value.options !== null && !isObject(value.options)) {
    throw ruleFormErrors.options();
  }
  const { actions, tags } = value;
  if (actions !== undefined && actions !== null && !(Array.isArray(actions) && actions.every(isObject))) {
    throw ruleFormErrors.actions();
  }
  if (tags !== undefined && tags !== null && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'))) {
    throw ruleFormErrors.tags();
  }
  return value as RuleJson;
}

/**
 * Builds the definition; `id` is that of the path when there is one. Options that are not known are refused in what a
 * client sends and without effect in what is stored. Throws `general` errors naming the member.
 */
export function defineRule(
  json: RuleJson,
  defaults: RuleDefaults,
  id = json.id || '',
  reading: OptionReading = 'sent',
): RuleDefinition {
  if (id === '') throw ruleFormErrors.noId();
  if (json.id && json.id !== id) {
    throw ruleFormErrors.otherId(json.id, id);
  }
  checkId(id);
  if (json.graph !== undefined && json.graph !== null) {
    if (json.sql) throw ruleFormErrors.sqlAndGraph(id);
    if (json.actions?.length) throw ruleFormErrors.actionsAndGraph(id);
    const graph = readGraph(json.graph);
    const sinks = graph.nodes.filter(({ type }) => type === 'sink');
    return {
      id,
      name: json.name || id,
      sql: '',
      graph,
      actions: withDeadLetters(
        id,
        sinks.map(({ nodeType, props }) => ({ type: nodeType, props })),
        (i) => `graph.nodes.${sinks[i]?.name}`,
      ),
      options: sharedOptions(id, json.options ?? {}, defaults, reading),
      triggered: json.triggered ?? true,
      temp: json.temp ?? false,
    };
  }
  if (!json.sql) throw ruleFormErrors.noSql(id);
  return {
    id,
    name: json.name || id,
    sql: json.sql,
    actions: sharedActions(id, json.actions),
    options: sharedOptions(id, json.options ?? {}, defaults, reading),
    triggered: json.triggered ?? true,
    temp: json.temp ?? false,
  };
}

function readActions(id: string, actions: RuleJson['actions']): RuleDefinition['actions'] {
  if (actions === undefined || actions === null || actions.length === 0) {
    throw ruleFormErrors.noActions(id);
  }
  const found = actions.flatMap((action, i) => {
    const sinks = Object.entries(action);
    if (sinks.length === 0) throw ruleFormErrors.noSink(id, i);
    return sinks.map(([type, props]) => {
      if (!isObject(props)) {
        throw ruleFormErrors.sinkProps(id, i, type);
      }
      return { type, props };
    });
  });
  if (found.length > maxActions) {
    throw ruleFormErrors.tooManyActions(id, found.length, maxActions);
  }
  return found;
}

/** The name of the property `deadLetter` as it is written: letter case does not matter, the exact spelling wins. */
function deadLetterName(props: Readonly<Record<string, unknown>>): string {
  const names = props.deadLetter === undefined ? Object.keys(props) : [];
  return names.find((name) => name.toLowerCase() === 'deadletter') ?? 'deadLetter';
}

/** The actions, and behind them the sinks that their properties `deadLetter` name; `pathOf` says where an action is. */
function withDeadLetters(
  id: string,
  actions: RuleDefinition['actions'],
  pathOf: (i: number, action: RuleDefinition['actions'][number]) => string,
): RuleDefinition['actions'] {
  const found: RuleDefinition['actions'] = [];
  const letters: RuleDefinition['actions'] = [];
  for (const [i, sent] of actions.entries()) {
    const action = { ...sent, props: withSharedNames(sent.props) };
    const name = deadLetterName(action.props);
    const { [name]: deadLetter, ...props } = action.props;
    const isGiven = deadLetter !== undefined && deadLetter !== null;
    found.push(isGiven ? { ...action, props } : action);
    if (!isGiven) continue;
    const where = `rule ${id}: ${pathOf(i, action)}.deadLetter`;
    const [[type, given] = [], ...others] = isObject(deadLetter) ? Object.entries(deadLetter) : [];
    if (type === undefined || others.length > 0 || !isObject(given)) throw ruleFormErrors.deadLetter(where);
    if (given[deadLetterName(given)] !== undefined) throw ruleFormErrors.deadLetterWithin(where, type);
    // A letter is one message, whatever the property says.
    letters.push({ type, props: { ...withSharedNames(given), sendSingle: true }, deadLettersOf: i });
  }
  const all = [...found, ...letters];
  if (letters.length > 0 && all.length > maxActions) throw ruleFormErrors.tooManyActions(id, all.length, maxActions);
  return all;
}

/** Most lists of actions that are kept to be shared, and the longest text of one. */
const maxLists = 100;
const maxListText = 1000;
const knownActions = new Map<string, RuleDefinition['actions']>();

/** Rules by the thousand have equal actions: they share them, and what is made of them. */
function sharedActions(id: string, given: RuleJson['actions']): RuleDefinition['actions'] {
  const key = JSON.stringify(given) ?? '';
  const before = knownActions.get(key);
  if (before !== undefined) return before;
  const actions = withDeadLetters(id, readActions(id, given), (i, { type }) => `actions[${i}].${type}`);
  if (key.length > maxListText) return actions;
  if (knownActions.size >= maxLists) knownActions.clear();
  knownActions.set(key, actions);
  return actions;
}

/** How strictly options are read: as a client sends them now, or as they were stored by whatever program. */
export type OptionReading = 'sent' | 'stored';

/** The options with the defaults of a configuration. */
const specs = new WeakMap<RuleDefaults, typeof ruleOptionSpec>();

function specOf(defaults: RuleDefaults): typeof ruleOptionSpec {
  let spec = specs.get(defaults);
  if (spec === undefined) {
    spec = withDefaults(ruleOptionSpec, defaults);
    specs.set(defaults, spec);
  }
  return spec;
}

/** Most options that are kept to be shared, and the longest text of some; more are not worth the memory. */
const maxOptions = 100;
const maxOptionText = 1000;
const known = new WeakMap<RuleDefaults, Map<string, RuleOptions>>();

/** Rules by the thousand have equal options: they share them, and the reading of them. */
function sharedOptions(
  id: string,
  given: Record<string, unknown>,
  defaults: RuleDefaults,
  reading: OptionReading,
): RuleOptions {
  const ofDefaults = known.get(defaults) ?? new Map<string, RuleOptions>();
  known.set(defaults, ofDefaults);
  const key = `${reading} ${JSON.stringify(given)}`;
  let options = ofDefaults.get(key);
  if (options !== undefined) return options;
  options = readOptions(id, given, defaults, reading);
  if (key.length > maxOptionText) return options;
  if (ofDefaults.size >= maxOptions) ofDefaults.clear();
  ofDefaults.set(key, options);
  return options;
}

const optionNames = new Set(Object.keys(ruleOptionSpec).map((name) => name.toLowerCase()));

/** The options that are taken but change nothing. */
const idleSpec = Object.fromEntries(Object.entries(ruleOptionSpec).filter(([, { declared }]) => declared.isUnused));

/**
 * Names the options of a checked rule that do nothing: stored ones that mean nothing here, and those without effect.
 */
export function idleOptions({ options }: RuleJson): string[] {
  const given = Object.keys(options ?? {});
  if (given.length === 0) return [];
  const unknown = given.filter((name) => !optionNames.has(name.toLowerCase()));
  return [...unknown, ...unusedIn(idleSpec, parse(idleSpec, options ?? {}))];
}

function readOptions(
  id: string,
  given: Record<string, unknown>,
  defaults: RuleDefaults,
  reading: OptionReading,
): RuleOptions {
  const isSent = reading === 'sent';
  let options: RuleDefaults;
  try {
    // Forms send an empty text for a rule without a duration.
    const { duration, ...others } = given;
    options = parse(specOf(defaults), duration === '' ? others : given, {
      where: `rule ${id} options`,
      unknown: isSent ? 'reject' : 'ignore',
      isExact: isSent,
    });
  } catch (error) {
    if (error instanceof HaumeaError) throw asKind('general', error);
    throw error;
  }
  const { restartStrategy } = options;
  return {
    isEventTime: options.isEventTime,
    lateToleranceMs: options.lateTolerance,
    idleTimeoutMs: options.idleTimeout,
    timezone: options.timezone,
    maxFutureSkewMs: options.maxFutureSkew,
    maxStateBytes: options.maxStateBytes,
    maxPartialMatches: options.maxPartialMatches,
    partialMatchPolicy: options.partialMatchPolicy,
    stateTtlMs: options.stateTtl,
    concurrency: options.concurrency,
    parallelism: options.parallelism,
    bufferLength: options.bufferLength,
    bufferFullPolicy: options.bufferFullPolicy,
    maxBacklogBytes: options.maxBacklogBytes,
    sendMetaToSink: options.sendMetaToSink,
    sendNilField: options.sendNilField,
    sendError: options.sendError,
    qos: options.qos,
    checkpointIntervalMs: options.checkpointInterval,
    enableSaveStateBeforeStop: options.enableSaveStateBeforeStop,
    restartStrategy: {
      attempts: restartStrategy.attempts,
      delayMs: restartStrategy.delay,
      multiplier: restartStrategy.multiplier,
      maxDelayMs: restartStrategy.maxDelay,
      jitterFactor: restartStrategy.jitterFactor,
    },
    debug: options.debug,
    logFilename: options.logFilename,
    cron: options.cron,
    durationMs: options.duration,
    cronDatetimeRange: options.cronDatetimeRange,
    forceExitTimeoutMs: options.forceExitTimeout,
    enableRuleTracer: options.enableRuleTracer,
  };
}

function expectType(value: Record<string, unknown>, name: string, type: string, expected: string): void {
  const member = value[name];
  if (member !== undefined && member !== null && typeof member !== type) {
    throw ruleFormErrors.member(name, expected, JSON.stringify(member).slice(0, 60));
  }
}
